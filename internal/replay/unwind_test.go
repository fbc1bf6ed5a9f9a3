package replay_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// Close runs the deferred functions of parked code once, whatever they do.
func TestCloseUnwinds(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(what string) { order = append(order, what) }
	x := live(t, func(s *replay.Scope) error {
		defer note("main")
		defer func() {
			defer note("nested")
			note("deferred")
			s.Activity(activity("undo")) // ends this function, records nothing
			note("unreachable")
		}()
		defer func() { _ = recover(); note("recovered nothing") }()
		s.Go(func(s *replay.Scope) error {
			defer note("panicked")
			defer panic("a deferred function that panics")
			return await(s, s.Timer(time.Hour))
		})
		s.Go(func(s *replay.Scope) error {
			defer note("exited")
			defer goexit()
			return await(s, s.Timer(time.Hour))
		})
		for {
			_ = func() error {
				defer func() { _ = recover() }()
				return await(s, s.Timer(time.Hour))
			}()
			note("the loop went on")
		}
	})
	length := x.View().Length()
	x.Close()
	x.Close()
	want := []string{"recovered nothing", "deferred", "nested", "main", "panicked", "exited"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	if x.View().Length() != length {
		t.Errorf("unwinding recorded %d events", x.View().Length()-length)
	}
}

// Only parked code has to be unwound, neither ended nor unwound code.
func TestParked(t *testing.T) {
	t.Parallel()
	if x := live(t, func(*replay.Scope) error { return nil }); x.View().Parked() {
		t.Error("code that has returned is parked")
	}
	x := live(t, func(s *replay.Scope) error { return await(s, s.Timer(time.Hour)) })
	if !x.View().Parked() {
		t.Error("code that sleeps is not parked")
	}
	x.Close()
	if x.View().Parked() {
		t.Error("what was unwound is parked")
	}
	never := newExecution(func(s *replay.Scope) error {
		s.Go(func(s *replay.Scope) error { return await(s, s.Timer(time.Hour)) })
		panic("while another coroutine has not begun")
	})
	lose(func() { _, _ = never.Deliver(started()) })
	if !never.View().Parked() {
		t.Error("what never began is not parked")
	}
	never.Close()
}

// A coroutine that never began has nothing to unwind.
func TestCloseOfCodeThatNeverBegan(t *testing.T) {
	t.Parallel()
	ran := false
	x := newExecution(func(s *replay.Scope) error {
		s.Go(func(*replay.Scope) error { ran = true; return nil })
		panic("before the coroutine begins")
	})
	lose(func() { _, _ = x.Deliver(started()) })
	x.Close()
	if ran {
		t.Error("it ran")
	}
}

// Panic and Goexit of any coroutine are faults, which remain.
func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		code func(s *replay.Scope)
		want string
	}{
		"panic":             {func(*replay.Scope) { panic("boom") }, "boom"},
		"goexit":            {func(*replay.Scope) { goexit() }, "Goexit"},
		"panic in a defer":  {func(*replay.Scope) { defer panic("later"); panic("sooner") }, "later"},
		"goexit in a defer": {func(*replay.Scope) { defer goexit(); panic("sooner") }, "Goexit"},
		"asked for":         {func(s *replay.Scope) { s.Fail(errors.New("no such function")) }, "no such function"},
	}
	for name, c := range cases {
		for where, inner := range map[string]bool{"main": false, "coroutine": true} {
			t.Run(name+"/"+where, func(t *testing.T) {
				t.Parallel()
				x := newExecution(func(s *replay.Scope) error {
					if !inner {
						c.code(s)
					}
					f := s.Go(func(s *replay.Scope) error { c.code(s); return nil })
					return await(s, f)
				})
				t.Cleanup(x.Close)
				lose(func() { _, _ = x.Deliver(started()) })
				if err := x.View().Fault(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("fault %v", err)
				}
				var err error
				lose(func() { _, err = x.Deliver(at(1, received("x", "", ""))) })
				if err == nil {
					t.Error("a faulty execution took a message")
				}
			})
		}
	}
}

// The stack of code that blocks outside the engine is found. After Abandon its goroutine ends at
// its next call, which touches nothing.
func TestStuckCode(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	x := newExecution(func(s *replay.Scope) error {
		s.Go(func(s *replay.Scope) error { return await(s, s.Timer(time.Hour)) })
		<-stuck
		s.Activity(activity("late"))
		return nil
	})
	var turn sync.WaitGroup
	turn.Go(func() { _, _ = x.Deliver(started()) })
	for !strings.Contains(x.Probe().Stack(), "unwind_test.go") {
		if x.Probe().Stack() != "" && !x.Probe().InCode() {
			t.Error("not in code")
		}
	}
	before := x.Probe().Progress()
	if x.Probe().Progress() != before {
		t.Error("stuck code makes progress")
	}
	x.Probe().Abandon()
	close(stuck)
	turn.Wait()
	if got := kinds(x.Turn().Events); got != "ExecutionStarted" {
		t.Errorf("recorded %s", got)
	}
	x.Close()
}

// Calls from other goroutines end those: while code runs, while it rests, and after it is
// gone.
func TestForeignCalls(t *testing.T) {
	t.Parallel()
	var scope *replay.Scope
	x := newExecution(func(s *replay.Scope) error {
		scope = s
		s.Now() // valid calls do not excuse later ones
		if !lose(func() { s.Activity(activity("foreign")) }) {
			t.Error("a foreign call while code was running returned")
		}
		_, _ = s.Wait(s.Mailbox("box"))
		return nil
	})
	lose(func() { _, _ = x.Deliver(started()) })
	foreign, ok := errors.AsType[*replay.WrongGoroutineError](x.View().Fault())
	if !ok || !strings.Contains(foreign.Source, "unwind_test.go:") || !strings.Contains(foreign.When, "other code") {
		t.Errorf("fault %v", x.View().Fault())
	}
	if !lose(func() { scope.Now() }) {
		t.Error("a call on an execution at rest returned")
	}
	x.Close()
	if !lose(func() { _ = scope.Err() }) {
		t.Error("a call on a closed execution returned")
	}
	if got := kinds(x.Turn().Events); got != "ExecutionStarted" {
		t.Errorf("recorded %s", got)
	}
}

// Deep recursion grows the stack under a coroutine. The engine still recognizes its calls.
func TestCallsFromADeepStackAreNotForeign(t *testing.T) {
	t.Parallel()
	var deep func(s *replay.Scope, n int) int64
	deep = func(s *replay.Scope, n int) int64 {
		var pad [256]byte
		if n == 0 {
			return s.Now()
		}
		at := s.Now()
		pad[n%256] = byte(n)
		return max(at, deep(s, n-1)) + int64(pad[0])*0
	}
	x := live(t, func(s *replay.Scope) error {
		for range 3 {
			deep(s, 2000)
			_ = await(s, s.Timer(1))
		}
		return nil
	}, at(1, &history.TimerFired{Timer: 2}), at(2, &history.TimerFired{Timer: 4}))
	if x.View().Fault() != nil {
		t.Error(x.View().Fault())
	}
}
