package weaknesses

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// The engine finds code that deviates from its history, names the place, and waits for a repair. It never fails the
// instance. A value that code cannot decode is an error that it can handle. Custom statuses and patches do not exist
// yet.
func TestWeakness14_DeviationIsFoundAndMended(t *testing.T) {
	t.Parallel()
	all := claims{
		"the code ends early":               endsEarly,
		"a changed input is no deviation":   changedInput,
		"results of another type":           wrongResults,
		"events of another type":            wrongEvents,
		"an input of another type":          wrongInput,
		"a panic of the code around a wait": panicAroundAWait,
	}
	for name, d := range deviations {
		all["another "+name] = func(e *engine) { deviates(e, d) }
	}
	inEveryMode(t, all)
	inEveryStore(t, claims{"another timer, on every store": func(e *engine) { deviates(e, deviations["duration of a timer"]) }})
}

// step is one step of an orchestration. It stores the line of its engine call.
type step func(ctx *octx, at *int)

// below returns the line after its caller's.
func below() int {
	_, _, line, _ := goruntime.Caller(1)
	return line + 1
}

func sleep(d time.Duration) step {
	return func(ctx *octx, at *int) {
		*at = below()
		_ = ctx.Sleep(d)
	}
}

func call(name string) step {
	return func(ctx *octx, at *int) {
		*at = below()
		orchestration.StartActivityNamed[int](ctx, name, 1)
	}
}

func child(name string, opts ...orchestration.ChildOption) step {
	return func(ctx *octx, at *int) {
		*at = below()
		orchestration.StartOrchestrationNamed[int](ctx, name, 1, opts...)
	}
}

func effect(ctx *octx, at *int) {
	*at = below()
	_, _ = orchestration.SideEffect(ctx, func() (int, error) { return 0, nil })
}

func nothing(*octx, *int) {}

// deviation is a step, its replacement, and how the error describes both.
type deviation struct {
	was, is       step
	history, code string
}

var deviations = map[string]deviation{
	"duration of a timer": {was: sleep(time.Hour), is: sleep(2 * time.Hour), history: "TimerCreated of 1h0m0s", code: "TimerCreated of 2h0m0s"},
	"name of an activity": {was: call("one"), is: call("two"), history: `ActivityScheduled of "one"`, code: `ActivityScheduled of "two"`},
	"name of a child":     {was: child("one"), is: child("two"), history: `ChildStarted of "one"`, code: `ChildStarted of "two"`},
	"ID of a child": {
		was: child("one", orchestration.WithInstanceID("a")), is: child("one", orchestration.WithInstanceID("b")),
		history: `ChildStarted of "one" with ID "a"`, code: `ChildStarted of "one" with ID "b"`,
	},
	"ID of a child, now automatic": {
		was: child("one", orchestration.WithInstanceID("a")), is: child("one"),
		history: `ChildStarted of "one" with ID "a"`, code: `ChildStarted of "one"`,
	},
	"kind of call": {was: call("one"), is: child("one"), history: `ActivityScheduled of "one"`, code: `ChildStarted of "one"`},
	"side effect":  {was: effect, is: call("one"), history: "SideEffectRecorded", code: `ActivityScheduled of "one"`},
	"missing call": {was: call("one"), is: nothing, history: `ActivityScheduled of "one"`, code: "nothing"},
}

// stepping returns a registry with an orchestration that makes one step between an activity and an event. The step runs
// in a coroutine, so it may block forever.
func stepping(e *engine, s step, at *int) *runtime.Registry {
	e.T.Helper()
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
		if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil { // events 2 and 3
			return "", err
		}
		ctx.Go(func(ctx *octx) error {
			s(ctx, at)
			return nil
		})
		return orchestration.Events[string](ctx, "end").Receive(ctx)
	})
	return reg
}

// deviates runs an instance up to a wait, changes its code, and changes it back.
func deviates(e *engine, d deviation) {
	line := 0
	node := e.Start(stepping(e, d.was, &line))
	key := e.Create("main", "main", none{})
	until(e, "it waits", func() bool { i := e.Get(key); return i.HistoryLength == 4 && i.Deliveries == 0 })
	e.Stop(node)

	line = 0
	node = e.Start(stepping(e, d.is, &line))
	e.Raise(key, "end", "well")
	i := e.WaitBlocked(key, 1)
	e.Stop(node)
	if i.Blocked.Reason != "nondeterminism" || i.Status != provider.StatusRunning || i.InboxMessages == 0 || i.HistoryLength != 4 {
		e.T.Errorf("%v with %d events and %d messages, blocked %+v", i.Status, i.HistoryLength, i.InboxMessages, i.Blocked)
	}
	parts := []string{"event 4", "history holds " + d.history, "the code did " + d.code}
	if line != 0 { // code that does nothing has no line
		parts = append(parts, fmt.Sprintf("determinism_test.go:%d:", line))
	}
	for _, part := range parts {
		if !strings.Contains(i.Blocked.Message, part) {
			e.T.Errorf("the message does not say %q: %s", part, i.Blocked.Message)
		}
	}

	e.Start(stepping(e, d.was, &line))
	want(e, key, "well")
}

// changed runs an instance up to its event, then replaces the code, and returns the instance after the new code has
// received the event.
func changed(e *engine, was, is func(*octx, none) (string, error)) provider.UUID {
	e.T.Helper()
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", was)
	node := e.Start(reg)
	key := e.Create("main", "main", none{})
	until(e, "it waits", func() bool { i := e.Get(key); return i.HistoryLength > 1 && i.Deliveries == 0 && i.InboxMessages == 0 })
	e.Stop(node)
	reg = registry(e)
	enginetest.Orchestration(e.T, reg, "main", is)
	node = e.Start(reg)
	e.Raise(key, "end", "well")
	until(e, "the changed code has run", func() bool { i := e.Get(key); return i.Status.Ended() || i.Blocked != nil })
	e.Stop(node)
	return key
}

func waiting(ctx *octx) (string, error) { return orchestration.Events[string](ctx, "end").Receive(ctx) }

// endsEarly returns before the rest of its history.
func endsEarly(e *engine) {
	was := func(ctx *octx, _ none) (string, error) {
		orchestration.StartTimer(ctx, time.Hour)
		return waiting(ctx)
	}
	key := changed(e, was, func(*octx, none) (string, error) { return "early", nil })
	b := e.Get(key).Blocked
	if b == nil || b.Reason != "nondeterminism" || !strings.Contains(b.Message, "event 2: history holds TimerCreated") ||
		!strings.Contains(b.Message, "the code did ExecutionCompleted") {
		e.T.Fatalf("%+v", b)
	}
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", was)
	e.Start(reg)
	want(e, key, "well")
}

// changedInput makes the same calls with other inputs and policies: the stored ones count.
func changedInput(e *engine) {
	code := func(input int, opts ...orchestration.ActivityOption) func(*octx, none) (string, error) {
		return func(ctx *octx, _ none) (string, error) {
			v, err := orchestration.CallActivity(ctx, Double, input, opts...)
			if err != nil || v != 2 {
				return "", fmt.Errorf("got %d, %w", v, err)
			}
			return waiting(ctx)
		}
	}
	want(e, changed(e, code(1), code(100, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))), "well")
}

// wrongResults reads results into wrong types. The results can be read again.
func wrongResults(e *engine) {
	key := start(e, registry(e), func(ctx *octx, _ none) (string, error) {
		if _, err := orchestration.CallActivityNamed[string](ctx, "Double", 1); !errors.Is(err, orchestration.ErrPayload) {
			return "", fmt.Errorf("activity: %w", err)
		}
		if _, err := orchestration.CallOrchestrationNamed[[]string](ctx, "Echo", 1); !errors.Is(err, orchestration.ErrPayload) {
			return "", fmt.Errorf("child: %w", err)
		}
		futures := []orchestration.Future[bool]{
			orchestration.StartActivityNamed[bool](ctx, "Double", 1), orchestration.StartActivityNamed[bool](ctx, "Double", 2),
		}
		if _, err := orchestration.All(ctx, futures...); !errors.Is(err, orchestration.ErrPayload) {
			return "", fmt.Errorf("join: %w", err)
		}
		if _, _, err := orchestration.Race(ctx, futures...); !errors.Is(err, orchestration.ErrPayload) {
			return "", fmt.Errorf("race: %w", err)
		}
		if _, err := orchestration.CallActivityNamed[int](ctx, "Double", "one"); err == nil {
			return "", errors.New("an activity took an input of another type")
		}
		return "handled", nil
	}, none{})
	want(e, key, "handled")
}

func wrongEvents(e *engine) {
	key := start(e, registry(e), func(ctx *octx, _ none) (int, error) {
		box := orchestration.Events[int](ctx, "box")
		for _, opts := range [][]orchestration.ReceiveOption{nil, {orchestration.Within(time.Hour)}} {
			if _, err := box.Receive(ctx, opts...); !errors.Is(err, orchestration.ErrPayload) {
				return 0, fmt.Errorf("event of another type: %w", err)
			}
		}
		return box.Receive(ctx)
	}, none{})
	e.Raise(key, "box", "one")
	e.Raise(key, "box", []bool{true})
	e.Raise(key, "box", 3)
	want(e, key, 3)
}

// wrongInput is a mistake of the caller. The caller gets the error.
func wrongInput(e *engine) {
	key := start(e, registry(e), func(ctx *octx, _ none) (string, error) {
		_, err := orchestration.CallOrchestrationNamed[int](ctx, "Echo", "one")
		if !errors.Is(err, orchestration.ErrPayload) {
			return "", fmt.Errorf("child: %w", err)
		}
		return "told", nil
	}, none{})
	want(e, key, "told")
}

// panicAroundAWait panics with the result of a wait: the event is not lost with it.
func panicAroundAWait(e *engine) {
	code := func(fixed bool) func(*octx, none) (string, error) {
		return func(ctx *octx, _ none) (string, error) {
			if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
				return "", err
			}
			got, err := waiting(ctx)
			if !fixed {
				panic("cannot read " + got)
			}
			return got, err
		}
	}
	key := changed(e, code(false), code(false))
	if b := e.Get(key).Blocked; b == nil || b.Reason != "panic" {
		e.T.Fatalf("%+v", b)
	}
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", code(true))
	e.Start(reg)
	want(e, key, "well")
}
