package replay_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// reopen opens an execution of a program from the history of another one, and replays what is kept.
func reopen(t *rapid.T, code []statement, events []history.Event, at int64) (*replay.Execution, *machine, []history.Event) {
	b := replay.Branch{
		Origin: replay.Info{ID: "test", Key: key, Execution: 1}, New: replay.Info{ID: "test", Key: key, Execution: 2}, Event: at,
	}
	prefix := b.Prefix(events)
	x, m := run(code, new(bool))
	var err error
	if lose(func() { err = x.Replay(prefix) }) || err != nil {
		t.Fatalf("opening at event %d of %s: %v", at, kinds(events), err)
	}
	if turn := x.Turn(); len(turn.Events) != 0 {
		t.Fatalf("opening made events: %s", kinds(turn.Events))
	}
	return x, m, prefix
}

// moved returns a message for an execution whose events from one on have later numbers.
func moved(e history.Event, from, by int64) history.Event {
	move := func(id int64) int64 {
		if id >= from {
			return id + by
		}
		return id
	}
	switch b := e.Body.(type) {
	case *history.ActivityCompleted:
		c := *b
		c.Scheduled, e.Body = move(b.Scheduled), &c
	case *history.ActivityFailed:
		c := *b
		c.Scheduled, e.Body = move(b.Scheduled), &c
	case *history.TimerFired:
		e.Body = &history.TimerFired{Timer: move(b.Timer)}
	case *history.ChildCompleted:
		c := *b
		c.Started, e.Body = move(b.Started), &c
	case *history.ChildFailed:
		c := *b
		c.Started, e.Body = move(b.Started), &c
	}
	return e
}

// unseeded hides random numbers, which differ behind the point.
func unseeded(trace []string) string {
	lengths := regexp.MustCompile(`Length:\d+ Size:\d+`)
	hidden := slices.Clone(trace)
	for i, line := range hidden {
		hidden[i] = lengths.ReplaceAllString(line, "") // the ForkPoint makes the history longer
		if strings.HasPrefix(line, "rand ") && !strings.HasPrefix(line, "rand at ") {
			hidden[i] = "rand"
		}
	}
	return strings.Join(hidden, "\n")
}

// A random program that is opened at any point of its history, and gets the messages behind it again, sees the same things and ends as the
// run that was never reset.
func TestHazard57_PropertyOpenedAnywhereItEndsAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := statements(2).Draw(t, "program")
		x, m := run(code, new(bool))
		defer x.Close()
		give := func(x *replay.Execution, message history.Event) {
			var err error
			deliver := x.Deliver
			if message.More {
				deliver = x.Absorb
			}
			lost := lose(func() { _, err = deliver(message) })
			if skipDeadlock(t, err); lost || err != nil {
				t.Fatalf("delivering %+v: %v", message.Body, err)
			}
		}
		first := started()
		first.More = rapid.IntRange(0, 3).Draw(t, "more") == 0
		give(x, first)
		for n := int64(1); n < 20 && !x.View().Ended(); n++ {
			message := nextMessage(t, x, x.Turn().Events, n)
			message.More = n < 19 && rapid.IntRange(0, 3).Draw(t, "more") == 0
			give(x, message)
		}
		if lose(func() { _ = x.Continue(0) }) {
			t.Fatal("the code was lost")
		}
		want := x.Turn().Events
		points := 0
		for at := int64(1); at <= int64(len(want))+1; at++ {
			if before, _ := replay.Points(want, at); before != at {
				continue
			}
			points++
			again, seen, prefix := reopen(t, code, want, at)
			if kept := len(seen.trace); kept > len(m.trace) || !slices.Equal(seen.trace, m.trace[:kept]) {
				t.Fatalf("opened at event %d, the code saw\n%s\nand not\n%s", at, strings.Join(seen.trace, "\n"), strings.Join(m.trace, "\n"))
			}
			by := int64(1)                // the ForkPoint
			if at == 1 && !want[0].More { // the code ran before anything else came
				by++
				if lose(func() { _ = again.Continue(0) }) {
					t.Fatal("the code was lost")
				}
			}
			for _, e := range want[max(at, 2)-1:] {
				if e.Body.Kind().IsMessage() && !again.View().Ended() {
					give(again, moved(e, max(at, 2), by))
				}
			}
			if lose(func() { _ = again.Continue(0) }) {
				t.Fatal("the code was lost")
			}
			if a, b := unseeded(m.trace), unseeded(seen.trace); a != b {
				t.Fatalf("opened at event %d of %s, the code saw\n%s\nand not\n%s", at, kinds(want), b, a)
			}
			if again.View().Ended() != x.View().Ended() {
				t.Fatalf("opened at event %d: ended %v", at, again.View().Ended())
			}
			if diff := cmp.Diff(x.View().State(), again.View().State()); diff != "" {
				t.Fatalf("opened at event %d, the code shows something else:\n%s", at, diff)
			}
			all := append(slices.Clone(prefix), again.Turn().Events...)
			once, repeated := run(code, new(bool))
			var err error
			if lose(func() { err = once.Replay(all) }) || err != nil {
				t.Fatalf("replaying what was opened at event %d, %s: %v", at, kinds(all), err)
			}
			if !slices.Equal(repeated.trace, seen.trace) {
				t.Fatalf("replayed, the code saw\n%s\nand not\n%s", strings.Join(repeated.trace, "\n"), strings.Join(seen.trace, "\n"))
			}
			again.Close()
			once.Close()
		}
		if points == 0 {
			t.Fatal("no point")
		}
	})
}
