package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// noAnchors is for stores that nobody traces.
type noAnchors struct{}

func (noAnchors) Start(*replay.Execution, *history.ExecutionStarted) {}
func (noAnchors) Message(*replay.Execution, *history.Event)          {}
func (noAnchors) Keep(*replay.Execution)                             {}

// inbox makes messages with the IDs 1, 2, and so on, which become visible at these times.
func inbox(bodies ...history.Body) (messages []provider.Message) {
	for i, b := range bodies {
		m := engine.Message(b, 0, 0)
		messages = append(messages, provider.Message{ID: int64(i + 1), Kind: m.Kind, Payload: m.Payload, VisibleAt: provider.Time(i + 1)})
	}
	return messages
}

func event(n int) history.Body {
	return &history.EventReceived{Name: "box", Payload: fmt.Append(nil, n)}
}

// collecting receives events until the given one, fails at 13, and handles updates.
func collecting(until string) func(s *replay.Scope) replay.Result {
	return func(s *replay.Scope) replay.Result {
		s.HandleUpdate("u", replay.UpdateHandler{
			Check: func(string, []byte) error { return nil }, Run: func(*replay.Scope, string, []byte) ([]byte, error) { return []byte("1"), nil },
		})
		box := s.Mailbox("box")
		for {
			if _, err := s.Wait(box); err != nil {
				return replay.Result{}
			}
			switch got, _ := box.Take(); string(got) {
			case "13":
				panic("thirteen")
			case until:
				return replay.Result{Output: []byte("1")}
			}
		}
	}
}

func fetched(messages []provider.Message) engine.Fetched {
	none, _ := engine.ReadOutcomes(nil)
	return engine.Fetched{Execution: 1, Messages: messages, Now: 100, Outcomes: none, Anchors: noAnchors{}}
}

// An execution gets the messages of a fetch in their order. What it cannot use counts as handled; what came behind its end and may serve
// others stays in the inbox.
func TestIntake(t *testing.T) {
	t.Parallel()
	update := &history.UpdateReceived{Name: "u", ID: "mine"}
	state := history.UpdateState{ID: "mine", Name: "u", Outcome: history.UpdateDone, Ended: 5}
	known, err := engine.ReadOutcomes([]provider.KeyValue{{Key: history.UpdateKey("mine"), Value: history.EncodeUpdateState(state)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		messages []provider.Message
		change   func(f *engine.Fetched)
		until    string
		want     string
	}{
		{"all", inbox(event(1), event(2)), nil, "9", "handled [1 2], dropped [0 0 0 0], ended false, all true"},
		{"others wait", inbox(event(1)), func(f *engine.Fetched) { f.More = true }, "9", "handled [1], dropped [0 0 0 0], ended false, all false"},
		{"for an earlier execution", inbox(event(1), event(2)), func(f *engine.Fetched) {
			f.Execution, f.Messages[0].Execution = 2, 1
		}, "9", "handled [1 2], dropped [1 0 0 0], ended false, all true"},
		{"a timer that nobody has set", inbox(&history.TimerFired{Timer: 77}), nil, "9", "handled [1], dropped [0 0 1 0], ended false, all true"},
		{"an update", inbox(update), nil, "9", "handled [1], dropped [0 0 0 0], ended false, all true"},
		{"a repeated update", inbox(update), func(f *engine.Fetched) { f.Outcomes = known }, "9", "handled [1], dropped [0 1 0 0], ended false, all true"},
		// The code runs before the update, and ends.
		{"behind the end", inbox(event(1), update, event(2), &history.TimerFired{Timer: 77}), nil, "1", "handled [1 2 4], dropped [0 0 0 2], ended true, all false"},
		{"an update behind the end, done before", inbox(event(1), update, update), func(f *engine.Fetched) {
			f.Outcomes = known
		}, "1", "handled [1 2 3], dropped [0 2 0 0], ended true, all true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x, in, f := execution(t, collecting(c.until)), new(engine.Intake), fetched(c.messages)
			if c.change != nil {
				c.change(&f)
			}
			if err := in.Take(x, f); err != nil {
				t.Fatal(err)
			}
			if held, err := in.Run(100); held || err != nil {
				t.Fatal(held, err)
			}
			in.BehindEnd(100)
			if got := fmt.Sprintf("handled %v, dropped %v, ended %v, all %v", in.Handled, in.Dropped, x.View().Ended(), in.All()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// An error names the message at which the code failed, if the code got them one by one, or only one.
func TestIntakeNamesTheMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		events   []history.Body
		oneByOne bool
		several  bool
		named    string
	}{
		{[]history.Body{event(13)}, false, false, "message 1 "},
		{[]history.Body{event(1), event(13)}, false, true, ""},
		{[]history.Body{event(1), event(13), event(2)}, true, false, "message 2 "},
	} {
		x, in, f := execution(t, collecting("9")), new(engine.Intake), fetched(inbox(c.events...))
		f.Retries.OneByOne = c.oneByOne
		err := in.Take(x, f)
		if err == nil {
			_, err = in.Run(100)
		}
		if err == nil || in.Several() != c.several || strings.HasPrefix(err.Error(), "message ") != (c.named != "") || !strings.HasPrefix(err.Error(), c.named) {
			t.Errorf("%d events, one by one %v: several %v, error %v", len(c.events), c.oneByOne, in.Several(), err)
		}
	}
}

// After an end that the store refused, turns only store what waits, four of them at most, so that the code gets it together.
func TestRefusedEndsHoldTheCode(t *testing.T) {
	t.Parallel()
	var c engine.Retries
	if c = c.Refused(); c.Repeated() || !c.MayHold() {
		t.Errorf("after one refused end: %+v", c)
	}
	for range 4 {
		x, in, f := execution(t, collecting("9")), new(engine.Intake), fetched(inbox(event(1)))
		f.Retries, f.More = c, true
		if err := in.Take(x, f); err != nil {
			t.Fatal(err)
		}
		held, err := in.Run(100)
		if !held || err != nil || !x.View().Held() {
			t.Fatalf("held %v, %v", held, err)
		}
		c = in.Retries.Hold()
	}
	if c.MayHold() {
		t.Errorf("after four turns: %+v", c)
	}
	if c = c.Refused().Refused(); !c.Repeated() {
		t.Errorf("after three refused ends: %+v", c)
	}
	if c = c.SetOneByOne(); !c.OneByOne || !c.AfterTurn(false).OneByOne || !c.AfterTurn(true).None() {
		t.Errorf("one by one: %+v, %+v, %+v", c, c.AfterTurn(false), c.AfterTurn(true))
	}
	before := c
	if c, _ = c.Panic("a", "bad"); c.Panicked["a"] != "bad" || before.Panicked != nil {
		t.Errorf("a panic: %v, before %v", c.Panicked, before.Panicked)
	}
}

// Only what is visible is taken, by a clock that may be a little behind the storage's.
func TestVisible(t *testing.T) {
	t.Parallel()
	turn := &provider.Turn{Messages: inbox(event(1), event(2), event(3))}
	for now, want := range []int{1, 1, 2, 3} {
		messages, at := engine.Visible(turn, provider.Time(now))
		if len(messages) != want || at != provider.Time(max(now, 1)) {
			t.Errorf("at %d: %d messages at %d, want %d", now, len(messages), at, want)
		}
	}
	if slices.ContainsFunc(turn.Messages, engine.IsUpdate) {
		t.Error("an event counts as an update")
	}
}
