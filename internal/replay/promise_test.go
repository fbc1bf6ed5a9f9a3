package replay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// What a handler sets in its first step is as old as its message: a wait for a timer and a promise answers with what came first.
func TestHazard113_APromiseIsAsOldAsItsMessage(t *testing.T) {
	t.Parallel()
	set, fired := at(1, received("set", "", "")), at(1, &history.TimerFired{Timer: 2})
	for name, c := range map[string]struct {
		turn []history.Event
		slow bool // the handler waits before it sets
		want int
	}{
		"event, timer":                 {[]history.Event{set, fired}, false, 1},
		"timer, event":                 {[]history.Event{fired, set}, false, 0},
		"event, timer, a slow handler": {[]history.Event{set, fired}, true, 0},
		"event":                        {[]history.Event{set}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, view := range []bool{false, true} {
				got := -1
				code := func(s *replay.Scope) error {
					timer, p := s.Timer(time.Second), s.NewPromise()
					promised := p.Source()
					if view {
						promised = p.View()
					}
					s.HandleEvent("set", false, func(s *replay.Scope, _ []byte) error {
						if c.slow {
							if err := await(s, s.Go(func(*replay.Scope) error { return nil })); err != nil {
								return err
							}
						}
						p.Settle(nil, nil)
						return nil
					})
					var err error
					got, err = s.Wait(timer, promised)
					return err
				}
				x := live(t, code)
				absorb(t, x, c.turn...)
				if got != c.want {
					t.Errorf("a view %v: source %d, want %d", view, got, c.want)
				}
				if _, err := replayed(t, code, x.Turn().Events); err != nil || got != c.want {
					t.Errorf("replayed: %d, %v", got, err)
				}
			}
		})
	}
}

// Who gives up a promise ends a view of it. Others still get what it is set to, and those that look later, too.
func TestHazard123_GivingUpAPromiseEndsOneView(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		p := s.NewPromise()
		kept, dropped := p.View(), p.View()
		dropped.Cancel(failure.ErrCancelled)
		if kept.Ready() || p.Source().Ready() || !dropped.Ready() {
			return errors.New("the wrong one has ended")
		}
		s.Go(func(s *replay.Scope) error {
			p.Settle([]byte("7"), nil)
			return nil
		})
		for i, f := range []*replay.Future{kept, p.View()} {
			if _, err := s.Wait(f); err != nil {
				return err
			}
			if data, err := f.Result(); string(data) != "7" || err != nil {
				return fmt.Errorf("view %d: %s, %w", i, data, err)
			}
		}
		if _, err := dropped.Result(); !errors.Is(err, failure.ErrCancelled) {
			return fmt.Errorf("the view that was given up: %w", err)
		}
		if p.Settle([]byte("8"), nil) {
			return errors.New("it was set twice")
		}
		data, err := p.View().Result()
		if string(data) != "7" {
			err = fmt.Errorf("later: %s, %w", data, err)
		}
		return err
	})
	if end := x.View().End(); end == nil || end.Failure != nil {
		t.Errorf("end %+v", end)
	}
}
