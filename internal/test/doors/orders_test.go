package doors_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
)

// ordering has the doors of orders to nodes.
func ordering() section {
	return section{
		title: "Orders to nodes",
		intro: "Methods of `operate.Operator`. Nothing is stored.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			tooLong := strings.Repeat("x", 4<<10+1)
			queue := func(name, reason string, opts ...operate.OrderOption) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := operate.New(c).PauseQueue(ctx, name, reason, opts...)
					return err
				}
			}
			drain := func(owner string) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := operate.New(c).DrainNode(ctx, owner, "")
					return err
				}
			}
			return []row{
				{"`PauseQueue(\"\")`", queue("", ""), clientInvalid, `pausing queue "": invalid request: queue name is empty: give 1 to 512 bytes of UTF-8`, "If names come from configuration, check that it is set."},
				{"`PauseQueue` of perdure's own queue", queue("perdure", ""), clientInvalid, `pausing queue "perdure": invalid request: it is perdure's own, for schedules and bulk jobs: pause those one by one`, "Pause schedules and jobs."},
				{"`PauseQueue` with a reason of 4 KiB and a byte", queue("mail", tooLong), clientTooLarge, `pausing queue "mail": too large: the reason has 4097 bytes: shorten it to 4096`, "Shorten it."},
				{"`ConfirmWithin(-1)`", queue("mail", "", operate.ConfirmWithin(-1)), clientInvalid, `pausing queue "mail": invalid request: ConfirmWithin(-1ns): give zero or more`, "Give 0 to return at once."},
				{"`DrainNode(\"\")`", drain(""), clientInvalid, `draining node "": invalid request: owner of the node is empty: give 1 to 512 bytes of UTF-8`, "Take the name from `Nodes`."},
				{"`DrainNode` of an unknown node", drain("web-7"), clientNotFound, `draining node "web-7": not found: it is not in the list of nodes, which has those that run now; list them for the names`, "Take the name from `Nodes`."},
			}
		},
	}
}
