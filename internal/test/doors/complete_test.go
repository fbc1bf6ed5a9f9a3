package doors_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
)

func endingActivities() section {
	return section{
		title: "Ending activities by their tokens",
		intro: "`CompleteActivity`, `FailActivity`, `ReportCancelled` and `HeartbeatActivity`. No activity ends.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			token := tasktoken.Encode(tasktoken.Token{
				Task: provider.TaskRef{Key: provider.UUID{1}, Execution: 1, EventID: 2}, Attempt: 1, Holder: provider.UUID{2}, Lease: time.Minute,
			})
			complete := func(token string, out any) func(context.Context) error {
				return func(ctx context.Context) error { return client.CompleteActivity(ctx, c, token, out) }
			}
			beat := func(details any) func(context.Context) error {
				return func(ctx context.Context) error { return client.HeartbeatActivity(ctx, c, token, details) }
			}
			const damaged = "completing an activity: invalid request: the completion token is damaged: pass the result of activity.Token unchanged"
			return []row{
				{"an empty token", complete("", 1), clientInvalid, damaged, "Check where the token comes from."},
				{"a token that was cut", complete(token[:len(token)-1], 1), clientInvalid, damaged, "Mail programs break links: ask for the whole link."},
				{"a token with a typing error", complete("B"+token[1:], 1), clientInvalid, damaged, "Do not type tokens."},
				{"a token of an instance that is gone", complete(token, 1), clientNotFound, "completing an activity: its orchestration: not found: it was deleted, or the token is of another store", "Drop the result: nothing waits for it."},
				{"an output that cannot be encoded", complete(token, make(chan int)), clientInvalid, "completing an activity: invalid request: output: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write", "Give data."},
				{"an output one byte over the limit", complete(token, text(2<<20+1)), clientTooLarge, "completing an activity: too large: output has 2097153 bytes: at most 2097152 fit; store the data elsewhere and pass a reference", "Store it elsewhere and pass a reference."},
				{"a failure without an error", func(ctx context.Context) error { return client.FailActivity(ctx, c, token, nil) }, clientInvalid, "failing an activity: invalid request: there is no error: give one, or complete the activity", "Use `CompleteActivity` for success."},
				{"`FailActivity` of an instance that is gone", func(ctx context.Context) error { return client.FailActivity(ctx, c, token, io.EOF) }, clientNotFound, "failing an activity: its orchestration: not found: it was deleted, or the token is of another store", "Nothing waits for the activity."},
				{"`ReportCancelled` of an instance that is gone", func(ctx context.Context) error { return client.ReportCancelled(ctx, c, token) }, clientNotFound, "reporting an activity as cancelled: its orchestration: not found: it was deleted, or the token is of another store", "Nothing waits for the activity."},
				{"details that cannot be encoded", beat(make(chan int)), clientInvalid, "heartbeat of an activity: invalid request: details: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write", "Report data, not channels, functions or locks."},
				{"details of 256 KiB and a byte", beat(strings.Repeat("x", 256<<10-1)), clientTooLarge, "heartbeat of an activity: too large: details have 262145 bytes: at most 262144 fit; store them elsewhere and report a reference", "Report a position, not the data."},
				{"a heartbeat to an instance that is gone", beat(1), clientNotFound, "heartbeat of an activity: its orchestration: not found: it was deleted, or the token is of another store", "Stop: nothing waits for the result."},
				{"a nil client", func(ctx context.Context) error { return client.CompleteActivity(ctx, nil, token, 1) }, clientInvalid, "completing an activity: invalid request: there is no client: make one with client.New", "Make the client before it is used."},
				{"a nil context", func(ctx context.Context) error { return client.CompleteActivity(lost(ctx), c, token, 1) }, clientInvalid, "completing an activity: invalid request: the context is nil: pass the caller's, or context.Background()", "Pass the context of the request that is served."},
			}
		},
	}
}
