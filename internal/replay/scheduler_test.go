package replay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// Coroutines run in the order in which they became ready. Those that wait for the same thing
// are woken in the order of waiting.
func TestOrderOfCoroutines(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(format string, args ...any) { order = append(order, fmt.Sprintf(format, args...)) }
	x := live(t, func(s *replay.Scope) error {
		shared := s.Timer(time.Second)
		for i := range 3 {
			s.Go(func(s *replay.Scope) error {
				note("begin %d", i)
				_ = await(s, shared)
				note("woken %d", i)
				s.Go(func(*replay.Scope) error { note("child %d", i); return nil })
				return nil
			})
		}
		note("main")
		_ = await(s, shared)
		note("main woken")
		return await(s, s.Timer(time.Second))
	}, at(1, &history.TimerFired{Timer: 2}))
	want := []string{
		"main", "begin 0", "begin 1", "begin 2", "main woken", "woken 0", "woken 1", "woken 2", "child 0", "child 1", "child 2",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	if p := x.Probe(); p.Progress() == 0 || p.InCode() || p.Stack() != "" {
		t.Error("an execution at rest looks busy")
	}
}

// After each message the code runs until it blocks, and its commands follow directly.
func TestCommandsFollowTheirMessage(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		for {
			if _, err := s.Wait(s.Mailbox("box")); err != nil {
				return err
			}
			payload, _ := s.Mailbox("box").Take()
			s.Activity(activity(string(payload)))
		}
	}, at(1, received("box", "a", "")), at(2, received("other", "", "")), at(3, received("box", "b", "")))
	want := "ExecutionStarted EventReceived ActivityScheduled EventReceived EventReceived ActivityScheduled"
	if got := kinds(x.Turn().Events); got != want {
		t.Errorf("got %s", got)
	}
	for i, e := range x.Turn().Events {
		if e.ID != int64(i)+1 {
			t.Errorf("event %d has ID %d", i+1, e.ID)
		}
	}
}

// The time is that of the last message, and never goes back, whatever clock sent it.
func TestNowNeverGoesBack(t *testing.T) {
	t.Parallel()
	var seen []int64
	x := live(t, func(s *replay.Scope) error {
		for {
			seen = append(seen, s.Now())
			if _, err := s.Wait(s.Mailbox("box")); err != nil {
				return err
			}
			s.Mailbox("box").Take()
		}
	}, at(5, received("box", "", "")), at(3, received("box", "", "")), at(6, received("box", "", "")))
	want := []int64{1000, 5_001_000, 5_001_000, 6_001_000}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	for i, e := range x.Turn().Events {
		if e.At != want[i] {
			t.Errorf("event %d is of %d", e.ID, e.At)
		}
	}
}

// Wait returns the lowest ready source. Readiness takes precedence over cancellation.
func TestWait(t *testing.T) {
	t.Parallel()
	var got []string
	live(t, func(s *replay.Scope) error {
		scope, cancel := s.WithCancel()
		box := s.Mailbox("box")
		open := s.Timer(time.Hour)
		i, err := scope.Wait(open, box)
		got = append(got, fmt.Sprint(i, err))
		cancel()
		i, err = scope.Wait(open, box)
		got = append(got, fmt.Sprint(i, err))
		box.Take()
		i, err = scope.Wait(open, box)
		got = append(got, fmt.Sprint(i, errors.Is(err, failure.ErrCancelled)))
		i, err = s.Wait(open, box, s.Failed(errors.New("x")))
		got = append(got, fmt.Sprint(i, err))
		return nil
	}, at(1, received("box", "", "")))
	if diff := cmp.Diff([]string{"1 <nil>", "1 <nil>", "-1 true", "2 <nil>"}, got); diff != "" {
		t.Error(diff)
	}
}

// Cancelling gives up open operations, oldest first and inner scopes last. It does so the same
// way on replay.
func TestOrderOfCancelling(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		s.Activity(activity("a"))
		inner, _ := s.WithCancel()
		inner.Timer(time.Hour)
		s.Child(&history.ChildStarted{Name: "c"})
		inner.Activity(activity("b"))
		s.Timer(time.Hour)
		s.Detached().Timer(time.Hour)
		_, _ = s.Wait(s.Mailbox("never"))
		return await(s.Detached(), s.Detached().Activity(activity("clean")))
	}
	x := live(t, code, at(1, &history.CancelRequested{Reason: "r"}), at(2, &history.CancelRequested{Reason: "again"}))
	events := x.Turn().Events
	want := "ExecutionStarted ActivityScheduled TimerCreated ChildStarted ActivityScheduled TimerCreated TimerCreated " +
		"CancelRequested ActivityCancelRequested ChildCancelRequested TimerCancelled TimerCancelled ActivityCancelRequested ActivityScheduled"
	if got := kinds(events); got != want {
		t.Errorf("got %s", got)
	}
	if cancelled := events[10].Body.(*history.TimerCancelled); cancelled.Timer != 6 {
		t.Errorf("first timer cancelled is event %d", cancelled.Timer)
	}
	again, err := replayed(t, code, events)
	if err != nil || again.View().Length() != x.View().Length() {
		t.Errorf("replay: %v", err)
	}
}

// The parent reaches the scope of a returned coroutine while something in it is open, and no
// longer. A loop of coroutines leaves nothing behind.
func TestScopeOfAReturnedCoroutine(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		outer, cancel := s.WithCancel()
		outer.Go(func(s *replay.Scope) error {
			s.Go(func(s *replay.Scope) error {
				s.Activity(activity("left"))
				s.Timer(time.Second)
				return nil
			})
			return nil
		})
		_, _ = s.Wait(s.Mailbox("box"))
		cancel()
		return await(s, s.Timer(time.Second))
	}
	x := live(t, code, at(1, &history.TimerFired{Timer: 3}), at(2, received("box", "", "")))
	want := "ExecutionStarted ActivityScheduled TimerCreated TimerFired EventReceived ActivityCancelRequested TimerCreated"
	if got := kinds(x.Turn().Events); got != want {
		t.Errorf("got %s", got)
	}
}

// The longest possible timer is not due at once.
func TestLongestTimer(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		s.Timer(1<<63 - 1)
		s.Timer(time.Microsecond + 1)
		return await(s, s.Timer(1))
	})
	var got []int64
	for _, e := range x.Turn().Events[1:] {
		b := e.Body.(*history.TimerCreated)
		if b.Due != 1000+b.Duration {
			t.Errorf("%+v", b)
		}
		got = append(got, b.Duration)
	}
	if diff := cmp.Diff([]int64{9_223_372_036_854_776, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
}
