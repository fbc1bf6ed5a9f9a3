package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// sized returns a call of an activity whose input has n bytes.
func sized(n int) *history.ActivityScheduled {
	return &history.ActivityScheduled{Name: "a", Queue: "default", Input: make([]byte, n)}
}

// The call that would make the history too large gets the error, and smaller calls still
// succeed. Code that cleans up in a detached scope may use the reserve.
func TestHazard32_BytesOfAHistoryAreBounded(t *testing.T) {
	t.Parallel()
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxBytes = replay.ReservedBytes + 100_000
	limited(t, settings, func(s *replay.Scope) error {
		value := func(n int) error {
			_, err := s.SideEffect(func() ([]byte, *history.Failure) { return make([]byte, n), nil })
			return err
		}
		if err := errors.Join(refused(s.Activity(sized(60_000))), value(20_000)); err != nil {
			return fmt.Errorf("early: %w", err)
		}
		child := &history.ChildStarted{Name: "c", Input: make([]byte, 30_000)}
		for _, err := range []error{refused(s.Activity(sized(30_000))), refused(s.Child(child)), value(30_000)} {
			if !errors.Is(err, failure.ErrHistoryFull) || !strings.Contains(err.Error(), "bytes") {
				return fmt.Errorf("too large: %w", err)
			}
		}
		if err := errors.Join(refused(s.Timer(time.Hour)), refused(s.Detached().Activity(sized(1<<20)))); err != nil {
			return fmt.Errorf("while there is room: %w", err)
		}
		clean, _ := s.Detached().WithCancel()
		if err := errors.Join(refused(clean.Activity(sized(2<<20))), refused(clean.Activity(sized(1<<20)))); err != nil {
			return fmt.Errorf("of the reserve: %w", err)
		}
		if err := refused(clean.Activity(sized(1 << 19))); !errors.Is(err, failure.ErrHistoryFull) {
			return fmt.Errorf("beyond the reserve: %w", err)
		}
		return nil
	})
}

// Messages count, too: they leave less for the commands of the code.
func TestHazard32_MessagesCountAgainstTheHistory(t *testing.T) {
	t.Parallel()
	first := started()
	first.Body.(*history.ExecutionStarted).Settings.MaxBytes = replay.ReservedBytes + 50_000
	var got []error
	code := func(s *replay.Scope) error {
		got = nil
		for {
			if _, err := s.Wait(s.Mailbox("box")); err != nil {
				return err
			}
			s.Mailbox("box").Take()
			got = append(got, refused(s.Timer(time.Hour)))
		}
	}
	x := newExecution(code)
	t.Cleanup(x.Close)
	large := strings.Repeat("x", 30_000)
	deliver(t, x, first, at(1, received("box", large, "")), at(2, received("box", large, "")))
	check := func() {
		t.Helper()
		if len(got) != 2 || got[0] != nil || !errors.Is(got[1], failure.ErrHistoryFull) {
			t.Errorf("got %v", got)
		}
	}
	check()
	if _, err := replayed(t, code, x.Turn().Events); err != nil {
		t.Error(err)
	}
	check()
}

// The last events of a history are reserved for the end. There code may still clean up, in a
// detached scope, and end.
func TestHazard32_EventsAreReservedForTheEnd(t *testing.T) {
	t.Parallel()
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxEvents = replay.ReservedEvents + 10
	limited(t, settings, func(s *replay.Scope) error {
		made := 0
		for refused(s.Timer(time.Hour)) == nil {
			made++
		}
		if made != 9 { // and the start
			return fmt.Errorf("%d timers", made)
		}
		if err := refused(s.Timer(time.Hour)); !errors.Is(err, failure.ErrHistoryFull) {
			return fmt.Errorf("full: %w", err)
		}
		left := 0
		for clean := s.Detached(); refused(clean.Timer(time.Hour)) == nil; {
			left++
		}
		if left != replay.ReservedEvents {
			return fmt.Errorf("%d of the reserve could be used", left)
		}
		return nil
	})
}

// An execution keeps the limits that it was started with. A node's own limits may be lower or
// higher today.
func TestHazard33_LimitsAreThoseOfTheStart(t *testing.T) {
	t.Parallel()
	now := replay.SettingsAt(replay.EngineLevel)
	low := history.Settings{MaxPayload: 100, MaxEvents: replay.ReservedEvents + 20, MaxBytes: replay.ReservedBytes + 5_000, Flags: now.Flags}
	high := history.Settings{MaxPayload: 3 << 20, MaxEvents: now.MaxEvents * 2, MaxBytes: now.MaxBytes * 2, Flags: now.Flags}
	limited(t, low, func(s *replay.Scope) error {
		_, effect := s.SideEffect(func() ([]byte, *history.Failure) { return make([]byte, 101), nil })
		for what, err := range map[string]error{
			"activity": refused(s.Activity(sized(101))), "side effect": effect, "output": s.AdmitPayload(101, "output"),
			"child": refused(s.Child(&history.ChildStarted{Name: "c", Input: make([]byte, 101)})), "next": s.AdmitSuccessor(101),
		} {
			if !errors.Is(err, failure.ErrTooLarge) {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		for range 18 {
			s.Timer(time.Hour)
		}
		if err := refused(s.Timer(time.Hour)); !errors.Is(err, failure.ErrHistoryFull) {
			return fmt.Errorf("events: %w", err)
		}
		return nil
	})
	limited(t, high, func(s *replay.Scope) error {
		return errors.Join(refused(s.Activity(sized(5<<19))), s.AdmitPayload(3<<20, "output"), s.AdmitSuccessor(5<<19))
	})
}

// The next execution continues with the settings of the first.
func TestHazard33_SettingsGoAlong(t *testing.T) {
	t.Parallel()
	settings := history.Settings{MaxPayload: 100, MaxEvents: 2000, MaxBytes: 5 << 20, Flags: replay.FlagOneByOne}
	first := started()
	first.Body.(*history.ExecutionStarted).Settings = settings
	x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(*replay.Scope) replay.Result {
		return replay.Result{Continue: &history.ContinuedAsNew{}}
	})
	t.Cleanup(x.Close)
	deliver(t, x, first)
	next := x.Turn().End.Next[0].Body.(*history.ExecutionStarted)
	if next.Settings != settings {
		t.Errorf("the next execution has %+v", next.Settings)
	}
}

// A history from before the limit on bytes, and before scopes ended, replays as it ran.
func TestHazard33_OldHistoriesAreJudgedAsTheyWere(t *testing.T) {
	t.Parallel()
	old := history.Settings{MaxPayload: 2 << 20, MaxEvents: replay.ReservedEvents + 50, Flags: replay.FlagOneByOne}
	var ended *replay.Scope
	limited(t, old, func(s *replay.Scope) error {
		for range 40 {
			if err := refused(s.Activity(sized(150_000))); err != nil {
				return fmt.Errorf("a limit on bytes: %w", err)
			}
		}
		if err := await(s, s.Go(func(s *replay.Scope) error { ended = s; return nil })); err != nil {
			return err
		}
		if err := errors.Join(ended.Err(), refused(ended.Timer(time.Hour))); err != nil {
			return fmt.Errorf("a scope that ends: %w", err)
		}
		for full := false; !full; {
			full = refused(s.Timer(time.Hour)) != nil
		}
		if err := refused(s.Detached().Timer(time.Hour)); !errors.Is(err, failure.ErrHistoryFull) {
			return fmt.Errorf("a reserve that can be used: %w", err)
		}
		return nil
	})
}

// A long history is logged once, when it is stored, and never on replay.
func TestHazard32_LongHistoryIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ each, payload int }{
		"events": {1, 0},
		"bytes":  {replay.WarnEvents / 16, replay.WarnBytes / 16},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			x := warned(t, &out)
			deliver(t, x, started())
			x.Confirm()
			for n := 2; n < replay.WarnEvents; n += c.each {
				deliver(t, x, at(1, received("box", strings.Repeat("x", c.payload), "")))
				if c.each == 1 {
					x.Confirm()
				}
			}
			if c.each == 1 && out.Len() > 0 {
				t.Errorf("too early: %s", &out)
			}
			all := append([]history.Event{}, x.Turn().Events...)
			deliver(t, x, at(2, received("box", "", "")))
			if out.Len() > 0 {
				t.Errorf("not stored yet: %s", &out)
			}
			for range 3 {
				x.Confirm()
				deliver(t, x, at(2, received("box", "", "")))
			}
			if n := strings.Count(out.String(), "continue as new"); n != 1 {
				t.Errorf("warned %d times: %s", n, &out)
			}
			if c.each > 1 {
				quietOnReplay(t, all)
			}
		})
	}
}

// warned makes an execution that logs to out and waits forever.
func warned(t *testing.T, out *bytes.Buffer) *replay.Execution {
	t.Helper()
	env := newEnv()
	env.Logger = slog.New(slog.NewTextHandler(out, nil))
	x := replay.New(env, replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(s *replay.Scope) replay.Result {
		_, _ = s.Wait(s.Mailbox("never"))
		return replay.Result{}
	})
	t.Cleanup(x.Close)
	return x
}

func quietOnReplay(t *testing.T, events []history.Event) {
	t.Helper()
	var out bytes.Buffer
	again := warned(t, &out)
	if lose(func() { _ = again.Replay(events) }) || again.View().Fault() != nil {
		t.Fatal(again.View().Fault())
	}
	deliver(t, again, at(3, received("box", "", "")))
	again.Confirm()
	if out.Len() > 0 {
		t.Errorf("warned again after replay: %s", &out)
	}
}
