package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
)

// acting has the doors of acts on instances and activities.
func acting() section {
	return section{
		title: "Suspend, Resume, Restart, and acts on activities",
		intro: "The methods of `Client` and `Handle` behave the same. Nothing is stored. Instance `open` is running, `done` has ended.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			tooLong := strings.Repeat("x", 4<<10+1)
			restart := func(id string, opts ...client.RestartOption) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := c.Restart(ctx, id, "", opts...)
					return err
				}
			}
			act := func(ref client.ActivityRef, act func(context.Context, client.PendingActivity) error) func(context.Context) error {
				return func(ctx context.Context) error {
					h, err := client.Lookup[json.RawMessage](ctx, c, "open")
					if err != nil {
						return err
					}
					return act(ctx, h.Activity(ref))
				}
			}
			retry := func(ctx context.Context, p client.PendingActivity) error { return p.Retry(ctx, "") }
			one := client.ActivityRef{Execution: 1, EventID: 2, Attempt: 1}
			return []row{
				{"`Suspend` of an ended instance", func(ctx context.Context) error { return c.Suspend(ctx, "done", "") }, clientEnded, `suspending instance "done": instance has ended (Completed): start a new one or use another ID`, "There is nothing left to stop."},
				{"`Suspend` of an unknown one", func(ctx context.Context) error { return c.Suspend(ctx, "nobody", "") }, clientNotFound, `suspending instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check the ID."},
				{"`Suspend` with a reason of 4 KiB and a byte", func(ctx context.Context) error { return c.Suspend(ctx, "open", tooLong) }, clientTooLarge, `suspending instance "open": too large: the reason has 4097 bytes: shorten it to 4096`, "Shorten it."},
				{"`Suspend` of an instance of perdure itself", func(ctx context.Context) error { return c.Suspend(ctx, "perdure/retention", "") }, clientInvalid, `suspending instance "perdure/retention": invalid request: IDs that begin with perdure/ belong to perdure itself: use the calls for schedules, bulk jobs and retention`, "Pause the schedule or the job."},
				{"`Resume` with `Repeatable(\"\")`", func(ctx context.Context) error { return c.Resume(ctx, "open", "", client.Repeatable("")) }, clientInvalid, `resuming instance "open": invalid request: request ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out: each call is then a request of its own."},
				{"`Resume` with a nil option", func(ctx context.Context) error { return c.Resume(ctx, "open", "", nil) }, clientInvalid, `resuming instance "open": invalid request: an option is nil: leave it out`, "Build the list of options without holes."},
				{"`Restart` of a running instance", restart("open"), clientExists, `restarting instance "open": instance "open" already exists (status Running): end it first, or give client.RestartAs`, "End it first, or give the new one another ID."},
				{"`RestartAs(\"\")`", restart("done", client.RestartAs("")), clientInvalid, `restarting instance "done": invalid request: instance ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out to keep the ID."},
				{"`RestartAs` of an ID in use", restart("done", client.RestartAs("open")), clientExists, `starting "ok" as instance "open": instance "open" already exists (status Running): use another ID, or take it with client.UseExisting`, "Use another ID."},
				{"`Fork` into an ID of perdure itself", func(ctx context.Context) error {
					h, err := client.Lookup[json.RawMessage](ctx, c, "open")
					if err != nil {
						return err
					}
					_, err = client.Fork(ctx, h, 1, "perdure/x")
					return err
				}, clientInvalid, `forking instance "open" at event 1 into "perdure/x": invalid request: IDs that begin with perdure/ belong to perdure itself: choose another one`, "Choose another ID."},
				{"an activity without numbers", act(client.ActivityRef{}, retry), clientInvalid, `retrying activity 0 of instance "open": invalid request: execution 0, event 0, attempt 0: numbers begin with 1; take them from a Description`, "Use `Description.Ref`."},
				{"an activity in an unknown state", act(client.ActivityRef{Execution: 1, EventID: 2, Attempt: 1, State: "Sleeping"}, retry), clientInvalid, `retrying activity 2 of instance "open": invalid request: there is no state "Sleeping" of activities: give one of the ActivityState constants, or "" for any`, "Use the constants."},
				{"an activity that is not pending", act(one, retry), clientNotFound, `retrying activity 2 of instance "open": not found: it is not pending any more; the history has how it ended`, "Look at the instance again."},
				{"an activity of a zero handle", func(ctx context.Context) error {
					return retry(ctx, client.Handle[int]{}.Activity(one))
				}, clientInvalid, `retrying activity 2 of instance "": invalid request: the handle is zero or its key is: take one from client.Start or client.Lookup`, "Take the handle from `Lookup`."},
				{"`Complete` with a channel", act(one, func(ctx context.Context, p client.PendingActivity) error { return p.Complete(ctx, make(chan int), "") }), clientInvalid, `completing activity 2 of instance "open": invalid request: output: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write`, "Store data."},
				{"`Fail` without an error", act(one, func(ctx context.Context, p client.PendingActivity) error { return p.Fail(ctx, nil, "") }), clientInvalid, `failing activity 2 of instance "open": invalid request: there is no error: give one, or complete the activity`, "Give the reason as an error."},
				{"`Fail` with a reason of 4 KiB and a byte", act(one, func(ctx context.Context, p client.PendingActivity) error {
					return p.Fail(ctx, errors.New("x"), tooLong)
				}), clientTooLarge, `failing activity 2 of instance "open": too large: the reason has 4097 bytes: shorten it to 4096`, "Shorten it."},
			}
		},
	}
}
