package replay_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// taker waits for an event within a second, beside a handler that takes the one that was there.
func taker(s *replay.Scope) error {
	box := s.Mailbox("box")
	s.HandleEvent("drain", false, func(*replay.Scope, []byte) error {
		box.Take()
		return nil
	})
	if atHand, within := s.AtHand(box, time.Second); !atHand {
		timer := s.Timer(within)
		_, err := s.Wait(box, timer)
		return err
	}
	if _, err := s.Wait(box); err != nil {
		return err
	}
	box.Take()
	return await(s, s.Activity(activity("then")))
}

// A release before looked once, and waited without a timer. Its histories go on as they did.
func TestWithinReplaysOldHistories(t *testing.T) {
	t.Parallel()
	begin := started()
	begin.More = true
	drain, first, next := at(1, received("drain", "", "")), at(1, received("box", "1", "")), at(2, received("box", "2", ""))
	drain.More = true
	old := []history.Event{begin, drain, first, next, {At: next.At, Body: activity("then")}}
	for i := range old {
		old[i].ID = int64(i) + 1
	}
	for n := 3; n <= len(old); n++ {
		if n == 4 {
			continue // no turn ends there
		}
		x, err := replayed(t, taker, old[:n])
		if err != nil {
			t.Fatalf("replaying %s: %v", kinds(old[:n]), err)
		}
		if n == 3 {
			deliver(t, x, next)
		}
		if got := kinds(x.Turn().Events); n == 3 && got != "EventReceived ActivityScheduled" {
			t.Errorf("it goes on with %s", got)
		}
	}
	x := newExecution(taker)
	t.Cleanup(x.Close)
	for _, m := range old[:3] {
		if _, err := x.Absorb(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Continue(old[2].At); err != nil {
		t.Fatal(err)
	}
	if got := kinds(always(t, x, taker)); got != "ExecutionStarted EventReceived EventReceived TimerCreated" {
		t.Errorf("today: %s", got)
	}
}
