package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// stages runs one stage at first and one after each event.
func stages(all ...func(s *replay.Scope)) program {
	return func(s *replay.Scope) error {
		for _, stage := range all {
			stage(s)
			if _, err := s.Wait(s.Mailbox("go")); err != nil {
				return err
			}
			s.Mailbox("go").Take()
		}
		return nil
	}
}

func number(name string, n int64) provider.Attribute {
	return provider.Attribute{Name: name, Kind: provider.AttributeInt, Number: n}
}

// sameState compares what a turn stores.
func sameState(t *testing.T, got, want *replay.State) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the turn stores something else:\n%s", diff)
	}
}

// A turn has only what changed against what is stored. A replay writes nothing again. It does not know what is stored, so
// the first turn after it also has what is equal.
func TestHazard78_OnlyChangesAreStored(t *testing.T) {
	t.Parallel()
	code := stages(
		func(s *replay.Scope) {
			s.SetStatus([]byte("1"), nil)
			s.SetValue("a", []byte("1"), nil)
			s.SetValue("b", []byte("1"), nil)
			s.SetAttribute(number("n", 1), nil)
		},
		func(s *replay.Scope) { // the same, with detours
			s.SetStatus([]byte("2"), nil)
			s.SetStatus([]byte("1"), nil)
			s.SetValue("a", nil, nil)
			s.SetValue("a", []byte("1"), nil)
			s.SetAttribute(number("n", 2), nil)
			s.SetAttribute(number("n", 1), nil)
		},
		func(s *replay.Scope) {
			s.SetStatus(nil, nil)
			s.SetValue("a", []byte("2"), nil)
			s.SetValue("b", []byte("null"), nil)
			s.SetValue("other", nil, nil)
			s.SetAttribute(number("n", 3), nil)
		},
		func(s *replay.Scope) { s.SetStatus(nil, nil) },
	)
	turns := []*replay.State{
		{
			Status: []byte("1"), Attributes: []provider.Attribute{number("n", 1)},
			Values: []provider.KeyValue{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("1")}},
		},
		nil,
		{
			Status: []byte{}, Attributes: []provider.Attribute{number("n", 3)},
			Values: []provider.KeyValue{{Key: "a", Value: []byte("2")}, {Key: "b"}, {Key: "other"}},
		},
		nil,
	}
	cleared := &replay.State{Status: []byte{}}
	afterReplay := []*replay.State{
		turns[0],
		{Status: []byte("1"), Attributes: turns[0].Attributes, Values: turns[0].Values[:1]},
		turns[2],
		cleared,
	}
	all := []replay.State{
		*turns[0], *turns[0],
		{Status: []byte{}, Attributes: turns[2].Attributes, Values: turns[2].Values[:1]},
		{Status: []byte{}, Attributes: turns[2].Attributes, Values: turns[2].Values[:1]},
	}
	var stored []history.Event
	hot := newExecution(code)
	t.Cleanup(hot.Close)
	for n, want := range turns {
		message := started()
		if n > 0 {
			message = at(int64(n), received("go", "1", ""))
		}
		cold := newExecution(code)
		t.Cleanup(cold.Close)
		if lose(func() {
			if err := cold.Replay(stored); err != nil {
				t.Error(err)
			}
		}) {
			t.Fatal("the replay is lost")
		}
		sameState(t, cold.Turn().State, nil)
		deliver(t, hot, message)
		deliver(t, cold, message)
		sameState(t, hot.Turn().State, want)
		sameState(t, cold.Turn().State, afterReplay[n])
		stored = append(stored, hot.Turn().Events...)
		hot.Confirm()
		sameState(t, hot.Turn().State, nil)
		again, err := replayed(t, code, stored)
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string]*replay.Execution{"live": hot, "unconfirmed": cold, "replayed": again} {
			if diff := cmp.Diff(all[n], x.View().State()); diff != "" {
				t.Errorf("after turn %d the %s execution has set something else:\n%s", n, name, diff)
			}
		}
		if again.View().Size() != hot.View().Size() {
			t.Errorf("after turn %d the size is %d, replayed %d", n, hot.View().Size(), again.View().Size())
		}
	}
}

// Hazard 55: the next release sets what the one before did not. A replay by the new code does not take that for stored, so
// the first live call writes it, once.
func TestHazard55_ReplayDoesNotKnowWhatIsStored(t *testing.T) {
	t.Parallel()
	nothing := func(*replay.Scope) {}
	loop := func(s *replay.Scope) {
		s.SetStatus([]byte("1"), nil)
		s.SetAttribute(number("n", 1), nil)
		s.SetValue("k", []byte("1"), nil)
	}
	before := live(t, stages(nothing, nothing, nothing))
	after, err := replayed(t, stages(loop, loop, loop), before.Turn().Events)
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, after.Turn().State, nil)
	after.Confirm()
	deliver(t, after, at(1, received("go", "1", "")))
	sameState(t, after.Turn().State, &replay.State{
		Status: []byte("1"), Attributes: []provider.Attribute{number("n", 1)}, Values: []provider.KeyValue{{Key: "k", Value: []byte("1")}},
	})
	after.Confirm()
	deliver(t, after, at(2, received("go", "1", "")))
	sameState(t, after.Turn().State, nil)
}

// A value that cannot be stored is told when the turn is stored, and never by a replay. Code that sets it again after a replay
// stores the marker again, which is told.
func TestHazard55_RefusalsAreToldOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	code := stages(func(s *replay.Scope) {
		s.SetStatus(nil, errors.New("no such encoding"))
		s.SetValue("mended", make([]byte, 1<<20), nil)
		s.SetValue("mended", []byte("1"), nil)
		for n := range 20 {
			s.SetValue(fmt.Sprint("perdure.", n), []byte("1"), nil)
		}
	}, func(s *replay.Scope) {
		s.SetStatus(nil, errors.New("no such encoding"))
	})
	fresh := func() *replay.Execution {
		env := newEnv()
		env.Logger = slog.New(slog.NewTextHandler(&log, nil))
		x := replay.New(env, replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(s *replay.Scope) replay.Result {
			return replay.Result{Failure: new(env.Errors.Encode(code(s)))}
		})
		t.Cleanup(x.Close)
		return x
	}
	x := fresh()
	x.Speculate()
	deliver(t, x, started())
	turn := x.Turn()
	if turn.State.Refused != 21 || log.Len() > 0 {
		t.Errorf("refused %d before the turn was stored, logged %s", turn.State.Refused, &log)
	}
	if why, refused := payload.Refused(turn.State.Status); !refused || why != "no such encoding" {
		t.Errorf("the status is %q", turn.State.Status)
	}
	x.Confirm()
	if n := strings.Count(log.String(), "state could not be stored"); n != 11 || !strings.Contains(log.String(), "count=11") {
		t.Errorf("logged %d lines: %s", n, &log)
	}
	log.Reset()
	again := fresh()
	if lose(func() { _ = again.Replay(turn.Events) }) || again.View().Fault() != nil {
		t.Fatal(again.View().Fault())
	}
	again.Confirm()
	if log.Len() > 0 {
		t.Errorf("a replay logged %s", &log)
	}
	deliver(t, again, at(1, received("go", "1", "")))
	sameState(t, again.Turn().State, &replay.State{Status: turn.State.Status, Refused: 1})
	again.Confirm()
	if n := strings.Count(log.String(), "state could not be stored"); n != 1 {
		t.Errorf("logged %d lines after the replay: %s", n, &log)
	}
	x.Confirm()
	log.Reset()
	deliver(t, x, at(1, received("go", "1", "")))
	sameState(t, x.Turn().State, nil)
	x.Confirm()
	if log.Len() > 0 {
		t.Errorf("logged again: %s", &log)
	}
}

// The largest values and a turn with the largest payloads fit into one commit.
func TestStateFitsIntoTheCommit(t *testing.T) {
	t.Parallel()
	const effects = 7
	x := live(t, func(s *replay.Scope) error {
		for n := range 100 {
			s.SetValue(fmt.Sprint(n), make([]byte, 64<<10), nil)
		}
		for range effects {
			if _, err := s.SideEffect(func() ([]byte, *history.Failure) { return make([]byte, 2<<20), nil }); err != nil {
				return err
			}
		}
		return await(s, s.Activity(activity("a")))
	})
	size := func() (n int) {
		for _, v := range x.Turn().State.Values {
			n += len(v.Value)
		}
		return n
	}
	if got := size(); got != 100*64<<10 {
		t.Errorf("the values have %d bytes next to %d side effects of 2 MiB", got, effects)
	}
	y := live(t, func(s *replay.Scope) error {
		for n := range 100 {
			s.SetValue(fmt.Sprint(n), make([]byte, 64<<10), nil)
		}
		for range 2 * effects {
			_, _ = s.SideEffect(func() ([]byte, *history.Failure) { return make([]byte, 2<<20), nil })
		}
		_, err := s.Wait(s.Mailbox("go"))
		return err
	})
	commit := 0
	turn := y.Turn()
	for _, e := range turn.Events {
		commit += int(history.Size(e.Body))
	}
	for _, v := range turn.State.Values {
		commit += len(v.Value)
	}
	if commit > provider.MaxCommitBytes-6<<20 || len(turn.State.Values) != 100 {
		t.Errorf("the commit has %d bytes and %d values", commit, len(turn.State.Values))
	}
}

// Keys that are set and deleted without end bound a turn, and the commit has room for them.
func TestStateBoundsItsRows(t *testing.T) {
	t.Parallel()
	code := stages(func(s *replay.Scope) {
		for n := range provider.MaxCommitRows + 1 {
			s.SetValue(fmt.Sprint(n), []byte("1"), nil)
			s.SetValue(fmt.Sprint(n), nil, nil)
		}
	}, func(*replay.Scope) {})
	x := live(t, code)
	if n := len(x.Turn().State.Values); n > provider.MaxCommitRows/2 || !x.View().TurnFull() {
		t.Errorf("%d rows, crowded %v", n, x.View().TurnFull())
	}
	x.Confirm()
	if x.View().TurnFull() {
		t.Error("crowded after the turn was stored")
	}
}

// An execution that sets nothing pays nothing.
//
//nolint:paralleltest // allocations of the whole process are counted
func TestStateCostsNothingUnused(t *testing.T) {
	x := live(t, stages(func(*replay.Scope) {}))
	sameState(t, x.Turn().State, nil)
	if diff := cmp.Diff(replay.State{}, x.View().State()); diff != "" {
		t.Error(diff)
	}
	if n := testing.AllocsPerRun(100, func() { _ = x.Turn(); x.Confirm() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A turn ends the sessions that its code has ended, each once. A replay ends none again, and no history has them. What is not allowed ends
// nothing and is counted.
func TestTurnsEndSessions(t *testing.T) {
	t.Parallel()
	code := stages(
		func(s *replay.Scope) {
			for _, id := range []string{"b", "a", "b", "", "\xff"} {
				s.EndSession(id)
			}
		},
		func(*replay.Scope) {},
		func(s *replay.Scope) {
			for n := range 1_001 {
				s.EndSession(fmt.Sprint(n))
			}
		},
	)
	hot := newExecution(code)
	t.Cleanup(hot.Close)
	deliver(t, hot, started())
	sameState(t, hot.Turn().State, &replay.State{Ended: []string{"b", "a"}, Refused: 2})
	stored := hot.Turn().Events
	hot.Confirm()
	again, err := replayed(t, code, stored)
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, again.Turn().State, nil)
	for _, x := range []*replay.Execution{hot, again} {
		deliver(t, x, at(1, received("go", "1", "")))
		sameState(t, x.Turn().State, nil)
		x.Confirm()
		deliver(t, x, at(2, received("go", "2", "")))
		if s := x.Turn().State; s == nil || len(s.Ended) != 1_000 || s.Refused != 1 {
			t.Errorf("the turn ends %+v, want 1,000 sessions and one refused", s)
		}
	}
}
