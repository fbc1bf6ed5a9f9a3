package replay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

func marker(id string) history.Body { return &history.PatchMarked{ID: id} }

// numbered gives events their places in a history.
func numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].ID = int64(i) + 1
	}
	return events
}

func command(b history.Body) history.Event { return history.Event{Body: b} }

// asks returns code that does the work of each step after it has noted the answer for the patch "p".
func asks(answers *[]bool, steps int) program {
	return func(s *replay.Scope) error {
		for range steps {
			*answers = append(*answers, s.Patched("p"))
			if err := await(s, s.Activity(activity("work"))); err != nil {
				return err
			}
		}
		return nil
	}
}

// The first answer is true on new ground, and the marker is written once. A replay gives the same answers.
func TestHazard60_NewGroundIsMarked(t *testing.T) {
	t.Parallel()
	var answers, again []bool
	x := live(t, asks(&answers, 3), at(1, completed(3)))
	const want = "ExecutionStarted PatchMarked ActivityScheduled ActivityCompleted ActivityScheduled"
	if got := kinds(x.Turn().Events); got != want || !slices.Equal(answers, []bool{true, true}) {
		t.Errorf("history %s, answers %v", got, answers)
	}
	y, err := replayed(t, asks(&again, 3), x.Turn().Events)
	if err != nil || !slices.Equal(again, answers) || y.View().Length() != x.View().Length() {
		t.Errorf("on replay %v, %v, length %d for %d", again, err, y.View().Length(), x.View().Length())
	}
}

// On ground from before the change the answer is false, and stays false on new ground.
func TestHazard60_FalseHolds(t *testing.T) {
	t.Parallel()
	before := func(s *replay.Scope) error { return await(s, s.Activity(activity("work"))) }
	x := live(t, before)
	var answers []bool
	y, err := replayed(t, asks(&answers, 3), x.Turn().Events)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, y, at(1, completed(2)), at(2, completed(4)))
	if !slices.Equal(answers, []bool{false, false, false}) || strings.Contains(kinds(y.Turn().Events), "PatchMarked") {
		t.Errorf("answers %v, made %s", answers, kinds(y.Turn().Events))
	}
}

// A call that a change moved in front of earlier messages does not see the marker of later ones. One that moved within the
// commands of one message does.
func TestHazard60_PlaceOfTheMarker(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		events []history.Event
		want   bool
	}{
		"before":       {numbered(started(), command(marker("p")), command(activity("work"))), true},
		"same message": {numbered(started(), command(activity("work")), command(marker("p"))), true},
		"last of many": {numbered(started(), command(activity("work")), command(marker("q")), command(marker("p"))), true},
		"later message": {numbered(
			started(), command(activity("work")), at(1, received("box", "1", "")), command(marker("p")),
		), false},
		"another patch": {numbered(started(), command(marker("q")), command(activity("work"))), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answers []bool
			x, err := replayed(t, asks(&answers, 1), c.events)
			if err != nil || !slices.Equal(answers, []bool{c.want}) || x.View().Length() != int64(len(c.events)) {
				t.Errorf("answers %v, want %v; %v; length %d", answers, c.want, err, x.View().Length())
			}
		})
	}
}

// Two coroutines that ask may swap.
func TestHazard60_CoroutinesMaySwap(t *testing.T) {
	t.Parallel()
	ask := func(got map[string]bool, ids ...string) program {
		return func(s *replay.Scope) error {
			var all []*replay.Future
			for _, id := range ids {
				all = append(all, s.Go(func(s *replay.Scope) error { got[id] = s.Patched(id); return nil }))
			}
			for _, f := range all {
				if err := await(s, f); err != nil {
					return err
				}
			}
			return await(s, s.Activity(activity("work")))
		}
	}
	x := live(t, ask(map[string]bool{}, "a", "b"))
	got := map[string]bool{}
	y, err := replayed(t, ask(got, "b", "a"), x.Turn().Events)
	if err != nil || !got["a"] || !got["b"] || y.View().Length() != x.View().Length() {
		t.Errorf("%v, %v, length %d", got, err, y.View().Length())
	}
}

// Code that no longer asks replays and counts the markers. DeprecatePatch writes on new ground and is silent on replay.
func TestHazard60_UnaskedMarkersAreSkipped(t *testing.T) {
	t.Parallel()
	work := func(s *replay.Scope) error {
		if err := await(s, s.Activity(activity("work"))); err != nil {
			return err
		}
		return await(s, s.Activity(activity("more")))
	}
	var answers []bool
	x := live(t, func(s *replay.Scope) error {
		answers = append(answers, s.Patched("p"))
		if err := await(s, s.Activity(activity("work"))); err != nil {
			return err
		}
		f := s.Activity(activity("more"))
		answers = append(answers, s.Patched("last"))
		return await(s, f)
	}, at(1, completed(3)))
	events := x.Turn().Events
	y, err := replayed(t, work, events)
	if err != nil || y.View().Length() != x.View().Length() {
		t.Fatalf("length %d, want %d: %v", y.View().Length(), x.View().Length(), err)
	}
	deliver(t, y, at(2, completed(5)))
	if !y.View().Ended() || len(answers) != 2 {
		t.Error("it has not ended")
	}
	deprecated := func(s *replay.Scope) error { s.DeprecatePatch("p"); return work(s) }
	if z := live(t, deprecated); kinds(z.Turn().Events) != "ExecutionStarted PatchMarked ActivityScheduled" {
		t.Errorf("new ground: %s", kinds(z.Turn().Events))
	}
	z, err := replayed(t, deprecated, live(t, work).Turn().Events)
	if err != nil || len(z.Turn().Events) != 0 {
		t.Errorf("replay made %s: %v", kinds(z.Turn().Events), err)
	}
}

// A limit that refuses the marker makes the answer false, live and on replay. Code that comes to a limit behind a marker
// sees the same on replay.
func TestHazard60_LimitsAreTheSameOnReplay(t *testing.T) {
	t.Parallel()
	for room := range int64(6) {
		code := func(saw *[]string) program {
			return func(s *replay.Scope) error {
				note := func(what string, v any) { *saw = append(*saw, fmt.Sprint(what, v)) }
				failed := func(f *replay.Future) bool { return f.Ready() && await(s, f) != nil }
				note("p", s.Patched("p"))
				note("timer", failed(s.Timer(0)))
				note("work", failed(s.Activity(activity("work"))))
				note("timer", failed(s.Timer(0)))
				note("q", s.Patched("q"))
				note("timer", failed(s.Timer(0)))
				s.Detached().DeprecatePatch("q")
				note("q", s.Patched("q"))
				_, err := s.Wait(s.Mailbox("box"))
				note("p", s.Patched("p"))
				return err
			}
		}
		start := started()
		settings := replay.SettingsAt(replay.EngineLevel)
		settings.MaxEvents = 1_001 + room
		start.Body = &history.ExecutionStarted{Name: "test", Settings: settings}
		var saw, again []string
		x := newExecution(code(&saw))
		t.Cleanup(x.Close)
		deliver(t, x, start)
		events := slices.Clone(x.Turn().Events)
		y, err := replayed(t, code(&again), events)
		if err != nil || !slices.Equal(saw, again) || x.View().Length() != y.View().Length() {
			t.Errorf("room for %d: live %v, on replay %v, %v", room, saw, again, err)
		}
		if (saw[0] == "ptrue") != (room > 0) {
			t.Errorf("room for %d: %v", room, saw)
		}
	}
}

// A deviation names a patch that the code has not asked for. If the code has asked for all, it names none.
func TestHazard79_DeviationNamesTheUnknownPatch(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		s.Patched("old")
		s.Patched("new")
		return await(s, s.Activity(activity("new work")))
	})
	for want, ids := range map[string][]string{"new": {"old"}, "old": {"new"}, "": {"old", "new"}} {
		_, err := replayed(t, func(s *replay.Scope) error {
			for _, id := range ids {
				s.DeprecatePatch(id)
			}
			return await(s, s.Activity(activity("old work")))
		}, x.Turn().Events)
		deviation, ok := errors.AsType[*replay.NonDeterminismError](err)
		if !ok || deviation.Patch != want || strings.Contains(err.Error(), "does not know") != (want != "") {
			t.Errorf("code that knows %v: %v", ids, err)
		}
	}
	_, err := replayed(t, func(*replay.Scope) error { return nil }, numbered(started(), command(marker("p")), command(activity("work"))))
	if deviation, ok := errors.AsType[*replay.NonDeterminismError](err); !ok || deviation.Patch != "p" {
		t.Errorf("code that ends early: %v", err)
	}
}

// patched is a program that runs the statements of a change where its patch is true.
func patched(before, after []statement) program {
	m := &machine{}
	return func(s *replay.Scope) error {
		if s.Patched("change") {
			return m.run(s, after)
		}
		return m.run(s, before)
	}
}

// A history that either side of a random change wrote replays with the code that has both, after any message, and goes on.
func TestPropertyBothSidesOfAPatchReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := statements(1).Draw(t, "before"), statements(1).Draw(t, "after")
		for _, fresh := range []bool{false, true} {
			code := patched(before, after)
			if !fresh {
				m := &machine{}
				code = func(s *replay.Scope) error { return m.run(s, before) }
			}
			x := newExecution(code)
			defer x.Close() // also of a program that is skipped
			messages := []history.Event{started()}
			for n := int64(1); n < 12; n++ {
				messages = append(messages, at(n, received("box"+fmt.Sprint(n%4), fmt.Sprint(n), "")))
			}
			for _, message := range messages {
				if x.View().Ended() {
					break
				}
				var err error
				lost := lose(func() { _, err = x.Deliver(message) })
				if skipDeadlock(t, err); lost || err != nil {
					t.Fatal(err)
				}
				y := newExecution(patched(before, after))
				if lose(func() { err = y.Replay(slices.Clone(x.Turn().Events)) }) || err != nil || y.View().Length() != x.View().Length() || y.View().Ended() != x.View().Ended() {
					t.Fatalf("new code on %s, fresh %v: %v", kinds(x.Turn().Events), fresh, errors.Join(err, y.View().Fault()))
				}
				y.Close()
			}
		}
	})
}

// Only an execution with a marker needs nodes that know patches.
func TestLevelOfPatches(t *testing.T) {
	t.Parallel()
	if got := replay.LevelOf(marker("p")); got != replay.LevelOfPatch || got > replay.EngineLevel {
		t.Errorf("a marker has level %d", got)
	}
	if got := replay.LevelOf(activity("work")); got != replay.LowestLevel {
		t.Errorf("an activity has level %d", got)
	}
}

// A local activity behind a patch that the code does not know is a deviation like any other: the error names the patch.
func TestHazard79_LocalCallNamesTheUnknownPatch(t *testing.T) {
	t.Parallel()
	newer := func(s *replay.Scope) error {
		if s.Patched("p") {
			return await(s, s.Local(&history.ActivityScheduled{Name: "new"}))
		}
		return await(s, s.Local(&history.ActivityScheduled{Name: "old"}))
	}
	x := live(t, newer)
	deliver(t, x, at(1, &history.LocalEnded{Call: 1, Name: "new", Output: []byte("1"), Attempt: 1}))
	for name, older := range map[string]func(*replay.Scope) error{
		"another call": func(s *replay.Scope) error { return await(s, s.Local(&history.ActivityScheduled{Name: "old"})) },
		"no call": func(s *replay.Scope) error {
			_, err := s.Wait(s.Mailbox("box"))
			return err
		},
	} {
		_, err := replayed(t, older, x.Turn().Events)
		if deviation, ok := errors.AsType[*replay.NonDeterminismError](err); !ok || deviation.Patch != "p" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
