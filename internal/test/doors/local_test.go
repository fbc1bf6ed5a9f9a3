package doors_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/orchestration"
)

func (th *theater) local(name string, in any, opts ...orchestration.ActivityOption) func(context.Context) error {
	return th.refuses(func(ctx *octx) error {
		_, err := orchestration.CallLocalNamed[string](ctx, name, in, opts...)
		return err
	})
}

func callingLocals() section {
	return section{
		title: "Calls of local activities",
		intro: "The rows of other activities apply, and:",
		rows: func(t *testing.T, _ *world) []row {
			th := newTheater(t)
			return []row{
				{"a function that is not registered", th.refuses(func(ctx *octx) error {
					_, err := orchestration.CallLocal(ctx, Charge, 1)
					return err
				}), blocked, `calling an activity: activity "Charge" is not registered on this node: add it to the registry, or call it by name if it runs elsewhere`, "Register it with `AddActivity` on each node that runs the orchestration."},
				{"an empty name", th.local("", 1), orcInvalid, `calling activity "": activity name is empty: give 1 to 512 bytes of UTF-8`, "If names come from data, check them first."},
				{"`AtMostOnce()`", th.local("Hello", "ann", orchestration.AtMostOnce()), orcInvalid, `calling local activity "Hello": AtMostOnce: it runs before anything of it is stored: use CallActivity`, "Use `CallActivity`."},
				{"`WithHeartbeatTimeout`", th.local("Hello", "ann", orchestration.WithHeartbeatTimeout(time.Second)), orcInvalid, `calling local activity "Hello": heartbeat timeout: its heartbeats are not kept: bound it by its start-to-close timeout`, "Leave the option out."},
				{"`WithStartToCloseTimeout(0)`", th.local("Hello", "ann", orchestration.WithStartToCloseTimeout(0)), orcInvalid, `calling local activity "Hello": start-to-close timeout is 0: give more than zero`, "Leave the option out for 5 s."},
				{"an input one byte over the limit", th.local("Hello", text(2<<20+1)), orcTooLarge, "input of local activity Hello has 2097153 bytes, the limit is 2097152: store it elsewhere and pass a reference", "Store the data in an activity and pass a reference."},
				{"the 101st at a time", th.receives(func(ctx *octx) error {
					var last orchestration.Future[string]
					for range 101 {
						last = orchestration.StartLocalNamed[string](ctx, "Hello", "ann")
					}
					_, err := last.Get(ctx)
					return err
				}), orcTooLarge, "local activity Hello: 100 local activities are pending already; wait for some before more are started", "Wait for some in between."},
			}
		},
	}
}
