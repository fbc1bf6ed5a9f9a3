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

// always replays what an execution has recorded after each of its messages, with the same code, and returns all events.
func always(t *testing.T, x *replay.Execution, code program) []history.Event {
	t.Helper()
	events := x.Turn().Events
	for n := 1; n <= len(events); n++ {
		if n < len(events) && !events[n].Body.Kind().IsMessage() {
			continue
		}
		again, err := replayed(t, code, events[:n])
		if err != nil {
			t.Fatalf("replaying %s: %v", kinds(events[:n]), err)
		}
		if n == len(events) && again.View().Ended() != x.View().Ended() {
			t.Fatalf("replaying %s: ended %v", kinds(events), again.View().Ended())
		}
	}
	return events
}

// sleeper is the body of a handler that notes its event and then sleeps.
func sleeper(seen *[]string) func(s *replay.Scope, payload []byte) error {
	return func(s *replay.Scope, payload []byte) error {
		*seen = append(*seen, string(payload))
		return await(s, s.Timer(time.Hour))
	}
}

// Each event begins a run, those that waited first. Runs overlap where they wait.
func TestEventsBeginRunsInTheirOrder(t *testing.T) {
	t.Parallel()
	var seen []string
	code := func(s *replay.Scope) error {
		seen = nil
		if err := await(s, s.Timer(time.Second)); err != nil {
			return err
		}
		s.HandleEvent("add", false, sleeper(&seen))
		_, err := s.Wait(s.Mailbox("stop"))
		return err
	}
	x := live(t, code, at(1, received("add", "1", "")), at(2, received("add", "2", "")), at(3, &history.TimerFired{Timer: 2}),
		at(4, received("other", "x", "")), at(5, received("add", "3", "")))
	if got := strings.Join(seen, ""); got != "123" {
		t.Errorf("handled %s", got)
	}
	always(t, x, code)
	if got := strings.Join(seen, ""); got != "123" {
		t.Errorf("replay handled %s", got)
	}
}

// Events that waited for a handler are handled before the main function takes a later one or returns. Its steps before
// its first wait come first.
func TestEventsThatWaitedGoFirst(t *testing.T) {
	t.Parallel()
	var seen []string
	for name, next := range map[string]func(s *replay.Scope){
		"waits":   func(s *replay.Scope) { _, _ = s.Wait(s.Mailbox("stop")) },
		"takes":   func(s *replay.Scope) { s.Mailbox("stop").Take() },
		"returns": func(*replay.Scope) {},
	} {
		code := func(s *replay.Scope) error {
			seen = nil
			if err := await(s, s.Timer(time.Second)); err != nil {
				return err
			}
			s.HandleEvent("add", false, func(_ *replay.Scope, payload []byte) error {
				seen = append(seen, string(payload))
				return nil
			})
			seen = append(seen, "set")
			next(s)
			if name != "returns" {
				seen = append(seen, "next")
			}
			return nil
		}
		x := live(t, code, at(1, received("add", "1", "")), at(2, received("stop", "", "")), at(3, &history.TimerFired{Timer: 2}))
		if got := strings.TrimSuffix(strings.Join(seen, " "), " next"); got != "set 1" || !x.View().Ended() {
			t.Errorf("%s: %s", name, got)
		}
		const want = "ExecutionStarted TimerCreated EventReceived EventReceived TimerFired ExecutionCompleted"
		if got := kinds(always(t, x, code)); got != want {
			t.Errorf("%s: events %s", name, got)
		}
	}
}

// A name has one handler or a mailbox. The turn fails otherwise.
func TestAnEventNameHasOneReader(t *testing.T) {
	t.Parallel()
	handle := func(s *replay.Scope) { s.HandleEvent("add", false, sleeper(new([]string))) }
	read := func(s *replay.Scope) { s.Mailbox("add") }
	for name, steps := range map[string][]func(*replay.Scope){
		"two handlers": {handle, handle}, "mailbox first": {read, handle}, "handler first": {handle, read},
	} {
		x := newExecution(func(s *replay.Scope) error {
			for _, step := range steps {
				step(s)
			}
			return nil
		})
		_, err := x.Deliver(started())
		x.Close()
		if err == nil || !strings.Contains(err.Error(), `"add"`) || !strings.Contains(err.Error(), "handle_test.go") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// While handlers go on, the end of the main function is a record: a replay with code that returns something else ends as
// it says.
func TestHazard52_TheOutcomeIsRecordedWhileHandlersGoOn(t *testing.T) {
	t.Parallel()
	outcome := errors.New("first")
	code := func(s *replay.Scope) error {
		s.HandleEvent("add", false, sleeper(new([]string)))
		if _, err := s.Wait(s.Mailbox("stop")); err != nil {
			return err
		}
		return outcome
	}
	x := live(t, code, at(1, received("add", "1", "")), at(2, received("stop", "", "")))
	if x.View().Ended() {
		t.Fatal("it ended before its handler")
	}
	stored := x.Turn().Events
	outcome = nil
	again, err := replayed(t, code, stored)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, again, at(3600, &history.TimerFired{Timer: 3}))
	turn := again.Turn()
	if turn.End == nil || turn.End.Failure == nil || turn.End.Failure.Message != "first" {
		t.Errorf("it ended as %+v after %s", turn.End, kinds(turn.Events))
	}
	const want = "TimerFired ExecutionFailed"
	if got := kinds(turn.Events); got != want {
		t.Errorf("events %s", got)
	}
}

// The coroutines of the main function end with it, also in detached scopes, and what they have open is given up.
func TestHazard52_OnlyHandlersGoOn(t *testing.T) {
	t.Parallel()
	steps := 0
	code := func(s *replay.Scope) error {
		s.HandleEvent("add", false, sleeper(new([]string)))
		s.Activity(activity("of main"))
		waited := activity("waited for")
		waited.Cancellation = history.CancelWait
		s.Activity(waited)
		s.Local(activity("local"))
		s.Detached().Child(&history.ChildStarted{Name: "child"})
		s.Go(func(s *replay.Scope) error {
			s = s.Detached()
			for {
				err := await(s, s.Timer(time.Minute))
				steps++
				if err != nil {
					return err
				}
			}
		})
		_, err := s.Wait(s.Mailbox("stop"))
		return err
	}
	x := live(t, code, at(1, received("add", "1", "")), at(2, received("stop", "", "")))
	const want = "ExecutionStarted ActivityScheduled ActivityScheduled ChildStarted TimerCreated EventReceived TimerCreated EventReceived MainReturned " +
		"ActivityCancelRequested ActivityCancelRequested ChildCancelRequested TimerCancelled TimerCreated"
	if got := kinds(x.Turn().Events); got != want {
		t.Errorf("events %s", got)
	}
	if n := len(x.View().Locals()); n != 0 {
		t.Errorf("%d local activities are open", n)
	}
	if n := x.View().Activities(); n != 0 {
		t.Errorf("%d activities are awaited", n)
	}
	deliver(t, x, at(62, &history.TimerFired{Timer: 5}), at(63, completed(3)))
	if steps != 0 {
		t.Errorf("a coroutine of the main function continued %d times", steps)
	}
	events := always(t, x, code)
	if got := kinds(events); got != want {
		t.Errorf("then %s", got)
	}
}

// Without handlers that go on, nothing is recorded. Neither is it in executions that began before.
func TestHazard52_WithoutRunningHandlersNothingChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level   int64
		abandon bool
		event   string
	}{
		"not running": {replay.EngineLevel, false, "other"},
		"abandoned":   {replay.EngineLevel, true, "add"},
		"older":       {replay.LevelOfTogether, false, "add"},
	} {
		code := func(s *replay.Scope) error {
			s.HandleEvent("add", c.abandon, func(s *replay.Scope, _ []byte) error {
				_, err := s.Wait(s.Mailbox("never"))
				return err
			})
			_, err := s.Wait(s.Mailbox("stop"))
			return err
		}
		x := newExecution(code)
		t.Cleanup(x.Close)
		start := started()
		start.Body.(*history.ExecutionStarted).Settings = replay.SettingsAt(c.level)
		deliver(t, x, start, at(1, received(c.event, "1", "")), at(2, received("stop", "", "")))
		const want = "ExecutionStarted EventReceived EventReceived ExecutionCompleted"
		if got := kinds(always(t, x, code)); got != want {
			t.Errorf("%s: events %s", name, got)
		}
		if failed := x.Turn().Failed; failed != 0 && name != "older" {
			t.Errorf("%s: %d handlers failed", name, failed)
		}
	}
}

// Events that come when the main function has continued as new go into the next execution, once and in order. Earlier
// ones that were not read go along.
func TestHazard52_LateEventsAreCarriedOnce(t *testing.T) {
	t.Parallel()
	run := func(s *replay.Scope) replay.Result {
		s.HandleEvent("add", false, sleeper(new([]string)))
		_, _ = s.Wait(s.Mailbox("stop"))
		return replay.Result{Continue: &history.ContinuedAsNew{Input: []byte("2")}}
	}
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, run)
	t.Cleanup(x.Close)
	deliver(t, x, started(), at(1, received("add", "1", "a")), at(2, received("early", "1", "b")), at(3, received("stop", "", "c")),
		at(4, received("add", "2", "d")), at(5, received("late", "3", "e")), at(5, received("late", "3", "e")))
	if x.View().Ended() {
		t.Fatal("it ended before its handler")
	}
	deliver(t, x, at(3600, &history.TimerFired{Timer: 3}))
	next := x.Turn().End.Next
	const want = "ExecutionStarted EventReceived EventReceived EventReceived EventReceived"
	if got := kinds(next); got != want {
		t.Fatalf("the next execution begins with %s", got)
	}
	var names []string
	for _, e := range next[1:] {
		names = append(names, e.Body.(*history.EventReceived).Name)
	}
	if got := strings.Join(names, " "); got != "early stop add late" {
		t.Errorf("it takes over %s", got)
	}
	if seen := next[0].Body.(*history.ExecutionStarted).Seen; len(seen) != 1 || string(seen[0]) != "a" {
		t.Errorf("it knows %s", seen)
	}
}

// Handlers that wait for nothing that could come are cancelled at once, may clean up, and are abandoned.
func TestHazard53_HandlersThatWaitForNothingEndAtOnce(t *testing.T) {
	t.Parallel()
	var ended []error
	code := func(s *replay.Scope) error {
		ended = nil
		never := s.Mailbox("never")
		s.HandleEvent("add", false, func(s *replay.Scope, payload []byte) error {
			_, err := s.Wait(never)
			ended = append(ended, err)
			if string(payload) == "cleans up" {
				err = await(s.Detached(), s.Detached().Activity(activity("clean up")))
				ended = append(ended, err)
			}
			return err
		})
		_, err := s.Wait(s.Mailbox("stop"))
		return err
	}
	x := live(t, code, at(1, received("add", "", "")), at(2, received("add", "cleans up", "")), at(3, received("stop", "", "")))
	if x.View().Ended() || len(ended) != 2 || !errors.Is(ended[0], failure.ErrCancelled) {
		t.Fatalf("ended %v, after %v", x.View().Ended(), ended)
	}
	deliver(t, x, at(4, completed(6)))
	const want = "ExecutionStarted EventReceived EventReceived EventReceived MainReturned ActivityScheduled TimerCreated ActivityCompleted ExecutionCompleted"
	if got := kinds(always(t, x, code)); got != want || len(ended) != 3 {
		t.Errorf("events %s, handlers ended with %v", got, ended)
	}
}

// After the grace the handlers are cancelled, and a minute later the execution ends without them.
func TestHazard53_TheGraceEndsTheClosing(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		s.SetHandlerGrace(time.Hour)
		s.HandleEvent("add", false, func(s *replay.Scope, _ []byte) error {
			for {
				_ = await(s.Detached(), s.Detached().Timer(24*time.Hour))
			}
		})
		_, err := s.Wait(s.Mailbox("stop"))
		return err
	}
	x := live(t, code, at(1, received("add", "", "")), at(2, received("stop", "", "")))
	durations := func() (got []time.Duration) {
		for _, e := range x.Turn().Events {
			if b, ok := e.Body.(*history.TimerCreated); ok {
				got = append(got, time.Duration(b.Duration)*time.Microsecond)
			}
		}
		return got
	}
	deliver(t, x, at(3602, &history.TimerFired{Timer: 6}))
	if x.View().Ended() {
		t.Fatal("it ended with the grace")
	}
	deliver(t, x, at(3662, &history.TimerFired{Timer: 8}))
	if !x.View().Ended() {
		t.Errorf("it goes on after %s", kinds(x.Turn().Events))
	}
	if got := durations(); !slices.Equal(got, []time.Duration{24 * time.Hour, time.Hour, time.Minute}) {
		t.Errorf("timers of %v", got)
	}
	always(t, x, code)
}

// From the return of the main function on, nothing new is accepted: events begin no run and wake no handler.
func TestHazard53_NothingNewIsAccepted(t *testing.T) {
	t.Parallel()
	var seen []string
	code := func(s *replay.Scope) error {
		seen = nil
		more := s.Mailbox("more")
		s.HandleEvent("add", false, func(s *replay.Scope, payload []byte) error {
			seen = append(seen, string(payload))
			timer := s.Timer(time.Minute)
			n, err := s.Wait(more, timer)
			seen = append(seen, fmt.Sprint(n))
			return err
		})
		_, err := s.Wait(s.Mailbox("stop"))
		return err
	}
	x := live(t, code, at(1, received("add", "1", "")), at(2, received("stop", "", "")), at(3, received("add", "2", "")),
		at(4, received("more", "3", "")), at(61, &history.TimerFired{Timer: 3}))
	if got := strings.Join(seen, " "); !x.View().Ended() || got != "1 1" {
		t.Errorf("ended %v, saw %s", x.View().Ended(), got)
	}
	left := x.View().Leftovers()
	if left == nil || strings.Join(left.Unread, " ") != "stop add more" {
		t.Errorf("left %+v", left)
	}
	always(t, x, code)
}

// A flood of late events that the next execution could not take over ends the closing.
func TestHazard53_AFloodEndsTheClosing(t *testing.T) {
	t.Parallel()
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(s *replay.Scope) replay.Result {
		s.HandleEvent("add", false, sleeper(new([]string)))
		_, _ = s.Wait(s.Mailbox("stop"))
		return replay.Result{Continue: &history.ContinuedAsNew{}}
	})
	t.Cleanup(x.Close)
	deliver(t, x, started(), at(1, received("add", "1", "")), at(2, received("stop", "", "")))
	for n := range replay.MaxUnread {
		if x.View().Ended() {
			t.Fatalf("it ended after %d events", n)
		}
		if _, err := x.Absorb(at(3, received("late", "", ""))); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Continue(4); err != nil || !x.View().Ended() {
		t.Errorf("ended %v: %v", x.View().Ended(), err)
	}
}

// A cancel request reaches handlers, also those that begin after it and those that go on after the main function.
func TestCancellationReachesHandlers(t *testing.T) {
	t.Parallel()
	var ended []string
	code := func(s *replay.Scope) error {
		ended = nil
		s.HandleEvent("add", false, func(s *replay.Scope, payload []byte) error {
			err := await(s, s.Timer(time.Hour))
			ended = append(ended, fmt.Sprint(string(payload), errors.Is(err, failure.ErrCancelled)))
			return err
		})
		_, err := s.Detached().Wait(s.Mailbox("stop"))
		return err
	}
	cancel := at(3, &history.CancelRequested{Reason: "enough"})
	for name, messages := range map[string][]history.Event{
		"before its end": {at(1, received("add", "1", "")), cancel, at(4, received("add", "2", "")), at(5, received("stop", "", ""))},
		"after its end":  {at(1, received("add", "1", "")), at(1, received("add", "2", "")), at(2, received("stop", "", "")), cancel},
	} {
		x := live(t, code, messages...)
		if got := strings.Join(ended, " "); !x.View().Ended() || got != "1true 2true" {
			t.Errorf("%s: ended %v, handlers %s", name, x.View().Ended(), got)
		}
		always(t, x, code)
	}
}

// A thousand runs go on at a time. Later events begin theirs as runs end, in order.
func TestRunsOfEventsAreBounded(t *testing.T) {
	t.Parallel()
	var began []string
	code := func(s *replay.Scope) error {
		began = nil
		handle := func(s *replay.Scope, payload []byte) error {
			began = append(began, string(payload))
			if n := len(began); n > 1 {
				return await(s, s.Timer(time.Hour))
			}
			_, err := s.Wait(s.Mailbox("first"))
			return err
		}
		s.HandleEvent("a", false, handle)
		s.HandleEvent("b", false, handle)
		_, err := s.Wait(s.Mailbox("stop"))
		return err
	}
	x := live(t, code)
	for n := range 1003 {
		deliver(t, x, at(1, received([]string{"a", "b"}[n%2], fmt.Sprint(n), "")))
	}
	if len(began) != 1000 {
		t.Errorf("%d runs began", len(began))
	}
	deliver(t, x, at(2, received("first", "", "")))
	if len(began) != 1001 || began[1000] != "1000" {
		t.Errorf("then %v", began[999:])
	}
	var open int64
	for _, e := range x.Turn().Events {
		if e.Body.Kind() == history.KindTimerCreated {
			open = e.ID
		}
	}
	deliver(t, x, at(3, &history.TimerFired{Timer: open}))
	if len(began) != 1002 || began[1001] != "1001" {
		t.Errorf("then %v", began[999:])
	}
	if _, err := replayed(t, code, x.Turn().Events); err != nil || len(began) != 1002 {
		t.Errorf("%d runs on replay: %v", len(began), err)
	}
}
