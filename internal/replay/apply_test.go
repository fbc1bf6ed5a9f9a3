package replay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// A message that code does not wait for, or that repeats a request, leaves no event.
func TestDroppedMessages(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		s.Activity(activity("a"))
		s.Timer(time.Hour).Cancel(failure.ErrCancelled)
		s.Child(&history.ChildStarted{Name: "c"})
		_, _ = s.Detached().Wait(s.Mailbox("end"))
		return nil
	}
	x := live(t, code, at(1, completed(2)), at(1, received("box", "", "r1")), at(1, &history.CancelRequested{RequestID: "r2"}))
	before := x.View().Length()
	for _, late := range []history.Body{
		completed(2), completed(99), &history.ActivityFailed{Scheduled: 2}, &history.TimerFired{Timer: 3}, &history.TimerFired{Timer: 99},
		&history.ChildCompleted{Started: 2}, &history.ChildFailed{Started: 99}, received("box", "", "r1"), received("box", "", "r2"),
		&history.CancelRequested{RequestID: "r1"}, &history.CancelRequested{RequestID: "r3"}, &history.ExecutionOpened{}, started().Body,
	} {
		deliver(t, x, at(2, late))
		if x.View().Length() != before {
			t.Fatalf("%+v became an event", late)
		}
	}
	deliver(t, x, at(3, received("box", "", "")), at(3, received("box", "", "")))
	if x.View().Length() != before+2 {
		t.Error("events without a request ID are no repeats")
	}
}

// An ended execution applies no message.
func TestEndedExecutionTakesNothing(t *testing.T) {
	t.Parallel()
	x := live(t, func(*replay.Scope) error { return nil })
	deliver(t, x, at(1, received("box", "", "")), at(1, &history.CancelRequested{}))
	if got := kinds(x.Turn().Events); got != "ExecutionStarted ExecutionCompleted" || !x.View().Ended() {
		t.Errorf("got %s", got)
	}
}

// Messages before the start are kept for the code.
func TestMessagesBeforeTheStart(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		if err := s.Err(); !errors.Is(err, failure.ErrCancelled) {
			return fmt.Errorf("scope: %w", err)
		}
		if payload, ok := s.Mailbox("box").Take(); !ok || string(payload) != "1" {
			return fmt.Errorf("took %q, %v", payload, ok)
		}
		return nil
	}
	x := newExecution(code)
	t.Cleanup(x.Close)
	deliver(t, x, at(0, received("box", "1", "")), at(0, &history.CancelRequested{}), started())
	if end := x.Turn().End; end == nil || end.Failure != nil {
		t.Errorf("%+v", end)
	}
	if _, err := replayed(t, code, x.Turn().Events); err != nil {
		t.Error(err)
	}
}

// continues reads n events and continues as new.
func continues(n int) func(s *replay.Scope) replay.Result {
	return func(s *replay.Scope) replay.Result {
		for range n {
			if _, err := s.Wait(s.Mailbox("box")); err != nil {
				break
			}
			s.Mailbox("box").Take()
		}
		return replay.Result{Continue: &history.ContinuedAsNew{Input: []byte("2")}}
	}
}

func continued(t *testing.T, n int, messages ...history.Event) *replay.End {
	t.Helper()
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test", CodeVersion: "v"}, continues(n))
	t.Cleanup(x.Close)
	first := started()
	body := first.Body.(*history.ExecutionStarted)
	body.Parent, body.RequestID, body.CodeVersion, body.HasListener = history.Parent{ID: "parent", EventID: 7}, "start", "v", true
	deliver(t, x, append([]history.Event{first}, messages...)...)
	end := x.Turn().End
	if end == nil || end.Next == nil {
		t.Fatalf("%+v", end)
	}
	return end
}

// The next execution starts with the received events that were not read, in order. It knows
// the consumed request IDs, and that somebody is told of the end.
func TestSuccessor(t *testing.T) {
	t.Parallel()
	end := continued(t, 1, at(1, received("other", "1", "a")), at(2, received("more", "2", "b")), at(3, received("other", "3", "")),
		at(4, received("box", "4", "c")))
	want := []history.Event{
		{Body: &history.ExecutionStarted{
			Name: "test", CodeVersion: "v", Input: []byte("2"), Settings: replay.SettingsAt(replay.EngineLevel), Continued: true,
			Parent: history.Parent{ID: "parent", EventID: 7}, RequestID: "start", Seen: [][]byte{[]byte("c")}, HasListener: true,
		}},
		{Body: received("other", "1", "a")},
		{Body: received("more", "2", "b")},
		{Body: received("other", "3", "")},
	}
	for i := range want {
		want[i].ID, want[i].At = int64(i)+1, 4_001_000
	}
	if diff := cmp.Diff(want, end.Next); diff != "" {
		t.Error(diff)
	}

	next := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 2, Name: "test"}, func(s *replay.Scope) replay.Result {
		var got []string
		for {
			payload, ok := s.Mailbox("other").Take()
			if !ok {
				return replay.Result{Output: []byte(strings.Join(got, ","))}
			}
			got = append(got, string(payload))
		}
	})
	t.Cleanup(next.Close)
	if lose(func() {
		if err := next.Replay(end.Next); err != nil {
			t.Error(err)
		}
	}) {
		t.Error("lost")
	}
	deliver(t, next, at(5, received("other", "again", "a")), at(5, received("other", "again", "c")), at(6, &history.ExecutionOpened{}))
	if out := string(next.Turn().End.Output); out != "1,3" {
		t.Errorf("the next execution read %q", out)
	}
}

// A cancellation is carried over in its place among the events.
func TestSuccessorOfACancelledExecution(t *testing.T) {
	t.Parallel()
	end := continued(t, 1, at(1, received("other", "1", "a")), at(2, &history.CancelRequested{Reason: "r", RequestID: "c"}))
	if got := kinds(end.Next); got != "ExecutionStarted EventReceived CancelRequested" {
		t.Errorf("got %s", got)
	}
	if seen := end.Next[0].Body.(*history.ExecutionStarted).Seen; len(seen) != 0 {
		t.Errorf("carried messages are remembered when they are applied, not before: %s", seen)
	}
}

// The oldest request IDs are forgotten at the limit, and when they would not fit.
func TestRememberedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	for name, pad := range map[string]int{"by number": 0, "by size": 500} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := func(i int) string { return fmt.Sprint(strings.Repeat("x", pad), i) }
			var messages []history.Event
			for i := range replay.MaxSeen + 10 {
				messages = append(messages, at(1, received("box", "", id(i))))
			}
			end := continued(t, len(messages), messages...)
			start := end.Next[0].Body.(*history.ExecutionStarted)
			size := len(history.Encode(nil, end.Next[0]))
			switch last := string(start.Seen[len(start.Seen)-1]); {
			case last != id(replay.MaxSeen+9):
				t.Errorf("the last is %s", last)
			case size > 2<<20+64<<10:
				t.Errorf("the start event has %d bytes", size)
			case pad == 0 && len(start.Seen) != replay.MaxSeen:
				t.Errorf("%d are remembered", len(start.Seen))
			case pad > 0 && size < 2<<20:
				t.Errorf("only %d bytes are used", size)
			}
		})
	}
}
