package replay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// giveUp gives activities up in all ways at once. Its result lists what it saw, by the names of the activities.
func giveUp(how int64) program {
	return func(s *replay.Scope) error {
		inner, cancel := s.WithCancel()
		call := activity("a")
		call.Cancellation = how
		f := inner.Activity(call)
		if _, err := s.Wait(s.Mailbox("give up")); err != nil {
			return err
		}
		cancel()
		cancel()
		f.Cancel(failure.ErrCancelled)
		saw := "the end"
		if err := await(inner, f); errors.Is(err, failure.ErrCancelled) {
			saw = "cancelled"
		}
		return await(s, s.Activity(activity(saw)))
	}
}

const begun = "ExecutionStarted ActivityScheduled EventReceived ActivityCancelRequested "

// The effect of giving up an activity is stored with it. It counts on replay even if the code
// asks for something else by then.
func TestCancellationIsAsItWasStored(t *testing.T) {
	t.Parallel()
	all := []int64{history.CancelTry, history.CancelWait, history.CancelAbandon}
	for how, want := range map[int64]struct{ given, late, saw string }{
		history.CancelTry:     {begun + "ActivityScheduled", begun + "ActivityScheduled", "cancelled"},
		history.CancelAbandon: {begun + "ActivityScheduled", begun + "ActivityScheduled", "cancelled"},
		history.CancelWait:    {strings.TrimSpace(begun), begun + "ActivityCompleted ActivityScheduled", "the end"},
	} {
		x := live(t, giveUp(how), at(1, received("give up", "1", "")))
		events := x.Turn().Events
		if got := kinds(events); got != want.given {
			t.Errorf("%d: given up: %s", how, got)
		}
		if b := events[3].Body.(*history.ActivityCancelRequested); b.Scheduled != 2 || b.How != how {
			t.Errorf("%d: %+v", how, b)
		}
		deliver(t, x, at(2, completed(2)))
		whole := x.Turn().Events
		if got := kinds(whole); got != want.late {
			t.Errorf("%d: when the result has come: %s", how, got)
		}
		if last := whole[len(whole)-1].Body.(*history.ActivityScheduled); last.Name != want.saw {
			t.Errorf("%d: the code saw %s", how, last.Name)
		}
		for _, other := range all {
			for n := 2; n <= len(whole); n++ {
				again, err := replayed(t, giveUp(other), whole[:n])
				if n == 2 && err == nil {
					// Live from here on: the code was scheduled by another release.
					deliver(t, again, at(1, received("give up", "1", "")), at(2, completed(2)))
					sameEvents(t, whole[2:], again.Turn().Events)
				}
				if err != nil && (n == len(whole) || whole[n].Body.Kind().IsMessage()) {
					t.Errorf("%d, code of %d: replay of %d events: %v", how, other, n, err)
				}
			}
		}
	}
}

// An abandoned activity that continues counts as pending until the execution ends. The end of the execution names it.
func TestAbandonedActivityIsPendingUntilTheEnd(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		call := activity("a")
		call.Cancellation = history.CancelAbandon
		s.Activity(call).Cancel(failure.ErrCancelled)
		return nil
	})
	if turn := x.Turn(); turn.End == nil || turn.Pending != 1 {
		t.Errorf("%+v", turn)
	}
}

// The scope of a coroutine that has returned is over although the end of an activity in it is awaited. It does not hold
// its parent, whose cancellation asks nothing twice.
func TestEndingActivityHoldsNoScope(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		outer, cancel := s.WithCancel()
		var f *replay.Future
		_ = await(s, outer.Go(func(s *replay.Scope) error {
			call := activity("a")
			call.Cancellation = history.CancelWait
			f = s.Activity(call)
			f.Cancel(failure.ErrCancelled)
			return nil
		}))
		cancel()
		return await(outer, f)
	}, at(1, completed(2)))
	if got := kinds(x.Turn().Events); got != "ExecutionStarted ActivityScheduled ActivityCancelRequested ActivityCompleted ExecutionCompleted" {
		t.Error(got)
	}
}
