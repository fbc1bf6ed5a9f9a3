package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// skipDeadlock skips a program whose coroutines wait for each other.
func skipDeadlock(t *rapid.T, err error) {
	if _, ok := errors.AsType[*replay.DeadlockError](err); ok {
		t.Skip("the program waits for itself")
	}
}

// run makes an execution of a program, on a node that has a newer version of it while deployed is true. The caller closes it.
func run(code []statement, deployed *bool) (*replay.Execution, *machine) {
	m, env := &machine{}, newEnv()
	env.Newest = func(string, string) string { return "2" }
	env.MayNote = func() bool { return *deployed }
	return newExecutionIn(env, func(s *replay.Scope) error {
		s.HandleQuery("trace", func([]byte) ([]byte, error) {
			s.Now()
			s.Info()
			s.Facts()
			_ = s.Err()
			return []byte(strings.Join(m.trace, "\n")), nil
		})
		s.HandleQuery("spoil", func([]byte) ([]byte, error) {
			s.Timer(1)
			return nil, nil
		})
		return m.run(s, code)
	}), m
}

// ask asks an execution for what its code has seen.
func ask(t *rapid.T, x *replay.Execution, name string) replay.Query {
	q := replay.Query{Name: name}
	if lost := lose(func() { x.Ask(&q) }); lost != (name == "spoil") || lost != q.Spoiled {
		t.Fatalf("query %s: ended its goroutine %v, spoiled %v", name, lost, q.Spoiled)
	}
	return q
}

// nextMessage draws the next message: mostly the outcome of a pending operation, sometimes an
// event, a late outcome or a cancellation.
func nextMessage(t *rapid.T, x *replay.Execution, events []history.Event, n int64) history.Event {
	pending := x.Pending()
	slices.Sort(pending)
	what := rapid.SampledFrom([]string{"answer", "answer", "answer", "event", "event", "update", "fail", "late", "repeat", "cancel"}).Draw(t, "message")
	second := n + int64(rapid.IntRange(-2, 1).Draw(t, "clock"))
	if what == "cancel" && rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		what = "event"
	}
	switch what {
	case "event":
		name := rapid.SampledFrom([]string{"box", "event"}).Draw(t, "name")
		box := rapid.IntRange(0, 3).Draw(t, "box")
		event := received(fmt.Sprint(name, box), fmt.Sprint(n), fmt.Sprint("request", n))
		event.(*history.EventReceived).Header = make([]byte, rapid.IntRange(0, 100).Draw(t, "header"))
		return at(second, event)
	case "update":
		name := fmt.Sprint("update", rapid.IntRange(0, 3).Draw(t, "update"))
		return at(second, &history.UpdateReceived{Name: name, ID: fmt.Sprint("u", n-int64(rapid.IntRange(0, 1).Draw(t, "again"))), Input: fmt.Append(nil, n)})
	case "repeat":
		return at(second, received("box0", "again", fmt.Sprint("request", rapid.Int64Range(0, n).Draw(t, "request"))))
	case "cancel":
		return at(second, &history.CancelRequested{Reason: "drawn"})
	case "late":
		return at(second, completed(rapid.Int64Range(1, max(1, x.View().Length())).Draw(t, "answered")))
	}
	if locals := x.View().Locals(); len(locals) > 0 && (len(pending) == 0 || rapid.Bool().Draw(t, "local")) {
		return at(second, localAnswer(what, rapid.SampledFrom(locals).Draw(t, "call").Call, n))
	}
	if len(pending) == 0 {
		return at(second, received("box0", fmt.Sprint(n), ""))
	}
	id := rapid.SampledFrom(pending).Draw(t, "pending")
	f := (*failure.Set)(nil).Encode(fmt.Errorf("failure %d", n))
	switch events[id-1].Body.(type) {
	case *history.TimerCreated:
		return at(second, &history.TimerFired{Timer: id})
	case *history.ChildStarted:
		if what == "fail" {
			return at(second, &history.ChildFailed{Started: id, Failure: f})
		}
		return at(second, &history.ChildCompleted{Started: id, Output: fmt.Append(nil, n)})
	default:
		if what == "fail" {
			return at(second, &history.ActivityFailed{Scheduled: id, Failure: f})
		}
		return at(second, &history.ActivityCompleted{Scheduled: id, Output: fmt.Append(nil, n)})
	}
}

// localAnswer ends a local activity or queues it.
func localAnswer(what string, call *history.ActivityScheduled, n int64) history.Body {
	switch {
	case what == "fail":
		return &history.LocalEnded{Call: call.Local, Name: call.Name, Failure: new((*failure.Set)(nil).Encode(fmt.Errorf("failure %d", n)))}
	case n%3 == 0:
		return &history.LocalQueued{Call: call.Local, Name: call.Name, Attempts: n, Delay: n}
	default:
		return &history.LocalEnded{Call: call.Local, Name: call.Name, Output: fmt.Append(nil, n), Attempt: n}
	}
}

// reheaded returns events with headers of another length: none, as they were, or longer ones.
func reheaded(events []history.Event, times int) []history.Event {
	changed := slices.Clone(events)
	for i, e := range events {
		if b, ok := e.Body.(*history.EventReceived); ok {
			other := *b
			other.Header = bytes.Repeat(b.Header, times)
			changed[i].Body = &other
		}
	}
	return changed
}

// A random program with random messages makes the same events and sees the same things when it is rebuilt from its
// history after any message. Only messages that became events are delivered again, as in a store. After some of them more follow before
// the code runs. Headers change nothing of it (hazard 63).
func TestPropertyReplayIsTheLiveRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := statements(2).Draw(t, "program")
		deploy, deployed := rapid.IntRange(0, 25).Draw(t, "deploy"), false // before this message a newer version comes
		x, m := run(code, &deployed)
		defer x.Close()
		feed := func(x *replay.Execution, message history.Event) (applied bool) {
			var err error
			deliver := x.Deliver
			if message.More {
				deliver = x.Absorb
			}
			lost := lose(func() { applied, err = deliver(message) })
			skipDeadlock(t, err)
			if lost || err != nil {
				t.Fatalf("delivering %+v: %v", message.Body, err)
			}
			ask(t, x, "trace")
			return applied
		}
		messages := []history.Event{started()}
		deployed = deploy == 0
		feed(x, messages[0])
		var ends []int // length of the history after each message
		for n := int64(1); n < 25 && !x.View().Ended(); n++ {
			ends = append(ends, int(x.View().Length()))
			deployed = int(n) >= deploy
			message := nextMessage(t, x, x.Turn().Events, n)
			message.More = n < 24 && rapid.IntRange(0, 3).Draw(t, "more") == 0
			for !feed(x, message) && !x.View().Ended() {
				message = at(n, received("box1", fmt.Sprint(n), ""))
			}
			messages = append(messages, message)
		}
		want := x.Turn().Events

		for after, length := range append(ends, len(want)) {
			deployed = !deployed // a replay must not ask the node
			again, seen := run(code, &deployed)
			var err error
			if lose(func() { err = again.Replay(reheaded(want[:length], after%3)) }) || err != nil {
				t.Fatalf("replaying %d events of %s: %v", length, kinds(want), err)
			}
			if turn := again.Turn(); len(turn.Events)+len(turn.Updates) != 0 || turn.State != nil {
				t.Fatalf("replaying made events: %s, and state: %+v", kinds(turn.Events), turn.State)
			}
			for i := min(after+1, len(messages)); i < len(messages); i++ {
				deployed = i >= deploy
				feed(again, messages[i])
			}
			sameEvents(t, want, append(slices.Clone(want[:length]), again.Turn().Events...))
			if a, b := strings.Join(m.trace, "\n"), strings.Join(seen.trace, "\n"); a != b {
				t.Fatalf("rebuilt after %d messages, the code saw\n%s\nand not\n%s", after+1, b, a)
			}
			if diff := cmp.Diff(x.View().State(), again.View().State()); diff != "" {
				t.Fatalf("rebuilt after %d messages, the code shows something else:\n%s", after+1, diff)
			}
			if q := ask(t, again, "trace"); string(q.Answer.Output) != strings.Join(m.trace, "\n") {
				t.Fatalf("rebuilt, it answers %+v", q.Answer)
			}
			if q := ask(t, again, "spoil"); q.Answer.Outcome != history.AnswerRefused || again.View().Fault() != nil {
				t.Fatalf("a handler that does more than read: %+v, fault %v", q.Answer, again.View().Fault())
			}
			if again.View().Ended() != x.View().Ended() || again.View().Length() != x.View().Length() {
				t.Fatalf("ended %v with %d events, want %v, %d", again.View().Ended(), again.View().Length(), x.View().Ended(), x.View().Length())
			}
			again.Close()
		}
	})
}
