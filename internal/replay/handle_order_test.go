package replay_test

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// counting counts the events "add" in a handler, and continues as new with that number.
func counting(waits bool) func(s *replay.Scope) replay.Result {
	return func(s *replay.Scope) replay.Result {
		n := byte('0')
		s.HandleEvent("add", false, func(*replay.Scope, []byte) error {
			n++
			return nil
		})
		if waits {
			_, _ = s.Wait(s.Mailbox("stop"))
		}
		return replay.Result{Continue: &history.ContinuedAsNew{Input: []byte{n}}}
	}
}

// A handler runs before the main function goes on, although another message of the turn has woken that before.
func TestHazard52_TheFunctionPassesNoHandler(t *testing.T) {
	t.Parallel()
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, counting(true))
	t.Cleanup(x.Close)
	deliver(t, x, started())
	for n, name := range []string{"stop", "add"} {
		if _, err := x.Absorb(at(1, received(name, "1", name))); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := x.Continue(1); err != nil {
		t.Fatal(err)
	}
	if got := string(x.Turn().End.Next[0].Body.(*history.ExecutionStarted).Input); got != "1" {
		t.Errorf("it continues with %s, without what the handler did", got)
	}
}

// A function that continues as new at once has made its input before any handler runs. So the next execution gets their events.
func TestHazard52_EventsThatNoHandlerHasBegunAreCarried(t *testing.T) {
	t.Parallel()
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, counting(false))
	t.Cleanup(x.Close)
	for _, e := range []history.Event{started(), at(0, received("add", "1", "a")), at(0, received("add", "2", "b"))} {
		if _, err := x.Absorb(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Continue(0); err != nil {
		t.Fatal(err)
	}
	next := x.Turn().End.Next
	if got := kinds(next); got != "ExecutionStarted EventReceived EventReceived" {
		t.Fatalf("the next execution begins with %s", got)
	}
	for n, want := range []string{"1", "2"} {
		if got := string(next[n+1].Body.(*history.EventReceived).Payload); got != want {
			t.Errorf("its event %d is %s, want %s", n+1, got, want)
		}
	}
	if got := string(next[0].Body.(*history.ExecutionStarted).Input); got != "0" {
		t.Errorf("it continues with %s", got)
	}
}
