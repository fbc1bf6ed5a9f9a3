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
		want int
	}{
		"event, timer": {[]history.Event{set, fired}, 1},
		"timer, event": {[]history.Event{fired, set}, 0},
		"event":        {[]history.Event{set}, 1},
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
					s.HandleEvent("set", false, func(*replay.Scope, []byte) error {
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

// What a handler sets after it has waited is as old as the last message of the turn: nobody knows what it has waited for.
func TestHazard113_WaitingMakesAPromiseYounger(t *testing.T) {
	t.Parallel()
	got := -1
	code := func(s *replay.Scope) error {
		first, slow, quick := s.NewPromise(), s.NewPromise(), s.NewPromise()
		s.HandleEvent("slow", false, func(s *replay.Scope, _ []byte) error {
			_, err := s.Wait(first.Source())
			slow.Settle(nil, nil)
			return err
		})
		for name, p := range map[string]*replay.Promise{"first": first, "quick": quick} {
			s.HandleEvent(name, false, func(*replay.Scope, []byte) error {
				p.Settle(nil, nil)
				return nil
			})
		}
		var err error
		got, err = s.Wait(slow.Source(), quick.Source())
		return err
	}
	x := live(t, code)
	absorb(t, x, at(1, received("slow", "", "")), at(1, received("first", "", "")), at(1, received("quick", "", "")), at(1, received("last", "", "")))
	if got != 1 {
		t.Errorf("source %d", got)
	}
	if _, err := replayed(t, code, x.Turn().Events); err != nil || got != 1 {
		t.Errorf("replayed: %d, %v", got, err)
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
