package doors_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

var (
	orcInvalid  = kind{"orchestration.ErrInvalid", orchestration.ErrInvalid}
	orcTooLarge = kind{"orchestration.ErrTooLarge", orchestration.ErrTooLarge}
	orcExists   = kind{"orchestration.ErrExists", orchestration.ErrExists}
	orcTimeout  = kind{"orchestration.ErrTimeout", orchestration.ErrTimeout}
	blocked     = kind{"client.ErrBlocked", client.ErrBlocked}
)

type octx = orchestration.Context

func Hello(_ context.Context, name string) (string, error) { return "hello " + name, nil }

// theater runs code as an orchestration and returns its error.
type theater struct {
	t    *testing.T
	c    *client.Client
	mu   sync.Mutex
	code map[string]func(*octx) error
	got  map[string]error
}

func newTheater(t *testing.T) *theater {
	t.Helper()
	store := memoryStore(t)
	th := &theater{t: t, c: clienttest.New(t, store, client.Options{Logger: quiet()}), code: map[string]func(*octx) error{}, got: map[string]error{}}
	reg := runtime.NewRegistry()
	err := errors.Join(runtime.AddActivity(reg, Hello), runtime.AddOrchestration(reg, orchestration.Define("try", th.perform)))
	if err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return th
}

// perform runs the code of the instance and keeps its error, which is not stored.
func (th *theater) perform(ctx *octx, id string) (any, error) {
	th.mu.Lock()
	code := th.code[id]
	th.mu.Unlock()
	err := code(ctx)
	th.mu.Lock()
	defer th.mu.Unlock()
	th.got[id] = err
	return nil, nil
}

// run runs code in an instance of its own. If the instance is blocked, run returns the reason as the error.
func (th *theater) run(ctx context.Context, code func(*octx) error) (events []client.HistoryEvent, err error) {
	th.mu.Lock()
	id := strconv.Itoa(len(th.code))
	th.code[id] = code
	th.mu.Unlock()
	h, err := client.StartNamed[any](ctx, th.c, "try", id, client.WithID(id))
	if err != nil {
		th.t.Fatal(err)
	}
	_, err = h.Wait(ctx, client.OrBlocked())
	if b, ok := errors.AsType[*client.BlockedError](err); ok {
		reason, _, _ := strings.Cut(b.Message, "\n") // the text of a panic continues with the stack
		if err := h.Terminate(ctx, ""); err != nil {
			th.t.Error(err)
		}
		return nil, &stuck{reason}
	}
	if err != nil {
		th.t.Fatal(err)
	}
	for e, err := range h.History(ctx, 0) {
		if err != nil {
			th.t.Fatal(err)
		}
		events = append(events, e)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	return events, th.got[id]
}

// stuck is why an instance is blocked.
type stuck struct{ reason string }

func (s *stuck) Error() string { return s.reason }

func (s *stuck) Is(target error) bool { return target == client.ErrBlocked }

// refuses runs code whose call must leave nothing in the history.
func (th *theater) refuses(code func(*octx) error) func(context.Context) error {
	return func(ctx context.Context) error {
		events, err := th.run(ctx, code)
		kinds := make([]string, len(events))
		for i, e := range events {
			kinds[i] = e.Kind
		}
		if want := []string{"ExecutionStarted", "ExecutionCompleted"}; len(kinds) > 0 && !slices.Equal(kinds, want) {
			return fmt.Errorf("the refused call has left events: %v; it got %w", kinds, err)
		}
		return err
	}
}

// receives runs code whose call returns an error of the other side.
func (th *theater) receives(code func(*octx) error) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := th.run(ctx, code)
		return err
	}
}

func (th *theater) activity(name string, in any, opts ...orchestration.ActivityOption) func(context.Context) error {
	return th.refuses(func(ctx *octx) error {
		_, err := orchestration.CallActivityNamed[string](ctx, name, in, opts...)
		return err
	})
}

func (th *theater) retry(p orchestration.RetryPolicy) func(context.Context) error {
	return th.activity("Hello", "ann", orchestration.WithRetry(p))
}

func (th *theater) child(name string, in any, opts ...orchestration.ChildOption) func(context.Context) error {
	return th.refuses(func(ctx *octx) error {
		_, err := orchestration.CallOrchestrationNamed[string](ctx, name, in, opts...)
		return err
	})
}

func callingActivities() section {
	return section{
		title: "Calls of activities",
		intro: "The call returns the error and nothing is recorded. A mistake that only new code can fix fails the turn instead: the instance shows as Blocked " +
			"and continues when fixed code is deployed.",
		rows: func(t *testing.T, _ *world) []row {
			th := newTheater(t)
			closure := func(_ context.Context, s string) (string, error) { return s + t.Name(), nil }
			return []row{
				{"a nil function", th.refuses(func(ctx *octx) error {
					_, err := orchestration.CallActivity[string, string](ctx, nil, "")
					return err
				}), blocked, "calling an activity: the function is nil: give one", "Deploy code that gives a function."},
				{"a closure", th.refuses(func(ctx *octx) error {
					_, err := orchestration.CallActivity(ctx, closure, "")
					return err
				}), blocked, `calling an activity: function has no name to be stored under: SYMBOL is a closure, and the compiler changes the names of closures as it likes: name it with Define("name", fn) and use the result in its place`, "Deploy code that names it."},
				{"a function that is not registered", th.refuses(func(ctx *octx) error {
					_, err := orchestration.CallActivity(ctx, Charge, 1)
					return err
				}), blocked, `calling an activity: activity "Charge" is not registered on this node: add it to the registry, or call it by name if it runs elsewhere`, "Register it with `AddActivity` on each node that runs the orchestration."},
				{"an empty name", th.activity("", 1), orcInvalid, `calling activity "": activity name is empty: give 1 to 512 bytes of UTF-8`, "If names come from data, check them first."},
				{"a name of 513 bytes", th.activity(long, 1), orcInvalid, `calling activity "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: activity name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Shorten it."},
				{"a name that is not UTF-8", th.activity("a\xff", 1), orcInvalid, `calling activity "a\xff": activity name "a\xff" is not valid UTF-8: encode it, as hex for example`, "Encode it."},
				{"a name with NUL", th.activity("a\x00", 1), orcInvalid, `calling activity "a\x00": activity name "a\x00" has a NUL byte: take it out`, "Take it out."},
				{"`WithQueue(\"\")`", th.activity("Hello", 1, orchestration.WithQueue("")), orcInvalid, `calling activity "Hello": queue name is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out for the queue `default`."},
				{"`WithQueue` of 513 bytes", th.activity("Hello", 1, orchestration.WithQueue(long)), orcInvalid, `calling activity "Hello": queue name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Shorten it."},
				{"`WithStartToCloseTimeout(-1)`", th.activity("Hello", 1, orchestration.WithStartToCloseTimeout(-1)), orcInvalid, `calling activity "Hello": start-to-close timeout is -1ns: give more than zero, or 0 for none`, "Check how the timeout is computed."},
				{"`WithScheduleToStartTimeout(-1)`", th.activity("Hello", 1, orchestration.WithScheduleToStartTimeout(-1)), orcInvalid, `calling activity "Hello": schedule-to-start timeout is -1ns: give more than zero, or 0 for none`, "Check how the timeout is computed."},
				{"`WithScheduleToCloseTimeout(-1)`", th.activity("Hello", 1, orchestration.WithScheduleToCloseTimeout(-1)), orcInvalid, `calling activity "Hello": schedule-to-close timeout is -1ns: give more than zero, or 0 for none`, "Check how the timeout is computed."},
				{"`WithPriority(0)`", th.activity("Hello", 1, orchestration.WithPriority(0)), orcInvalid, `calling activity "Hello": priority is 0: give 1 (first) to 5`, "Leave the option out for the default, 3."},
				{"`WithPriority(6)`", th.activity("Hello", 1, orchestration.WithPriority(6)), orcInvalid, `calling activity "Hello": priority is 6: give 1 (first) to 5`, "Use `PriorityHighest` to `PriorityLowest`."},
				{"`WithFairnessKey(\"\")`", th.activity("Hello", 1, orchestration.WithFairnessKey("")), orcInvalid, `calling activity "Hello": fairness key is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out for none."},
				{"`WithSession(\"\")`", th.activity("Hello", 1, orchestration.WithSession("")), orcInvalid, `calling activity "Hello": session is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out for none."},
				{"`WithHeartbeatTimeout(-1)`", th.activity("Hello", 1, orchestration.WithHeartbeatTimeout(-1)), orcInvalid, `calling activity "Hello": heartbeat timeout is -1ns: give more than zero, or 0 for none`, "Check how the timeout is computed."},
				{"`WithCancellation(3)`", th.activity("Hello", 1, orchestration.WithCancellation(3)), orcInvalid, `calling activity "Hello": cancellation is 3: give TryCancel, WaitForEnd or Abandon`, "Use the names."},
				{"a nil option", th.activity("Hello", 1, nil), orcInvalid, `calling activity "Hello": an option is nil: leave it out`, "Build the list of options without holes."},
				{"`MaxAttempts: -1`", th.retry(orchestration.RetryPolicy{MaxAttempts: -1}), orcInvalid, `calling activity "Hello": retry policy: MaxAttempts is -1: give 1 or more, or 0 for no limit`, "0 means no limit."},
				{"`InitialInterval: -time.Second`", th.retry(orchestration.RetryPolicy{InitialInterval: -time.Second}), orcInvalid, `calling activity "Hello": retry policy: InitialInterval is -1s: give more than zero, or 0 for 1s`, "For retries at once give a millisecond."},
				{"`InitialInterval: time.Hour, MaxInterval: time.Minute`", th.retry(orchestration.RetryPolicy{InitialInterval: time.Hour, MaxInterval: time.Minute}), orcInvalid, `calling activity "Hello": retry policy: MaxInterval is 1m0s: give at least the InitialInterval of 1h0m0s, or 0`, "Leave `MaxInterval` out."},
				{"`MaxInterval: -1`", th.retry(orchestration.RetryPolicy{MaxInterval: -1}), orcInvalid, `calling activity "Hello": retry policy: MaxInterval is -1ns: give at least the InitialInterval of 1s, or 0`, "Leave `MaxInterval` out."},
				{"`Coefficient: 0.5`", th.retry(orchestration.RetryPolicy{Coefficient: 0.5}), orcInvalid, `calling activity "Hello": retry policy: Coefficient is 0.5: give 1 to 1000, or 0 for 2`, "Intervals do not shrink; 1 keeps them equal."},
				{"`Coefficient: math.NaN()`", th.retry(orchestration.RetryPolicy{Coefficient: math.NaN()}), orcInvalid, `calling activity "Hello": retry policy: Coefficient is NaN: give 1 to 1000, or 0 for 2`, "Check how it is computed."},
				{"`Coefficient: math.Inf(1)`", th.retry(orchestration.RetryPolicy{Coefficient: math.Inf(1)}), orcInvalid, `calling activity "Hello": retry policy: Coefficient is +Inf: give 1 to 1000, or 0 for 2`, "Check how it is computed."},
				{"`MaxElapsed: -1`", th.retry(orchestration.RetryPolicy{MaxElapsed: -1}), orcInvalid, `calling activity "Hello": retry policy: MaxElapsed is -1ns: give more than zero, or 0 for no limit`, "Check how it is computed."},
				{"`Jitter: 1.5`", th.retry(orchestration.RetryPolicy{Jitter: 1.5}), orcInvalid, `calling activity "Hello": retry policy: Jitter is 1.5: give 0 to 1, 0 for 0.1, or Off (-1) for none`, "It is a part of the interval, not a percentage."},
				{"`Jitter: math.NaN()`", th.retry(orchestration.RetryPolicy{Jitter: math.NaN()}), orcInvalid, `calling activity "Hello": retry policy: Jitter is NaN: give 0 to 1, 0 for 0.1, or Off (-1) for none`, "Check how it is computed."},
				{"`NonRetryable` with 3 MiB of names", th.retry(orchestration.RetryPolicy{NonRetryable: []string{strings.Repeat("x", 3<<20)}}), orcTooLarge, `calling activity "Hello": retry policy: NonRetryable has 3145728 bytes beside an input of 5: name fewer types`, "Mark errors with `orchestration.NonRetryable` where they are made."},
				{"an input that cannot be encoded", th.activity("Hello", make(chan int)), payloadError, `input of activity "Hello": payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write`, "Pass data, not channels, functions or locks."},
				{"an input that holds itself", th.activity("Hello", cycle()), payloadError, `input of activity "Hello": payload cannot be encoded: *doors_test.self: json: unsupported value: encountered a cycle via *doors_test.self: give what encoding/json can write`, "Pass an ID in place of the pointer."},
				{"NaN", th.activity("Hello", math.NaN()), payloadError, `input of activity "Hello": payload cannot be encoded: float64: json: unsupported value: NaN: give what encoding/json can write`, "JSON has no NaN and no infinity."},
				{"an input whose `MarshalJSON` panics", th.activity("Hello", explosive{}), payloadError, `input of activity "Hello": payload cannot be encoded: doors_test.explosive: a method panicked: boom: give what encoding/json can write`, "Fix the method."},
				{"an input one byte over the limit", th.activity("Hello", text(2<<20+1)), orcTooLarge, "input of activity Hello has 2097153 bytes, the limit is 2097152: store it elsewhere and pass a reference", "Store the data in an activity and pass a reference."},
				{"a result that is no `Out`", th.receives(func(ctx *octx) error {
					_, err := orchestration.CallActivityNamed[int](ctx, "Hello", "ann")
					return err
				}), payloadError, `result: payload cannot be decoded into int, at byte 11 of "\"hello ann\"": json: cannot unmarshal string into Go value of type int`, "Give the type that the activity returns."},
				{"an input that the activity cannot decode", th.receives(func(ctx *octx) error {
					_, err := orchestration.CallActivityNamed[string](ctx, "Hello", 7)
					return err
				}), payloadError, `input: payload cannot be decoded into string, at byte 1 of "7": json: cannot unmarshal number into Go value of type string`, "Give the type that the activity takes. This failure is not retried."},
			}
		},
	}
}

func callingChildren() section {
	return section{
		title: "Calls of children, and continue-as-new",
		intro: "The same as for activities.",
		rows: func(t *testing.T, _ *world) []row {
			th := newTheater(t)
			again := func(in any) func(context.Context) error {
				return th.refuses(func(ctx *octx) error { return orchestration.ContinueAsNew(ctx, in) })
			}
			return []row{
				{"a nil function", th.refuses(func(ctx *octx) error {
					_, err := orchestration.CallOrchestration[string, string](ctx, nil, "")
					return err
				}), blocked, "starting a child: the function is nil: give one", "Deploy code that gives a function."},
				{"a function that is not registered", th.refuses(func(ctx *octx) error {
					_, err := orchestration.CallOrchestration(ctx, Checkout, "")
					return err
				}), blocked, `starting a child: orchestration "Checkout" is not registered on this node: add it to the registry, or call it by name if it runs elsewhere`, "Register it with `AddOrchestration` on each node that runs the parent."},
				{"an empty name", th.child("", 1), orcInvalid, `starting child "": orchestration name is empty: give 1 to 512 bytes of UTF-8`, "If names come from data, check them first."},
				{"a name of 513 bytes", th.child(long, 1), orcInvalid, `starting child "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: orchestration name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Shorten it."},
				{"`WithInstanceID(\"\")`", th.child("try", 1, orchestration.WithInstanceID("")), orcInvalid, `starting child "try": instance ID is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out to get one that is unique."},
				{"`WithInstanceID` of 513 bytes", th.child("try", 1, orchestration.WithInstanceID(long)), orcInvalid, `starting child "try": instance ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Use a hash of the long text."},
				{"`WithInstanceID` with NUL", th.child("try", 1, orchestration.WithInstanceID("a\x00")), orcInvalid, `starting child "try": instance ID "a\x00" has a NUL byte: take it out`, "Take it out."},
				{"a nil option", th.child("try", 1, nil), orcInvalid, `starting child "try": an option is nil: leave it out`, "Build the list of options without holes."},
				{"an input that cannot be encoded", th.child("try", make(chan int)), payloadError, `input of orchestration "try": payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write`, "Pass data, not channels, functions or locks."},
				{"an input one byte over the limit", th.child("try", text(2<<20+1)), orcTooLarge, "input of child try has 2097153 bytes, the limit is 2097152: store it elsewhere and pass a reference", "Store the data in an activity and pass a reference."},
				{"an instance ID in use", th.receives(func(ctx *octx) error {
					_, err := orchestration.CallOrchestrationNamed[string](ctx, "try", "", orchestration.WithInstanceID("0"))
					return err
				}), orcExists, `starting child try: instance ID "0" is in use: choose another one`, "Choose IDs that contain the parent's, or leave the option out."},
				{"`ContinueAsNew` with an input that cannot be encoded", again(make(chan int)), payloadError, `input of orchestration "try": payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write`, "Pass data, not channels, functions or locks."},
				{"`ContinueAsNew` with an input one byte over the limit", again(text(2<<20 + 1)), orcTooLarge, "input of the next execution has 2097153 bytes, the limit is 2097152: store it elsewhere and pass a reference", "Carry over less; store the data in an activity and pass a reference."},
			}
		},
	}
}

func reachingInOrchestrations() section {
	return section{
		title: "Starts, events and cancel requests of orchestrations",
		intro: "Code that starts or reaches instances which are no children. See [Reach other instances from code](../how-to/reach-other-instances.md).",
		rows: func(t *testing.T, _ *world) []row {
			th := newTheater(t)
			start := func(name string, in any, opts ...orchestration.DetachedOption) func(context.Context) error {
				return th.refuses(func(ctx *octx) error {
					_, err := orchestration.StartDetachedNamed(ctx, name, in, opts...).Get(ctx)
					return err
				})
			}
			raise := func(to orchestration.Instance, event string, payload any) func(context.Context) error {
				return th.refuses(func(ctx *octx) error {
					_, err := to.Raise(ctx, event, payload).Get(ctx)
					return err
				})
			}
			cancel := func(id, reason string) func(context.Context) error {
				return th.refuses(func(ctx *octx) error {
					_, err := orchestration.CancelInstance(ctx, id, reason).Get(ctx)
					return err
				})
			}
			to, id := orchestration.Instance{ID: "order-7"}, orchestration.WithInstanceID
			return []row{
				{"`StartDetached` of an empty name", start("", 1), orcInvalid, `starting "": orchestration name is empty: give 1 to 512 bytes of UTF-8`, "If names come from data, check them first."},
				{"`StartDetached` of a name of perdure", start("perdure.schedule", 1), orcInvalid, `starting "perdure.schedule": names that begin with perdure. belong to perdure itself: give that of an orchestration of yours`, "Use a name of your own."},
				{"`StartDetached` with an ID of perdure", start("try", 1, id("perdure/x")), orcInvalid, `starting "try": IDs that begin with perdure/ belong to perdure itself: give that of an instance of yours`, "Choose another ID."},
				{"`WithRequestID` without an ID", start("try", 1, orchestration.WithRequestID("r")), orcInvalid, `starting "try": it has request ID "r" and no instance ID, under which a repeat would find it: add WithInstanceID`, "Give both."},
				{"`TellEnd(\"\")`", start("try", 1, orchestration.TellEnd("")), orcInvalid, `starting "try": event name is empty: give 1 to 512 bytes of UTF-8`, "Leave the option out, or name the event."},
				{"`StartDetached` under an ID in use", th.receives(func(ctx *octx) error {
					_, err := orchestration.StartDetachedNamed(ctx, "try", "", id("0")).Get(ctx)
					return err
				}), orcExists, `starting "try" as instance "0": the instance ID is in use: choose another one`, "Choose another ID, or take it as done."},
				{"`Raise` of an empty event", raise(to, "", 1), orcInvalid, `raising event "": event name is empty: give 1 to 512 bytes of UTF-8`, "Name the event."},
				{"`Raise` to an empty ID", raise(orchestration.Instance{}, "paid", 1), orcInvalid, `raising event "paid": instance ID is empty: give 1 to 512 bytes of UTF-8`, "Check IDs that come from data."},
				{"`Raise` to a key that is none", raise(orchestration.Instance{Key: "7"}, "paid", 1), orcInvalid, `raising event "paid": instance key "7" is no UUID: use the Key of an Instance or of Info`, "Keep keys as they are."},
				{"`Raise` to nobody", th.receives(func(ctx *octx) error {
					_, err := orchestration.Raise(ctx, "nobody", "paid", 1).Get(ctx)
					return err
				}), kind{"orchestration.ErrNotFound", orchestration.ErrNotFound}, `raising event "paid" to instance "nobody": there is no such instance: check the ID`, "Start the instance first, or take it as gone."},
				{"`CancelInstance` with a long reason", cancel("order-7", strings.Repeat("x", 4<<10+1)), orcInvalid, `cancelling "order-7": the reason has 4097 bytes: shorten it to 4096`, "Shorten it."},
				{"`CancelInstance` of an instance of perdure", cancel("perdure/retention", ""), orcInvalid, `cancelling "perdure/retention": IDs that begin with perdure/ belong to perdure itself: give that of an instance of yours`, "Use the call that is made for it."},
			}
		},
	}
}

func waitingInOrchestrations() section {
	return section{
		title: "Events, futures and contexts of orchestrations",
		intro: "Zero and nil values panic with a text. In an orchestration the panic fails the turn, and the instance shows as Blocked.",
		rows: func(t *testing.T, _ *world) []row {
			th := newTheater(t)
			var zero orchestration.Future[int]
			var box orchestration.Mailbox[int]
			var promise orchestration.Promise[int]
			no := func() bool { return false }
			outside := func(code func(*octx) error) func(context.Context) error {
				return func(context.Context) error { return code(new(octx)) }
			}
			return []row{
				{"`Events` of an empty name", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Events[int](ctx, "").Receive(ctx)
					return err
				}), blocked, `waiting for events of "": event name is empty: give 1 to 512 bytes of UTF-8`, "No client can raise this event: the code would wait forever. Deploy code that gives a name."},
				{"`Events` of a name of 513 bytes", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Events[int](ctx, long).Receive(ctx)
					return err
				}), blocked, `waiting for events of "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: event name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 513 bytes: shorten it to 512`, "Deploy code that gives a shorter name."},
				{"`Receive` with a nil option", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Events[int](ctx, "paid").Receive(ctx, nil)
					return err
				}), orcInvalid, `receiving event "paid": an option is nil: leave it out`, "Build the list of options without holes."},
				{"`Receive` with `Within(-1)`", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Events[int](ctx, "paid").Receive(ctx, orchestration.Within(-1))
					return err
				}), orcTimeout, `no event "paid" within -1ns`, "Not a mistake: a wait of zero or less takes what is there."},
				{"a zero `Mailbox`", th.refuses(func(ctx *octx) error {
					_, _, err := box.TryReceive()
					return err
				}), blocked, "orchestration code panicked: orchestration: the Mailbox is zero: take one from Events", "Take it from `Events`."},
				{"`Get` of a zero `Future`", th.refuses(func(ctx *octx) error {
					_, err := zero.Get(ctx)
					return err
				}), blocked, "orchestration code panicked: orchestration: the Future is zero: take one from StartActivity, StartTimer, Go and the like", "Start the operation before you wait for it."},
				{"`Cancel` of a zero `Future`", th.refuses(func(*octx) error { zero.Cancel(); return nil }), blocked, "orchestration code panicked: orchestration: the Future is zero: take one from StartActivity, StartTimer, Go and the like", "Start the operation before you cancel it."},
				{"`Race` with a zero `Future`", th.refuses(func(ctx *octx) error {
					_, _, err := orchestration.Race(ctx, zero)
					return err
				}), blocked, "orchestration code panicked: orchestration: the Future is zero: take one from StartActivity, StartTimer, Go and the like", "Leave it out."},
				{"`Await(nil)`", th.refuses(func(ctx *octx) error { return ctx.Await(nil) }), blocked, "orchestration code panicked: orchestration: the function given to Await is nil: give one", "Deploy code that gives a function."},
				{"`Await` with a nil option", th.refuses(func(ctx *octx) error { return ctx.Await(no, nil) }), orcInvalid, "awaiting a condition: an option is nil: leave it out", "Build the list of options without holes."},
				{"`Await` with `Within(-1)`", th.refuses(func(ctx *octx) error { return ctx.Await(no, orchestration.Within(-1)) }), orcTimeout, "the condition was not true within -1ns", "Not a mistake: a wait of zero or less looks once."},
				{"`Await` of what nothing can make true", th.refuses(func(ctx *octx) error { return ctx.Await(no) }), blocked, "the code can never continue: its coroutines (1) wait for coroutines, promises, conditions and locks only, and no activity, timer, child or event can wake one: look for coroutines that wait for each other, run mended code, or cancel the instance", "Give `Within`, or register the handler that changes the variables."},
				{"a zero `Promise`", th.refuses(func(*octx) error { return promise.Set(1) }), blocked, "orchestration code panicked: orchestration: the Promise is zero: take one from NewPromise", "Take it from `NewPromise`."},
				{"`NewPromise` of what cannot be stored", th.refuses(func(ctx *octx) error { orchestration.NewPromise[chan int](ctx); return nil }), blocked, "making a promise: type cannot be stored as JSON: chan int: chan: take it out, or tag the field `json:\"-\"`", "Deploy code that gives another type."},
				{"`Promise.Set` a second time", th.refuses(func(ctx *octx) error {
					p := orchestration.NewPromise[int](ctx)
					return errors.Join(p.Set(1), p.Set(2))
				}), orcInvalid, "setting a promise: it is set already: set it once, or make one for each result", "Decide which one counts, and ignore the error of the other."},
				{"`Promise.Set` of what cannot be encoded", th.refuses(func(ctx *octx) error { return orchestration.NewPromise[any](ctx).Set(make(chan int)) }), payloadError, "value of a promise: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write", "Give data, not channels, functions or locks."},
				{"`Promise.Fail(nil)`", th.refuses(func(ctx *octx) error { return orchestration.NewPromise[int](ctx).Fail(nil) }), orcInvalid, "failing a promise: the error is nil: give one, or use Set", "To end it without an error use `Set`."},
				{"`Race` of nothing", th.refuses(func(ctx *octx) error {
					_, _, err := orchestration.Race[int](ctx)
					return err
				}), orcInvalid, "race of no futures: give one or more", "Check that the list has entries."},
				{"`Select` without cases", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Select(ctx)
					return err
				}), orcInvalid, "select without cases: give one or more", "Check that the list has entries."},
				{"`Select` with a nil case", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Select(ctx, nil)
					return err
				}), blocked, "orchestration code panicked: orchestration: a case of Select is nil: leave it out", "Build the list of cases without holes."},
				{"`Go(nil)`", th.refuses(func(ctx *octx) error { ctx.Go(nil); return nil }), blocked, "orchestration code panicked: orchestration: the function given to Go is nil: give one", "Deploy code that gives a function."},
				{"`SideEffect` of nil", th.refuses(func(ctx *octx) error {
					_, err := orchestration.SideEffect[int](ctx, nil)
					return err
				}), blocked, "orchestration code panicked: orchestration: the function given to SideEffect is nil: give one", "Deploy code that gives a function."},
				{"`SideEffect` with a value that cannot be encoded", th.receives(func(ctx *octx) error {
					_, err := orchestration.SideEffect(ctx, func() (any, error) { return make(chan int), nil })
					return err
				}), payloadError, "value of a side effect: payload cannot be encoded: chan int: json: unsupported type: chan int", "Return data, not channels, functions or locks."},
				{"`SideEffect` with a value one byte over the limit", th.receives(func(ctx *octx) error {
					_, err := orchestration.SideEffect(ctx, func() (string, error) { return text(2<<20 + 1), nil })
					return err
				}), orcTooLarge, "value of a side effect has 2097153 bytes, the limit is 2097152: store it elsewhere and pass a reference", "Read large data in an activity."},
				{"a nil `Context`", th.refuses(func(*octx) error { return (*octx)(nil).Sleep(1) }), blocked, "orchestration code panicked: orchestration: the Context is nil or zero: use the one that the orchestration was given", "Hand the Context on to the functions that need it."},
				{"a zero `Context`, outside of an orchestration", outside(func(ctx *octx) error { return ctx.Sleep(1) }), panics, "orchestration: the Context is nil or zero: use the one that the orchestration was given", "Orchestrations are started with a client, not called."},
				{"a zero `Context` in a call", outside(func(ctx *octx) error {
					_, err := orchestration.CallActivity(ctx, Hello, "")
					return err
				}), panics, "orchestration: the Context is nil or zero: use the one that the orchestration was given", "Orchestrations are started with a client, not called."},
				{"a nil `Context` for a defined function", func(context.Context) error {
					_, err := orchestration.Define("x", func(ctx *octx, _ int) (int, error) { return 0, ctx.Err() })(nil, 1)
					return err
				}, panics, "orchestration: the Context is nil or zero: use the one that the orchestration was given", "Orchestrations are started with a client, not called."},
			}
		},
	}
}
