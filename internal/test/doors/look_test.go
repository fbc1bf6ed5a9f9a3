package doors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
)

func followingInstances() section {
	return section{
		title: "LookupKey, Result, Follow, HistoryPage, Tree and CountUpTo",
		intro: "Instance `done` has completed with a text, `open` runs.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			page := func(r client.HistoryRange) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := c.HistoryPage(ctx, "done", r)
					return err
				}
			}
			follow := func(mark string, opts ...client.FollowOption) func(context.Context) error {
				return func(ctx context.Context) error {
					_, _, err := c.Follow(ctx, "done", mark, opts...)
					return err
				}
			}
			tree := func(l client.TreeLimits) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := c.Tree(ctx, "done", l)
					return err
				}
			}
			key := func(k provider.UUID) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := client.LookupKey[string](ctx, c, k)
					return err
				}
			}
			const reading = `reading the history of instance "done": invalid request: `
			return []row{
				{"`LookupKey` of a zero key", key(provider.UUID{}), clientInvalid, "looking up instance \"\": invalid request: the key is zero: give that of an instance", "Check where the key comes from."},
				{"`LookupKey` of a key that was never used", key(provider.UUID{1}), clientNotFound, "looking up instance with key KEY: not found: it never existed or was deleted; check the ID, and that this is the right store", "Check key and store."},
				{"`Result` of an instance that runs", func(ctx context.Context) error {
					_, err := c.Result(ctx, "open")
					return err
				}, notEnded, `instance "open": the instance has not ended (Running)`, "Wait with `Handle.Wait`."},
				{"`FollowFor(0)`", follow("", client.FollowFor(0)), clientInvalid, `following instance "done": invalid request: FollowFor(0s): give more than zero`, "Leave it out to wait until the context ends."},
				{"`Follow` with a mark of 513 bytes", follow(long), clientInvalid, `following instance "done": invalid request: the mark has 513 bytes: give one that Follow has returned`, "Pass marks on unchanged."},
				{"a page from event -1", page(client.HistoryRange{From: -1}), clientInvalid, reading + "events -1 to 0: give 1 or more, or 0 for the first and the last one", "Events count from 1."},
				{"a page from event 7 to 3", page(client.HistoryRange{From: 7, To: 3}), clientInvalid, reading + "events 7 to 3: give the first one first", "`Newest` reads backwards."},
				{"a page of 1,001 events", page(client.HistoryRange{Max: 1001}), clientInvalid, reading + "1001 events on a page: give 1 to 1000, or 0 for 100", "Read page by page."},
				{"a page of an unknown kind", page(client.HistoryRange{Kinds: []string{"Sleeping"}}), clientInvalid, reading + `there is no kind of event "Sleeping": give one of HistoryKinds, such as ActivityFailed`, "Kinds are as in `HistoryEvent.Kind`."},
				{"a page that waits an hour", page(client.HistoryRange{Wait: time.Hour}), clientInvalid, reading + "wait 1h0m0s: give at most 30s, or 0 not to wait", "Call again, or use `FollowHistory`."},
				{"a page that waits for the newest event", page(client.HistoryRange{Wait: 1, Newest: true}), clientInvalid, reading + "Wait with Newest: leave one out, because the newest event is there at once", "Wait from `HistoryPage.Next` on."},
				{"`FollowHistory` of nobody", func(ctx context.Context) error {
					for _, err := range c.FollowHistory(ctx, "nobody", client.HistoryFollow{}) {
						return err
					}
					return errors.New("no error")
				}, clientNotFound, `following the history of instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
				{"a tree of depth 101", tree(client.TreeLimits{Depth: 101}), clientInvalid, `reading the tree of instance "done": invalid request: depth 101: give 1 to 100, or 0 for 5`, "Read the trees of the lowest nodes."},
				{"a tree of 10,001 instances", tree(client.TreeLimits{Size: 10_001}), clientInvalid, `reading the tree of instance "done": invalid request: size 10001: give 1 to 10000, or 0 for 100`, "List the children of a node with `Filter.Parent`."},
				{"`CountUpTo` 0", func(ctx context.Context) error {
					_, err := c.CountUpTo(ctx, client.Filter{}, 0)
					return err
				}, clientInvalid, "counting instances: invalid request: the most to count is 0: give 1 or more", "`Count` counts all."},
				{"a page without the column `result`", func(ctx context.Context) error {
					_, err := c.List(ctx, client.Filter{}, client.Page{Omit: []client.Column{"result"}})
					return err
				}, clientInvalid, `listing instances: invalid request: page column "result" cannot be omitted: give one of the Column constants`, "Lists have no results."},
			}
		},
	}
}
