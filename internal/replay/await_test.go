package replay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// until waits for a condition without a limit.
func until(s *replay.Scope, cond func() bool) error { return s.Await(cond, 0, false) }

// taken waits for an event of a name and takes it.
func taken(s *replay.Scope, name string) error {
	if _, err := s.Wait(s.Mailbox(name)); err != nil {
		return err
	}
	s.Mailbox(name).Take()
	return nil
}

// absorb applies messages as those of one turn.
func absorb(t testing.TB, x *replay.Execution, messages ...history.Event) {
	t.Helper()
	var err error
	lost := lose(func() {
		for _, m := range messages {
			if _, err = x.Absorb(m); err != nil {
				return
			}
		}
		err = x.Continue(messages[len(messages)-1].At)
	})
	if lost || err != nil {
		t.Fatalf("a turn of %d messages: lost %v, %v", len(messages), lost, err)
	}
}

// A thousand coroutines wait, and one message lets code take a thousand steps. Each of them looks once, when all code is blocked.
func TestHazard111_ManyWaitersLookOnce(t *testing.T) {
	t.Parallel()
	const waiters, steps = 1_000, 1_000
	looks, open, step := 0, -1, 0
	x := live(t, func(s *replay.Scope) error {
		for i := range waiters {
			s.Go(func(s *replay.Scope) error {
				return until(s, func() bool { looks++; return step == steps || open == i })
			})
		}
		if err := taken(s, "open one"); err != nil {
			return err
		}
		open = waiters / 2
		if err := taken(s, "step"); err != nil {
			return err
		}
		for range steps {
			step++
			if err := await(s, s.Go(func(*replay.Scope) error { return nil })); err != nil {
				return err
			}
		}
		return taken(s, "end")
	})
	for _, c := range []struct {
		event string
		want  int
	}{
		{"", 2 * waiters}, // at the call, and when all is blocked
		{"nothing", waiters},
		{"open one", waiters/2 + waiters}, // the round goes on until none is true
		{"step", waiters - 1},             // all are true, and nobody is left
		{"end", 0},
	} {
		if c.event != "" {
			looks = 0
			deliver(t, x, at(1, received(c.event, "", "")))
		}
		if looks != c.want {
			t.Errorf("the event %q made %d looks, want %d", c.event, looks, c.want)
		}
	}
	if !x.View().Ended() {
		t.Error("it has not ended")
	}
}

// The longest wait looks first. Its code and what that wakes run before the next one looks: two that wait until nobody is busy do not
// both go on.
func TestHazard111_OneOfTwoGoesOn(t *testing.T) {
	t.Parallel()
	var trace []string
	busy := true
	code := func(s *replay.Scope) error {
		trace, busy = nil, true
		for i := range 3 {
			s.Go(func(s *replay.Scope) error {
				if err := until(s, func() bool { return !busy }); err != nil {
					return err
				}
				busy = true
				trace = append(trace, fmt.Sprint("take ", i))
				err := await(s, s.Go(func(*replay.Scope) error { // what it wakes
					trace = append(trace, fmt.Sprint("woken by ", i))
					return nil
				}))
				if err == nil {
					err = taken(s, "free")
				}
				busy = false
				return err
			})
		}
		err := taken(s, "free")
		busy = false
		if err == nil {
			err = taken(s, "end")
		}
		return err
	}
	x := live(t, code)
	for i := range 3 {
		deliver(t, x, at(int64(i), received("free", "", "")))
		want := fmt.Sprintf("take %d woken by %d", i, i)
		if got := strings.Join(trace[2*i:], " "); got != want {
			t.Errorf("freed for the time %d: %q, want %q", i+1, got, want)
		}
	}
	deliver(t, x, at(5, received("end", "", "")))
	live := trace
	if _, err := replayed(t, code, x.Turn().Events); err != nil || !slices.Equal(trace, live) {
		t.Errorf("replayed: %v, %v", trace, err)
	}
}

// What is true only while other code runs is not seen.
func TestHazard111_InBetweenIsNotSeen(t *testing.T) {
	t.Parallel()
	open, seen := false, 0
	x := live(t, func(s *replay.Scope) error {
		s.Go(func(s *replay.Scope) error {
			err := until(s, func() bool { return open })
			seen++
			return err
		})
		for {
			if err := taken(s, "flash"); err != nil {
				return err
			}
			open = true
			if err := await(s, s.Go(func(*replay.Scope) error { return nil })); err != nil {
				return err
			}
			if err := taken(s, "stay"); err != nil {
				return err
			}
			open = false
		}
	})
	absorb(t, x, at(1, received("flash", "", "")), at(1, received("stay", "", "")))
	if seen != 0 {
		t.Error("it was seen in between")
	}
	deliver(t, x, at(2, received("flash", "", "")))
	if seen != 1 {
		t.Error("it was not seen at rest")
	}
}

// Code that has no turn looks at nothing: that of a function that has returned, and that of a reset or fork before it gets a message.
func TestHazard111_NobodyLooksBehindTheEnd(t *testing.T) {
	t.Parallel()
	looks, done := 0, false
	x := live(t, func(s *replay.Scope) error {
		s.HandleEvent("work", false, func(s *replay.Scope, _ []byte) error {
			if err := await(s, s.Timer(time.Second)); err != nil {
				return err
			}
			done = true
			return until(s, func() bool { return done })
		})
		s.Go(func(s *replay.Scope) error {
			err := until(s, func() bool { looks++; return done })
			t.Error("a coroutine of the function goes on after its return")
			return err
		})
		return taken(s, "return")
	})
	absorb(t, x, at(1, received("work", "", "")), at(1, received("return", "", "")))
	looks = 0
	deliver(t, x, at(2, &history.TimerFired{Timer: x.Pending()[0]}))
	for _, id := range x.Pending() {
		deliver(t, x, at(3, &history.TimerFired{Timer: id}))
	}
	if looks != 0 || !x.View().Ended() {
		t.Errorf("%d looks, ended %v", looks, x.View().Ended())
	}
}

// A fork looks at no condition when it opens: its history would lack what the code does then.
func TestHazard111_NobodyLooksAtAForkPoint(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		s.HandleEvent("nudge", false, func(*replay.Scope, []byte) error { return nil })
		if err := until(s, func() bool { return s.Info().ID == "fork" }); err != nil {
			return err
		}
		return await(s, s.Activity(activity("of the fork")))
	}
	origin := live(t, code, at(1, received("nudge", "", ""))).Turn().Events
	info := replay.Info{ID: "fork", Key: [16]byte{9}, Execution: 1, Name: "test"}
	b := replay.Branch{
		Origin: replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, New: info, Event: int64(len(origin)) + 1, AsOrigin: true,
	}
	open := func(events []history.Event) *replay.Execution {
		env := newEnv()
		x := replay.New(env, info, func(s *replay.Scope) replay.Result {
			if err := code(s); err != nil {
				return replay.Result{Failure: new(env.Errors.Encode(err))}
			}
			return replay.Result{}
		})
		t.Cleanup(x.Close)
		if err := x.Replay(events); err != nil {
			t.Fatal(err)
		}
		return x
	}
	prefix := b.Prefix(origin)
	x := open(prefix)
	deliver(t, x, at(2, received("nudge", "", "")))
	turn := x.Turn().Events
	if got := kinds(turn); got != "EventReceived ActivityScheduled" {
		t.Errorf("the first turn of the fork: %s", got)
	}
	open(append(prefix, turn...))
}

// Time alone calls no condition. A timer of the code does, and so does any other message.
func TestTimeAloneCallsNoCondition(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		late := s.Now() + 10_000_000
		return s.Await(func() bool { return s.Now() >= late }, 20*time.Second, true)
	}
	x := live(t, code)
	deliver(t, x, at(9, received("other", "", "")))
	if x.View().Ended() {
		t.Error("it ended too early")
	}
	deliver(t, x, at(10, received("other", "", "")))
	if got := kinds(x.Turn().Events); got != "ExecutionStarted TimerCreated EventReceived EventReceived TimerCancelled ExecutionCompleted" {
		t.Errorf("history %s", got)
	}
}

// An Await that nothing can end counts as a deadlock.
func TestHazard111_AwaitCountsAsDeadlock(t *testing.T) {
	t.Parallel()
	never := func() bool { return false }
	for name, c := range map[string]struct {
		code     program
		deadlock bool
	}{
		"alone": {func(s *replay.Scope) error { return until(s, never) }, true},
		"beside a coroutine": {func(s *replay.Scope) error {
			return await(s, s.Go(func(s *replay.Scope) error { return until(s, never) }))
		}, true},
		"a promise": {func(s *replay.Scope) error { return await(s, s.NewPromise().View()) }, true},
		"within":    {func(s *replay.Scope) error { return s.Await(never, time.Hour, true) }, false},
		"beside an event": {func(s *replay.Scope) error {
			s.Go(func(s *replay.Scope) error { return until(s, never) })
			return taken(s, "go")
		}, false},
		"with a handler": {func(s *replay.Scope) error {
			s.HandleEvent("set", false, func(*replay.Scope, []byte) error { return nil })
			return until(s, never)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newExecution(c.code)
			t.Cleanup(x.Close)
			_, err := x.Deliver(started())
			if _, is := errors.AsType[*replay.DeadlockError](err); is != c.deadlock || !is && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The stack names the line of Await and says what it waits for.
func TestStackShowsConditions(t *testing.T) {
	t.Parallel()
	x := newExecution(func(s *replay.Scope) error {
		s.Go(func(s *replay.Scope) error { return taken(s, "never") })
		return s.Await(func() bool { return false }, time.Hour, true)
	})
	t.Cleanup(x.Close)
	x.NoteCallers()
	deliver(t, x, started(), at(1, received("other", "", "")))
	text := x.View().Stacks()
	first, second, _ := strings.Cut(text, "coroutine 2:")
	if !strings.HasPrefix(first, "coroutine 1 (awaits a condition):\n") || !strings.Contains(first, "await_test.go:") ||
		strings.Contains(second, "condition)") {
		t.Errorf("stack:\n%s", text)
	}
}

// On waking, the condition counts first: also if the timer or the cancellation came before the event, or the event took a detour.
func TestHazard113_TheConditionCountsFirst(t *testing.T) {
	t.Parallel()
	set, fired, cancelled := at(1, received("set", "", "")), at(1, &history.TimerFired{Timer: 2}), at(1, &history.CancelRequested{Reason: "drawn"})
	for name, c := range map[string]struct {
		turn []history.Event
		want string // the end of the wait, and how it leaves the timer
	}{
		"the event":                   {[]history.Event{set}, "true TimerCancelled"},
		"the timer":                   {[]history.Event{fired}, "timeout"},
		"the cancellation":            {[]history.Event{cancelled}, "cancelled TimerCancelled"},
		"the event, then the timer":   {[]history.Event{set, fired}, "true"},
		"the timer, then the event":   {[]history.Event{fired, set}, "true"},
		"the event, then the cancel":  {[]history.Event{set, cancelled}, "true TimerCancelled"},
		"the cancel, then the event":  {[]history.Event{cancelled, set}, "true TimerCancelled"},
		"the timer, then the cancel":  {[]history.Event{fired, cancelled}, "cancelled"},
		"the cancel before the timer": {[]history.Event{cancelled, fired}, "cancelled TimerCancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			code := func(s *replay.Scope) error {
				done := false
				s.Detached().Go(func(s *replay.Scope) error { // a detour over another coroutine
					err := taken(s, "set")
					return errors.Join(err, await(s, s.Go(func(*replay.Scope) error { done = true; return nil })))
				})
				err := s.Await(func() bool { return done }, time.Second, true)
				got = fmt.Sprint(err == nil)
				switch {
				case errors.Is(err, failure.ErrTimeout):
					got = "timeout"
				case errors.Is(err, failure.ErrCancelled):
					got = "cancelled"
				}
				return nil
			}
			x := live(t, code)
			for _, m := range c.turn {
				if _, err := x.Absorb(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Continue(c.turn[0].At); err != nil {
				t.Fatal(err)
			}
			end := got
			if strings.Contains(kinds(x.Turn().Events), "TimerCancelled") {
				end += " TimerCancelled"
			}
			if end != c.want {
				t.Errorf("got %q, want %q", end, c.want)
			}
			live := got
			if _, err := replayed(t, code, x.Turn().Events); err != nil || got != live {
				t.Errorf("replayed: %q, %v", got, err)
			}
		})
	}
}

// A condition that is true at the call needs no timer, also if a handler makes it true that begins for what waited. Neither a timeout of
// zero nor a scope that is over is asked first.
func TestHazard113_TheTimerIsMadeAfterALook(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		if err := taken(s, "go"); err != nil {
			return err
		}
		set := false
		s.HandleEvent("set", false, func(*replay.Scope, []byte) error { set = true; return nil })
		if err := s.Await(func() bool { return set }, time.Hour, true); err != nil {
			return err
		}
		dead, cancel := s.WithCancel()
		cancel()
		yes, no := func() bool { return true }, func() bool { return false }
		for _, within := range []time.Duration{0, -1, time.Hour} {
			if err := dead.Await(yes, within, true); err != nil {
				return fmt.Errorf("true in a dead scope: %w", err)
			}
			if err := dead.Await(no, within, true); !errors.Is(err, failure.ErrCancelled) {
				return fmt.Errorf("false in a dead scope: %w", err)
			}
			if err := s.Await(no, within, true); within <= 0 && !errors.Is(err, failure.ErrTimeout) {
				return fmt.Errorf("false within %v: %w", within, err)
			}
		}
		return nil
	}, at(1, received("set", "", "")))
	deliver(t, x, at(2, received("go", "", "")))
	if got := kinds(x.Turn().Events); got != "ExecutionStarted EventReceived EventReceived TimerCreated" {
		t.Errorf("history %s", got)
	}
	deliver(t, x, at(3, &history.TimerFired{Timer: 4}))
	if end := x.View().End(); end == nil || end.Failure != nil {
		t.Errorf("end %+v", end)
	}
}

// A full history refuses the timer, and the wait with it.
func TestAwaitInAFullHistory(t *testing.T) {
	t.Parallel()
	var got error
	x := newExecution(func(s *replay.Scope) error {
		got = s.Await(func() bool { return false }, time.Hour, true)
		return nil
	})
	t.Cleanup(x.Close)
	start := started()
	start.Body.(*history.ExecutionStarted).Settings.MaxEvents = 1
	deliver(t, x, start)
	if !errors.Is(got, failure.ErrHistoryFull) || !x.View().Ended() {
		t.Errorf("got %v", got)
	}
}
