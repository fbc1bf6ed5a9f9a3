package replay_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// Each case is the code that wrote a history and other code that replays it. The error names
// event, history, code and line of the first difference.
func TestCodeThatDeviatesFromHistory(t *testing.T) {
	t.Parallel()
	call := func(name string) program {
		return func(s *replay.Scope) error { return await(s, s.Activity(activity(name))) }
	}
	timer := func(d time.Duration) program {
		return func(s *replay.Scope) error { return await(s, s.Timer(d)) }
	}
	child := func(name, id string) program {
		return func(s *replay.Scope) error { return await(s, s.Child(&history.ChildStarted{Name: name, ID: id})) }
	}
	cancel := func(which int) program {
		return func(s *replay.Scope) error {
			fs := []*replay.Future{
				s.Activity(activity("a")), s.Activity(activity("a")), s.Timer(1), s.Timer(1),
				s.Child(&history.ChildStarted{Name: "c"}), s.Child(&history.ChildStarted{Name: "c"}),
			}
			fs[which].Cancel(failure.ErrCancelled)
			return await(s, s.Timer(2))
		}
	}
	effect := func(s *replay.Scope) error {
		_, err := s.SideEffect(func() ([]byte, *history.Failure) { return nil, nil })
		if err != nil {
			return err
		}
		return await(s, s.Timer(1))
	}
	local := func(name string) program {
		return func(s *replay.Scope) error { return await(s, s.Local(activity(name))) }
	}
	nothing := func(*replay.Scope) error { return nil }
	fails := func(*replay.Scope) error { return errors.New("no") }
	listen := func(s *replay.Scope) error {
		_, err := s.Wait(s.Mailbox("box"))
		return err
	}
	scoped := func(name string) program {
		return func(s *replay.Scope) error {
			scope, _ := s.WithCancel()
			scope.Activity(activity(name))
			return await(s, s.Activity(activity("other")))
		}
	}
	cases := []struct {
		name      string
		was, is   program
		messages  []history.Event
		event     int64
		inHistory string
		inCode    string
		noSource  bool
	}{
		{"activity name", call("a"), call("b"), nil, 2, `ActivityScheduled of "a"`, `ActivityScheduled of "b"`, false},
		{"activity became timer", call("a"), timer(1), nil, 2, `ActivityScheduled of "a"`, "TimerCreated of 1µs", false},
		{"timer duration", timer(time.Second), timer(time.Minute), nil, 2, "TimerCreated of 1s", "TimerCreated of 1m0s", false},
		{"child name", child("a", ""), child("b", ""), nil, 2, `ChildStarted of "a"`, `ChildStarted of "b"`, false},
		{"child ID", child("a", "x"), child("a", "y"), nil, 2, `with ID "x"`, `with ID "y"`, false},
		{"child ID dropped", child("a", "x"), child("a", ""), nil, 2, `with ID "x"`, `ChildStarted of "a"`, false},
		{"other activity cancelled", cancel(0), cancel(1), nil, 8, "ActivityCancelRequested of event 2", "of event 3", false},
		{"other timer cancelled", cancel(2), cancel(3), nil, 8, "TimerCancelled of event 4", "of event 5", false},
		{"other child cancelled", cancel(4), cancel(5), nil, 8, "ChildCancelRequested of event 6", "of event 7", false},
		{"side effect dropped", effect, timer(1), nil, 2, "SideEffectRecorded", "TimerCreated", false},
		{"local activity name", local("a"), local("b"), localEnded("a"), 2, `local call 1 of "a"`, `local call 1 of "b"`, true},
		{"local activity dropped", local("a"), listen, localEnded("a"), 2, `local call 1 of "a"`, "nothing", true},
		{"local activity made ordinary", local("a"), call("a"), localEnded("a"), 2, `local call 1 of "a"`, `ActivityScheduled of "a"`, false},
		{"ordinary activity made local", call("a"), local("a"), nil, 2, `ActivityScheduled of "a"`, "nothing", true},
		{"ends early", call("a"), nothing, nil, 2, "ActivityScheduled", "ExecutionCompleted", true},
		{"does nothing", call("a"), listen, nil, 2, "ActivityScheduled", "nothing", true},
		{"ends later", nothing, call("a"), nil, 2, "ExecutionCompleted", "ActivityScheduled", false},
		{"ends otherwise", nothing, fails, nil, 2, "ExecutionCompleted", "ExecutionFailed", true},
		{"does more", listen, call("a"), nil, 2, "nothing (the history ends here)", "ActivityScheduled", false},
		{
			"does more in the middle", listen, call("a"),
			[]history.Event{at(1, received("x", "1", ""))},
			2, "EventReceived", "ActivityScheduled", false,
		},
		{"cancels other things on request", scoped("a"), func(s *replay.Scope) error {
			f := s.Activity(activity("a"))
			g := s.Activity(activity("other"))
			scope, _ := s.WithCancel()
			_ = scope
			return errors.Join(await(s, g), await(s, f))
		}, []history.Event{at(1, &history.CancelRequested{})}, 5, "ActivityCancelRequested of event 3", "of event 2", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			events := live(t, c.was, c.messages...).Turn().Events
			_, err := replayed(t, c.is, events)
			found, ok := errors.AsType[*replay.NonDeterminismError](err)
			if !ok {
				t.Fatalf("%s: got %v", kinds(events), err)
			}
			if found.EventID != c.event || !strings.Contains(found.History, c.inHistory) || !strings.Contains(found.Code, c.inCode) {
				t.Errorf("%+v", found)
			}
			if hasSource := strings.Contains(found.Source, "command_test.go:"); hasSource == c.noSource || c.noSource && found.Source != "" {
				t.Errorf("source %q", found.Source)
			}
			if !strings.Contains(err.Error(), "code does not match history at event") {
				t.Errorf("message %q", err)
			}
		})
	}
}

// Whatever does not identify a command may change between releases of the code.
func TestHarmlessChangesReplay(t *testing.T) {
	t.Parallel()
	was := live(t, func(s *replay.Scope) error {
		f := s.Activity(activity("a"))
		_ = await(s, s.Child(&history.ChildStarted{Name: "c", Input: []byte("1")}))
		return await(s, f)
	})
	x, err := replayed(t, func(s *replay.Scope) error {
		f := s.Activity(&history.ActivityScheduled{
			Name: "a", Queue: "other", Input: []byte("2"), StartToClose: 5, Retry: &history.RetryPolicy{MaxAttempts: 3},
		})
		_ = await(s, s.Child(&history.ChildStarted{Name: "c", Input: []byte("2"), CodeVersion: "v2"}))
		return await(s, f)
	}, was.Turn().Events)
	if err != nil || x.View().Length() != 3 {
		t.Errorf("%v, length %d", err, x.View().Length())
	}
}

// The key of a child is made once and then read from history.
func TestChildKeyComesFromHistory(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		f := s.Child(&history.ChildStarted{Name: "c"})
		_, _ = s.Wait(s.Mailbox("box"))
		f.Cancel(failure.ErrCancelled)
		return await(s, s.Timer(1))
	}
	events := live(t, code).Turn().Events
	events[1].Body.(*history.ChildStarted).Key = [16]byte{42}
	x, err := replayed(t, code, events)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, x, at(1, received("box", "1", "")))
	fresh := x.Turn().Events
	if got := fresh[1].Body.(*history.ChildCancelRequested).Key; got != ([16]byte{42}) {
		t.Errorf("cancelled %v in %s", got, kinds(fresh))
	}
}

// Histories that no execution can have written are reported as corrupt.
func TestCorruptHistories(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error { return await(s, s.Timer(1)) }
	start := started()
	start.ID = 1
	cases := map[string][]history.Event{
		"answer to nothing": {start, {ID: 2, Body: &history.TimerCreated{Duration: 1}}, {ID: 3, Body: completed(7)}},
		"answered twice": {
			start,
			{ID: 2, Body: &history.TimerCreated{Duration: 1}},
			{ID: 3, Body: &history.TimerFired{Timer: 2}},
			{ID: 4, Body: &history.ExecutionCompleted{}},
			{ID: 5, Body: &history.TimerFired{Timer: 2}},
		},
	}
	for name, events := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := replayed(t, code, events); !errors.Is(err, history.ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func localEnded(name string) []history.Event {
	return []history.Event{at(1, &history.LocalEnded{Call: 1, Name: name, Output: []byte("1"), Attempt: 1})}
}
