package replay_test

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// versioned makes an execution in a version of the code, on a node that has the given newest version.
func versioned(t *testing.T, runs, newest string, execution int64, noted bool, body replay.Body) *replay.Execution {
	t.Helper()
	env := newEnv()
	env.Newest = func(_, version string) string { return max(version, newest) }
	env.MayNote = func() bool { return noted }
	x := replay.New(env, replay.Info{ID: "test", Key: key, Execution: execution, Name: "test", CodeVersion: runs}, body)
	t.Cleanup(x.Close)
	return x
}

// receive takes an event.
func receive(s *replay.Scope) {
	_, _ = s.Wait(s.Mailbox("go"))
	s.Mailbox("go").Take()
}

// rounds is code that continues as new after each event, or at once.
func rounds(wait, keep bool) replay.Body {
	return func(s *replay.Scope) replay.Result {
		if wait {
			receive(s)
		}
		return replay.Result{Continue: &history.ContinuedAsNew{}, KeepVersion: keep}
	}
}

// The next execution takes the newest version of the node, which is never an older one. An execution that was given nothing but its
// start keeps its version, so that two changes never follow one another without an event in between.
func TestHazard59_NextVersion(t *testing.T) {
	t.Parallel()
	event := at(1, received("go", "1", "r"))
	for name, c := range map[string]struct {
		runs, newest string
		execution    int64
		keep, wait   bool
		want         string
	}{
		"newer":                            {"1", "2", 1, false, true, "2"},
		"older":                            {"2", "1", 1, false, true, "2"},
		"from none":                        {"", "2", 1, false, true, "2"},
		"kept":                             {"1", "2", 1, true, true, "1"},
		"at once":                          {"1", "2", 1, false, false, "2"},
		"at once in a later execution":     {"2", "3", 2, false, false, "2"},
		"after an event of that execution": {"2", "3", 2, false, true, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := versioned(t, c.runs, c.newest, c.execution, true, rounds(c.wait, c.keep))
			first := started()
			b := first.Body.(*history.ExecutionStarted)
			b.CodeVersion = "0" // the row counts: the execution may have been moved
			messages := []history.Event{first}
			if c.execution > 1 {
				b.Continued = true
				messages = append(messages, at(0, received("other", "1", "carried")), at(0, &history.ExecutionOpened{}))
			}
			if c.wait {
				messages = append(messages, event)
			}
			deliver(t, x, messages...)
			turn := x.Turn()
			if turn.End == nil || turn.End.Next == nil {
				t.Fatalf("it did not continue: %+v", turn.End)
			}
			next := turn.End.Next[0].Body.(*history.ExecutionStarted)
			last := turn.Events[len(turn.Events)-1].Body.(*history.ContinuedAsNew)
			if next.CodeVersion != c.want || last.CodeVersion != c.want {
				t.Errorf("it continues as %q, and says %q, want %q", next.CodeVersion, last.CodeVersion, c.want)
			}
			if info := x.View().Info(); info.CodeVersion != "0" || info.Runs != c.runs {
				t.Errorf("info has %q and %q", info.CodeVersion, info.Runs)
			}
		})
	}
}

// One message of an execution notes that there is a newer version. Code learns it from there, on a replay by any node.
func TestHazard59_NewerVersionIsNotedOnce(t *testing.T) {
	t.Parallel()
	var seen []bool
	code := func(s *replay.Scope) replay.Result {
		for range 3 {
			seen = append(seen, s.Info().Newer)
			receive(s)
		}
		seen = append(seen, s.Info().Newer)
		return replay.Result{Continue: &history.ContinuedAsNew{}}
	}
	events := func(x *replay.Execution, messages ...history.Event) []history.Event {
		deliver(t, x, messages...)
		return x.Turn().Events
	}
	noted := func(events []history.Event) (ids []int64, level int64) {
		for i := range events {
			if events[i].Newer {
				ids = append(ids, events[i].ID)
			}
			if i > 0 { // behind the start, which has the level of its flags
				level = max(level, replay.LevelOfEvent(&events[i]))
			}
		}
		return ids, level
	}
	one, two := at(1, received("go", "1", "a")), at(2, received("go", "2", "b"))
	older := versioned(t, "1", "1", 1, true, code)
	stored := events(older, started(), one)
	if ids, _ := noted(stored); len(ids) != 0 {
		t.Errorf("without a newer version it is noted at %v", ids)
	}
	newer := versioned(t, "1", "2", 1, true, code)
	if err := newer.Replay(stored); err != nil {
		t.Fatal(err)
	}
	two.Newer = false
	stored = append(stored, events(newer, two)...)
	if ids, level := noted(stored); len(ids) != 1 || ids[0] != 3 || level != replay.LevelOfHandlers {
		t.Errorf("noted at %v, level %d", ids, level)
	}
	seen = nil
	back := versioned(t, "1", "1", 1, true, code) // a node that has not the newer version, or no more
	if err := back.Replay(stored); err != nil {
		t.Fatal(err)
	}
	more := events(back, at(3, received("go", "3", "c")))
	if ids, _ := noted(more); len(ids) != 0 || len(seen) != 4 || seen[1] || !seen[2] || !seen[3] {
		t.Errorf("after a replay: noted at %v, code saw %v", ids, seen)
	}
	if next := back.Turn().End.Next; next == nil || next[0].Newer {
		t.Errorf("the next execution begins with the note: %+v", next)
	}
	later := versioned(t, "1", "2", 2, true, code)
	again := started()
	again.Body.(*history.ExecutionStarted).Continued = true
	if ids, _ := noted(events(later, again, at(0, &history.ExecutionOpened{}), one)); len(ids) != 1 || ids[0] != 3 {
		t.Errorf("in a later execution it is noted at %v, want only with the event", ids)
	}
	not := versioned(t, "1", "2", 1, false, code) // the store does not allow it yet
	if ids, _ := noted(events(not, started(), one)); len(ids) != 0 {
		t.Errorf("noted at %v, though the store does not allow it", ids)
	}
}
