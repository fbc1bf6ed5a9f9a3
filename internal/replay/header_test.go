package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// headed returns a start and events with headers of the given length.
func headed(settings history.Settings, events, length int) []history.Event {
	all := []history.Event{{At: 1000, Body: &history.ExecutionStarted{Name: "test", Settings: settings, Header: make([]byte, length)}}}
	for n := range events {
		all = append(all, at(int64(n), &history.EventReceived{Name: "go", Header: make([]byte, length)}))
	}
	return all
}

// Near the limit on bytes code gets the same refusals with short, long and no headers, live and on a replay of a history
// with others.
func TestHazard63_LimitsJudgeAlikeWithHeaders(t *testing.T) {
	t.Parallel()
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxBytes = replay.ReservedBytes + 3_000
	settings.MaxEvents = replay.ReservedEvents + 30
	var want string
	var histories [][]history.Event
	note := func(trace *[]string) program {
		return func(s *replay.Scope) error {
			for {
				if _, err := s.Wait(s.Mailbox("go")); err != nil {
					return err
				}
				s.Mailbox("go").Take()
				for _, size := range []int{0, 100, 400} {
					err := refused(s.Activity(sized(size)))
					if err != nil && !errors.Is(err, failure.ErrHistoryFull) {
						return err
					}
					*trace = append(*trace, fmt.Sprintf("%d bytes: %v, %+v", size, err, s.Facts()))
				}
			}
		}
	}
	lengths := []int{0, 1, 200, 4_000}
	for _, length := range lengths {
		var trace []string
		x := newExecution(note(&trace))
		t.Cleanup(x.Close)
		deliver(t, x, headed(settings, 12, length)...)
		got := strings.Join(trace, "\n")
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("with headers of %d bytes the code saw\n%s\nand without\n%s", length, got, want)
		}
		histories = append(histories, x.Turn().Events)
	}
	if !strings.Contains(want, "nil") || !strings.Contains(want, "continue as new") {
		t.Fatalf("the limit is not near:\n%s", want)
	}
	for i, stored := range histories {
		var trace []string
		if _, err := replayed(t, note(&trace), stored); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(trace, "\n"); got != want {
			t.Errorf("a replay with headers of %d bytes sees\n%s\nand not\n%s", lengths[i], got, want)
		}
	}
}

// An execution stores headers of 1 MiB. Later ones are left out and counted, and the code gets the events all the same.
func TestHazard63_HeadersHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	const size = 4_000
	read := 0
	code := func(s *replay.Scope) error {
		for {
			if _, err := s.Wait(s.Mailbox("go")); err != nil {
				return err
			}
			s.Mailbox("go").Take()
			read++
		}
	}
	x := newExecution(code)
	t.Cleanup(x.Close)
	messages := headed(replay.SettingsAt(replay.EngineLevel), 300, size)
	deliver(t, x, messages...)
	turn := x.Turn()
	const fit = replay.MaxHeaders / size
	if turn.Headers != len(messages)-fit || read != 300 {
		t.Errorf("%d headers are left out, %d events were read", turn.Headers, read)
	}
	stored := 0
	for _, e := range turn.Events {
		switch b := e.Body.(type) {
		case *history.ExecutionStarted:
			stored += len(b.Header)
		case *history.EventReceived:
			stored += len(b.Header)
			if level := replay.LevelOf(b); (level == replay.LevelOfHandlers) != (len(b.Header) > 0) {
				t.Fatalf("an event with a header of %d bytes has level %d", len(b.Header), level)
			}
		}
	}
	if stored != fit*size {
		t.Errorf("headers of %d bytes are stored, want %d", stored, fit*size)
	}
	x.Confirm()
	if x.Turn().Headers != 0 {
		t.Error("they are counted again")
	}
	y, err := replayed(t, code, turn.Events)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, y, at(400, &history.EventReceived{Name: "go", Header: make([]byte, size)}))
	if got := y.Turn(); got.Headers != 1 {
		t.Errorf("after a replay %d headers are left out, want 1", got.Headers)
	}
}

// The next execution has the header and the root of this one, and the headers of the events that it takes over.
func TestHeadersGoAlongAsNew(t *testing.T) {
	t.Parallel()
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(s *replay.Scope) replay.Result {
		_, _ = s.Wait(s.Mailbox("go"))
		return replay.Result{Continue: &history.ContinuedAsNew{}}
	})
	t.Cleanup(x.Close)
	start := started()
	b := start.Body.(*history.ExecutionStarted)
	b.Header, b.Root = []byte("h"), history.Root{ID: "root"}
	deliver(t, x, start, at(1, &history.EventReceived{Name: "go", Header: []byte("e")}))
	next := x.Turn().End.Next
	first, second := next[0].Body.(*history.ExecutionStarted), next[1].Body.(*history.EventReceived)
	if string(first.Header) != "h" || first.Root.ID != "root" || string(second.Header) != "e" {
		t.Errorf("the next execution has %+v and %+v", first, second)
	}
}

// A header adds to the memory of an execution.
func TestSizeCountsHeaders(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error { return await(s, s.Timer(1)) }
	sizes := make([]int, 0, 2)
	for _, header := range [][]byte{nil, bytes.Repeat([]byte("h"), 4_000)} {
		x := newExecution(code)
		t.Cleanup(x.Close)
		start := started()
		start.Body.(*history.ExecutionStarted).Header = header
		deliver(t, x, start)
		sizes = append(sizes, x.View().Size())
	}
	if sizes[1]-sizes[0] != 4_000 {
		t.Errorf("sizes %v", sizes)
	}
}

// Root and the start of the first execution are those of the start event. Where it has none, the root is the parent, or the
// instance itself.
func TestFacts(t *testing.T) {
	t.Parallel()
	parent := history.Parent{Key: [16]byte{7}, ID: "parent", Execution: 1, EventID: 2}
	for name, c := range map[string]struct {
		start       history.ExecutionStarted
		root        history.Root
		began       int64
		rootOfChild history.Root
	}{
		"top": {history.ExecutionStarted{}, history.Root{Key: key, ID: "test"}, 1000, history.Root{}},
		"child": {
			history.ExecutionStarted{Parent: parent}, history.Root{Key: parent.Key, ID: "parent"}, 1000, history.Root{Key: parent.Key, ID: "parent"},
		},
		"child of a child": {
			history.ExecutionStarted{Parent: parent, Root: history.Root{Key: [16]byte{9}, ID: "top"}},
			history.Root{Key: [16]byte{9}, ID: "top"},
			1000,
			history.Root{Key: [16]byte{9}, ID: "top"},
		},
		"continued":                     {history.ExecutionStarted{Continued: true, Began: 500}, history.Root{Key: key, ID: "test"}, 500, history.Root{}},
		"continued by an older release": {history.ExecutionStarted{Continued: true}, history.Root{Key: key, ID: "test"}, 0, history.Root{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got replay.Facts
			x := newExecution(func(s *replay.Scope) error {
				got = s.Facts()
				return nil
			})
			t.Cleanup(x.Close)
			start := c.start
			start.Settings = replay.SettingsAt(replay.EngineLevel)
			messages := []history.Event{{At: 1000, Body: &start}}
			if start.Continued {
				messages = append(messages, history.Event{At: 1000, Body: &history.ExecutionOpened{}})
			}
			deliver(t, x, messages...)
			want := replay.Facts{Started: 1000, Began: c.began, Root: c.root, Length: int64(len(messages)), Size: got.Size}
			if got != want || got.Size < 32 || x.View().Root() != c.rootOfChild || x.View().Began() != c.began {
				t.Errorf("facts %+v, want %+v; root of a child %+v", got, want, x.View().Root())
			}
		})
	}
}

// Continuing as new is suggested from a length or size on that code of stored histories has seen: it never changes.
func TestContinueAsNewIsSuggested(t *testing.T) {
	t.Parallel()
	seen := map[string]int64{}
	code := func(s *replay.Scope) error {
		for {
			if _, err := s.Wait(s.Mailbox("go")); err != nil {
				return err
			}
			payload, _ := s.Mailbox("go").Take()
			if f := s.Facts(); f.Suggested && seen[string(payload[:1])] == 0 {
				seen[string(payload[:1])] = f.Length
				if payload[0] == 'b' {
					seen["bytes"] = f.Size
				}
			}
		}
	}
	short := live(t, code)
	for range 5_000 {
		deliver(t, short, at(1, received("go", "e", "")))
	}
	large := live(t, code)
	for range 5 {
		deliver(t, large, at(1, received("go", "b"+strings.Repeat("x", 1<<20), "")))
	}
	if seen["e"] != 4_096 || seen["b"] != 5 || seen["bytes"] < 4<<20 {
		t.Errorf("suggested at %v", seen)
	}
}

// Anchors obey the limit of headers, and code sees nothing of them: neither live, nor on a replay.
func TestHazard63_AnchorsObeyTheLimitOfHeaders(t *testing.T) {
	t.Parallel()
	anchor := strings.Repeat("a", 640)
	const events = 2_000 // more than find room
	for _, anchors := range []bool{false, true} {
		var facts []replay.Facts
		code := program(func(s *replay.Scope) error {
			for {
				if _, err := s.Wait(s.Mailbox("go")); err != nil {
					return err
				}
				s.Mailbox("go").Take()
				facts = append(facts, s.Facts())
			}
		})
		x := newExecution(code)
		t.Cleanup(x.Close)
		messages := headed(replay.SettingsAt(replay.LevelOfHandlers), events, 0)
		for i := range messages {
			if anchors && i > 0 {
				messages[i].Anchor = anchor
			}
		}
		deliver(t, x, messages...)
		turn := x.Turn()
		kept, level := 0, int64(0)
		for i := range turn.Events {
			kept += len(turn.Events[i].Anchor)
			level = max(level, replay.LevelOfEvent(&turn.Events[i]))
		}
		trace, _ := x.View().Trace()
		switch {
		case !anchors && (kept != 0 || turn.Headers != 0 || level >= replay.LevelOfAnchors || trace != ""):
			t.Errorf("without anchors: %d bytes, %d left out, level %d, trace %q", kept, turn.Headers, level, trace)
		case anchors && (kept > replay.MaxHeaders || kept < replay.MaxHeaders-len(anchor) || turn.Headers != events-kept/len(anchor) ||
			level != replay.LevelOfAnchors || trace != anchor):
			t.Errorf("with anchors: %d bytes, %d left out, level %d, trace %q", kept, turn.Headers, level, trace)
		}
		live := facts
		facts = nil
		again := newExecution(code)
		t.Cleanup(again.Close)
		if err := again.Replay(turn.Events); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(facts, live) || live[len(live)-1].Size != live[0].Size+int64(len(live)-1)*(live[1].Size-live[0].Size) {
			t.Error("code sees other facts on the replay, or anchors count")
		}
		if of, _ := again.View().Trace(); of != trace {
			t.Errorf("the replay has the anchor %q, want %q", of, trace)
		}
	}
}
