package replay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// Code that starts another instance than its history says, or none, deviates. What the instance gets may change between releases.
func TestDetachedThatDeviates(t *testing.T) {
	t.Parallel()
	start := func(call history.DetachedStarted) program {
		return func(s *replay.Scope) error { return await(s, s.StartDetached(&call)) }
	}
	was := history.DetachedStarted{Name: "a", ID: "x", Input: []byte("1")}
	for name, c := range map[string]struct {
		is     program
		inCode string // "": it replays
	}{
		"the same":      {start(was), ""},
		"another input": {start(history.DetachedStarted{Name: "a", ID: "x", Input: []byte("2"), CodeVersion: "2"}), ""},
		"another name":  {start(history.DetachedStarted{Name: "b", ID: "x"}), `of "b"`},
		"another ID":    {start(history.DetachedStarted{Name: "a", ID: "y"}), `with ID "y"`},
		"no ID":         {start(history.DetachedStarted{Name: "a"}), `of "a"`},
		"a child":       {func(s *replay.Scope) error { return await(s, s.Child(&history.ChildStarted{Name: "a", ID: "x"})) }, "ChildStarted"},
		"a timer":       {func(s *replay.Scope) error { return await(s, s.Timer(1)) }, "TimerCreated"},
		"nothing": {func(s *replay.Scope) error {
			_, err := s.Wait(s.Mailbox("box"))
			return err
		}, "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := replayed(t, c.is, live(t, start(was)).Turn().Events)
			if c.inCode == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			found, ok := errors.AsType[*replay.NonDeterminismError](err)
			if !ok || found.EventID != 2 || !strings.Contains(found.History, `DetachedStarted of "a"`) || !strings.Contains(found.Code, c.inCode) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A wait for an event is no command: code that waits for another name replays. The event of the old name stays unread.
func TestAnotherMailboxReplays(t *testing.T) {
	t.Parallel()
	code := func(box string) program {
		return func(s *replay.Scope) error {
			if _, err := s.Wait(s.Mailbox(box)); err != nil {
				return err
			}
			s.Mailbox(box).Take()
			return await(s, s.Timer(1))
		}
	}
	events := live(t, code("old")).Turn().Events
	x, err := replayed(t, code("new"), events)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, x, at(1, received("old", "1", "")), at(2, received("new", "2", "")))
	if got := kinds(x.Turn().Events); got != "EventReceived EventReceived TimerCreated" {
		t.Errorf("got %s", got)
	}
}
