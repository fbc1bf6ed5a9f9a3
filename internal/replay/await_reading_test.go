package replay_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// forbidden are calls that no condition may make. Each is given things that were made outside of it.
func forbidden() map[string]func(s *replay.Scope, box *replay.Mailbox, f *replay.Future, p *replay.Promise) {
	nothing := func(*replay.Scope) error { return nil }
	type (
		scope   = *replay.Scope
		box     = *replay.Mailbox
		future  = *replay.Future
		promise = *replay.Promise
	)
	return map[string]func(scope, box, future, promise){
		"Take":           func(_ scope, b box, _ future, _ promise) { b.Take() },
		"Mailbox":        func(s scope, _ box, _ future, _ promise) { s.Mailbox("box") },
		"Wait":           func(s scope, b box, _ future, _ promise) { _, _ = s.Wait(b) },
		"Timer":          func(s scope, _ box, _ future, _ promise) { s.Timer(time.Second) },
		"Activity":       func(s scope, _ box, _ future, _ promise) { s.Activity(activity("a")) },
		"Local":          func(s scope, _ box, _ future, _ promise) { s.Local(activity("a")) },
		"Child":          func(s scope, _ box, _ future, _ promise) { s.Child(&history.ChildStarted{Name: "c"}) },
		"Go":             func(s scope, _ box, _ future, _ promise) { s.Go(nothing) },
		"Await":          func(s scope, _ box, _ future, _ promise) { _ = s.Await(func() bool { return true }, 0, false) },
		"AwaitHandlers":  func(s scope, _ box, _ future, _ promise) { _ = s.AwaitHandlers() },
		"WithCancel":     func(s scope, _ box, _ future, _ promise) { s.WithCancel() },
		"Detached":       func(s scope, _ box, _ future, _ promise) { s.Detached() },
		"Rand":           func(s scope, _ box, _ future, _ promise) { s.Rand() },
		"SetStatus":      func(s scope, _ box, _ future, _ promise) { s.SetStatus([]byte("1"), nil) },
		"Patched":        func(s scope, _ box, _ future, _ promise) { s.Patched("p") },
		"SideEffect":     func(s scope, _ box, _ future, _ promise) { _, _ = s.SideEffect(nil) },
		"HandleEvent":    func(s scope, _ box, _ future, _ promise) { s.HandleEvent("e", false, nil) },
		"NewPromise":     func(s scope, _ box, _ future, _ promise) { s.NewPromise() },
		"Replaying":      func(s scope, _ box, _ future, _ promise) { s.Replaying() },
		"AdmitSuccessor": func(s scope, _ box, _ future, _ promise) { _ = s.AdmitSuccessor(1) },
		"Result":         func(_ scope, _ box, f future, _ promise) { _, _ = f.Result() },
		"Cancel":         func(_ scope, _ box, f future, _ promise) { f.Cancel(failure.ErrCancelled) },
		"Settle":         func(_ scope, _ box, _ future, p promise) { p.Settle(nil, nil) },
		"View":           func(_ scope, _ box, _ future, p promise) { p.View() },
	}
}

// A condition may only read. Any other call fails the turn and names its line, at the first look and at later ones, and makes no event.
func TestHazard112_ConditionsOnlyRead(t *testing.T) {
	t.Parallel()
	for name, call := range forbidden() {
		for _, at := range []int{1, 3} {
			t.Run(fmt.Sprint(name, " at look ", at), func(t *testing.T) {
				t.Parallel()
				onlyReads(t, at, call)
			})
		}
	}
}

// onlyReads makes a call at a look, which fails the turn.
func onlyReads(t *testing.T, look int, call func(*replay.Scope, *replay.Mailbox, *replay.Future, *replay.Promise)) {
	t.Helper()
	looks := 0
	x := newExecution(func(s *replay.Scope) error {
		box, f, p := s.Mailbox("box"), s.Timer(time.Hour), s.NewPromise()
		return until(s, func() bool {
			if looks++; looks == look {
				call(s, box, f, p)
			}
			return false
		})
	})
	t.Cleanup(x.Close)
	var err error
	lost := lose(func() {
		if _, err = x.Deliver(started()); err == nil {
			_, err = x.Deliver(at(1, received("box", "", "")))
		}
	})
	if lost || err == nil || !strings.Contains(err.Error(), "a condition of Await uses the engine at ") || !strings.Contains(err.Error(), "await_reading_test.go:") {
		t.Fatalf("lost %v, %v", lost, err)
	}
	if looks != look {
		t.Errorf("%d looks, want %d", looks, look)
	}
	if got := strings.Fields(kinds(x.Turn().Events)); got[len(got)-1] != map[int]string{1: "TimerCreated", 3: "EventReceived"}[look] {
		t.Errorf("events %v", got)
	}
}

// The line in the error is that of the call in the condition.
func TestConditionsAreNamedByLine(t *testing.T) {
	t.Parallel()
	line := 0
	x := newExecution(func(s *replay.Scope) error {
		return until(s, func() bool {
			_, _, line, _ = runtime.Caller(0)
			s.Timer(time.Second) // the next line
			return false
		})
	})
	t.Cleanup(x.Close)
	_, err := x.Deliver(started())
	if want := fmt.Sprintf("await_reading_test.go:%d:", line+1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want the place %s", err, want)
	}
}

// What only reads passes. Behind the condition the code may do all again, also if it recovered a panic of the condition.
func TestConditionsMayRead(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		f, numbers := s.Timer(time.Second), s.Rand()
		err := until(s, func() bool {
			s.Now()
			s.Info()
			s.Facts()
			s.Logger().Info("looks")
			return s.Err() == nil && f.Ready()
		})
		if err != nil {
			return err
		}
		func() {
			defer func() { _ = recover() }()
			_ = until(s, func() bool { panic("in a condition") })
		}()
		numbers.Uint64()
		return await(s, s.Timer(time.Second))
	})
	deliver(t, x, at(1, &history.TimerFired{Timer: 2}))
	if got := kinds(x.Turn().Events); got != "ExecutionStarted TimerCreated TimerFired TimerCreated" {
		t.Errorf("history %s", got)
	}
}

// A condition that panics or ends its goroutine is at fault as other code is.
func TestConditionsPanic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func()
		want string
	}{
		"panic":  {func() { panic("in a condition") }, "in a condition"},
		"Goexit": {goexit, "Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newExecution(func(s *replay.Scope) error {
				s.HandleEvent("set", false, func(*replay.Scope, []byte) error { return nil })
				looks := 0
				return until(s, func() bool {
					if looks++; looks > 2 {
						c.end()
					}
					return false
				})
			})
			t.Cleanup(x.Close)
			deliver(t, x, started())
			var err error
			lose(func() { _, err = x.Deliver(at(1, received("set", "", ""))) })
			if err = errors.Join(err, x.View().Fault()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A condition that hangs is seen from outside, and blamed. When the execution is abandoned, the code behind it does not go on, and nobody
// looks any more.
func TestHazard112_HangingConditionIsSeen(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	looks, on := 0, false
	x := newExecution(func(s *replay.Scope) error {
		for range 2 {
			s.Go(func(s *replay.Scope) error {
				err := until(s, func() bool {
					if looks++; looks == 3 { // both have waited
						close(entered)
						<-release
						return true
					}
					return false
				})
				on = true
				return err
			})
		}
		return taken(s, "never")
	})
	lost := make(chan bool)
	go func() { lost <- lose(func() { _, _ = x.Deliver(started()) }) }()
	<-entered
	probe := x.Probe()
	if !probe.InCode() || !strings.Contains(probe.Stack(), "TestHazard112_HangingConditionIsSeen") {
		t.Errorf("in code %v, stack\n%s", probe.InCode(), probe.Stack())
	}
	probe.Abandon()
	close(release)
	if !<-lost {
		t.Error("the turn went on")
	}
	if looks != 3 || on {
		t.Errorf("%d looks, want 3; the code goes on: %v", looks, on)
	}
	x.Close()
}
