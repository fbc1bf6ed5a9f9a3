package replay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// limited runs code under its own limits, live and on replay.
func limited(t *testing.T, settings history.Settings, code program) {
	t.Helper()
	var failed error
	run := func(s *replay.Scope) error {
		if err := code(s); err != nil {
			failed = err
		}
		_, err := s.Wait(s.Mailbox("never"))
		return err
	}
	x := newExecution(run)
	t.Cleanup(x.Close)
	first := started()
	first.Body.(*history.ExecutionStarted).Settings = settings
	deliver(t, x, first)
	if failed != nil {
		t.Errorf("live: %v", failed)
	}
	if _, err := replayed(t, run, x.Turn().Events); err != nil || failed != nil {
		t.Errorf("replay: %v, %v", err, failed)
	}
}

func TestMaxPayload(t *testing.T) {
	t.Parallel()
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxPayload = 10
	limited(t, settings, func(s *replay.Scope) error {
		for size, want := range []error{10: nil, 11: failure.ErrTooLarge} {
			in := make([]byte, size)
			_, effect := s.SideEffect(func() ([]byte, *history.Failure) { return in, nil })
			for _, err := range []error{effect, s.AdmitPayload(size, "x"), s.AdmitSuccessor(size)} {
				if !errors.Is(err, want) {
					return fmt.Errorf("%d bytes: %w", size, err)
				}
			}
		}
		for _, f := range []*replay.Future{
			s.Activity(&history.ActivityScheduled{Name: "a", Input: make([]byte, 11)}),
			s.Child(&history.ChildStarted{Name: "a", Input: make([]byte, 11)}),
		} {
			if err := await(s, f); !errors.Is(err, failure.ErrTooLarge) {
				return fmt.Errorf("command: %w", err)
			}
		}
		if f := s.Activity(&history.ActivityScheduled{Name: "a", Input: make([]byte, 10)}); f.Ready() {
			return errors.New("ten bytes are refused")
		}
		return nil
	})
}

// The end of a history is reserved for ending: cancelling still records its commands there.
func TestMaxEvents(t *testing.T) {
	t.Parallel()
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxEvents = replay.ReservedEvents + 5
	limited(t, settings, func(s *replay.Scope) error {
		var open []*replay.Future
		for range 4 {
			open = append(open, s.Timer(time.Hour))
		}
		// A scope without a timer must not look like one without a timeout.
		scope, _ := s.WithTimeout(time.Hour)
		if err := scope.Err(); !errors.Is(err, failure.ErrHistoryFull) {
			return fmt.Errorf("scope: %w", err)
		}
		_, effect := s.SideEffect(func() ([]byte, *history.Failure) { return nil, nil })
		for _, err := range []error{effect, await(s, s.Timer(1)), await(s, s.Activity(activity("a")))} {
			if !errors.Is(err, failure.ErrHistoryFull) {
				return fmt.Errorf("full: %w", err)
			}
		}
		for _, f := range open {
			f.Cancel(failure.ErrCancelled)
		}
		return nil
	})
}

func TestMaxPendingActivities(t *testing.T) {
	t.Parallel()
	limited(t, replay.SettingsAt(replay.EngineLevel), func(s *replay.Scope) error {
		var last *replay.Future
		for range replay.MaxPendingActivities {
			last = s.Activity(activity("a"))
		}
		if last.Ready() {
			return errors.New("the last one is refused")
		}
		if err := await(s, s.Activity(activity("a"))); !errors.Is(err, failure.ErrTooLarge) {
			return fmt.Errorf("one more: %w", err)
		}
		last.Cancel(failure.ErrCancelled)
		if s.Activity(activity("a")).Ready() {
			return errors.New("the place of a cancelled one is not free")
		}
		return nil
	})
}

// Whatever code does, and even if it is then cancelled, the turn fits into one commit.
func TestATurnFitsIntoOneCommit(t *testing.T) {
	t.Parallel()
	greedy := map[string]program{
		"timers":       func(s *replay.Scope) error { return refused(s.Timer(time.Hour)) },
		"many, little": func(s *replay.Scope) error { return refused(s.Activity(activity("a"))) },
		"few, large": func(s *replay.Scope) error {
			return refused(s.Child(&history.ChildStarted{Name: "c", Input: make([]byte, 1<<20)}))
		},
		"made and given up": func(s *replay.Scope) error {
			f := s.Timer(time.Hour)
			err := refused(f)
			f.Cancel(failure.ErrCancelled)
			return err
		},
		"side effects": func(s *replay.Scope) error {
			_, err := s.SideEffect(func() ([]byte, *history.Failure) { return make([]byte, 1<<20), nil })
			return err
		},
	}
	for name, more := range greedy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := live(t, func(s *replay.Scope) error {
				for {
					if err := more(s); errors.Is(err, failure.ErrTooLarge) {
						if _, err := s.Wait(s.Mailbox("box")); err != nil {
							return err
						}
						s.Mailbox("box").Take()
					} else if err != nil {
						return err
					}
				}
			})
			for turn := range 3 {
				rows, bytes := 0, 0
				for _, e := range x.Turn().Events {
					rows++
					size := len(history.Encode(nil, e))
					bytes += size
					switch e.Body.Kind() {
					case history.KindActivityScheduled, history.KindChildStarted:
						bytes += size
					}
				}
				if rows > provider.MaxCommitRows || bytes > provider.MaxCommitBytes {
					t.Errorf("turn %d has %d rows, %d bytes", turn, rows, bytes)
				}
				x.Confirm()
				if turn == 1 {
					deliver(t, x, at(2, &history.CancelRequested{}))
				}
				for !x.View().TurnFull() && !x.View().Ended() {
					deliver(t, x, at(1, received("box", "", "")))
					if len(x.Turn().Events) == 0 {
						break
					}
				}
			}
		})
	}
}

func TestUnreadEventsOfTheNextExecutionAreBounded(t *testing.T) {
	t.Parallel()
	x := newExecution(func(s *replay.Scope) error {
		if _, err := s.Wait(s.Mailbox("go")); err != nil {
			return err
		}
		for range 2 {
			if err := s.AdmitSuccessor(1); !errors.Is(err, failure.ErrTooLarge) {
				return fmt.Errorf("not refused: %w", err)
			}
		}
		s.Mailbox("box").Take()
		return s.AdmitSuccessor(1)
	})
	t.Cleanup(x.Close)
	deliver(t, x, started())
	for range replay.MaxUnread {
		deliver(t, x, at(1, received("box", "", "")))
	}
	deliver(t, x, at(1, received("go", "", "")))
	if end := x.Turn().End; end == nil || end.Failure != nil {
		t.Errorf("%+v", end)
	}
}

// refused returns why an operation was not begun.
func refused(f *replay.Future) error {
	if !f.Ready() {
		return nil
	}
	_, err := f.Result()
	return err
}

// A node takes only executions whose events it can apply. An execution that uses nothing new stays open to all nodes.
func TestLevelsOfEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body history.Body
		want int64
	}{
		"start":               {&history.ExecutionStarted{Settings: replay.SettingsAt(replay.LevelOfDelay)}, replay.LowestLevel},
		"delayed start":       {&history.ExecutionStarted{Settings: replay.SettingsAt(replay.LevelOfDelay), Delay: 1}, replay.LevelOfDelay},
		"together":            {&history.ExecutionStarted{Settings: replay.SettingsAt(replay.LevelOfTogether), Delay: 1}, replay.LevelOfTogether},
		"handlers":            {&history.ExecutionStarted{Settings: replay.SettingsAt(replay.LevelOfAnchors), Delay: 1}, replay.LevelOfHandlers},
		"start of this level": {&history.ExecutionStarted{Settings: replay.SettingsAt(replay.EngineLevel), Delay: 1}, replay.LevelOfLanguage},
		"end of main":         {&history.MainReturned{}, replay.LevelOfHandlers},
		"start of a fork":     {&history.ExecutionStarted{Settings: replay.SettingsAt(replay.LevelOfDelay), Seed: []byte{1}}, replay.LevelOfHandlers},
		"fork point":          {&history.ForkPoint{}, replay.LevelOfHandlers},
		"child":               {&history.ChildStarted{Name: "c", CodeVersion: "1", ID: "c", Explicit: true, Input: []byte("1")}, replay.LowestLevel},
		"cancelled child":     {&history.ChildStarted{Cancellation: history.CancelWait}, replay.LevelOfLanguage},
		"child that outlives": {&history.ChildStarted{Close: history.CloseAbandon}, replay.LevelOfLanguage},
		"child that tells":    {&history.ChildStarted{TellStart: true}, replay.LevelOfLanguage},
		"child with columns":  {&history.ChildStarted{Attributes: []history.Attribute{{Name: "a", Kind: 1}}}, replay.LevelOfLanguage},
		"child with header":   {&history.ChildStarted{Header: []byte{1}}, replay.LevelOfLanguage},
		"event":               {&history.EventReceived{Name: "e"}, replay.LowestLevel},
	} {
		if got := replay.LevelOf(c.body); got != c.want {
			t.Errorf("%s: level %d, want %d", name, got, c.want)
		}
	}
}

// The settings that a level allows never need a newer node.
func TestHazard80_SettingsFitTheirLevel(t *testing.T) {
	t.Parallel()
	for level := int64(replay.LowestLevel); level <= replay.EngineLevel; level++ {
		if got := replay.LevelOf(&history.ExecutionStarted{Name: "a", Settings: replay.SettingsAt(level)}); got > level {
			t.Errorf("an execution with the settings of level %d needs level %d", level, got)
		}
	}
}

// A message names its level if it needs a newer node than the oldest that share a store.
func TestHazard62_MessagesNameTheirLevel(t *testing.T) {
	t.Parallel()
	for want, body := range map[int64]history.Body{
		0:                   &history.EventReceived{Name: "a"},
		replay.LevelOfDelay: &history.ExecutionStarted{Name: "a", Delay: 1},
	} {
		if got := replay.LevelOfMessage(body); got != want {
			t.Errorf("%v names level %d, want %d", body.Kind(), got, want)
		}
	}
	for _, body := range []history.Body{
		&history.ExecutionStarted{Name: "a", Header: []byte("h")}, &history.EventReceived{Name: "a", Header: []byte("h")},
		&history.CancelRequested{Header: []byte("h")}, &history.ExecutionStarted{Name: "a", Began: 1},
		&history.ExecutionStarted{Name: "a", Root: history.Root{ID: "r"}},
	} {
		if got := replay.LevelOfMessage(body); got != replay.LevelOfHandlers {
			t.Errorf("%+v names level %d, want %d", body, got, replay.LevelOfHandlers)
		}
	}
	if got := replay.LevelOfMessage(&history.CancelRequested{}); got != 0 {
		t.Errorf("a request to cancel names level %d", got)
	}
}
