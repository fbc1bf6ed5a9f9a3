package updatabletimer_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/updatabletimer"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// All times are after the start. A move has the moment at which it comes, and the new time.
func TestWait(t *testing.T) {
	for name, c := range map[string]struct {
		moves        map[time.Duration]time.Duration
		until, ended time.Duration
	}{
		"not moved":     {nil, 24 * time.Hour, 24 * time.Hour},
		"later":         {map[time.Duration]time.Duration{12 * time.Hour: 72 * time.Hour}, 72 * time.Hour, 72 * time.Hour},
		"later, sooner": {map[time.Duration]time.Duration{12 * time.Hour: 72 * time.Hour, 36 * time.Hour: 48 * time.Hour}, 48 * time.Hour, 48 * time.Hour},
		"past":          {map[time.Duration]time.Duration{12 * time.Hour: time.Hour}, time.Hour, 12 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				began := time.Now().UTC()
				h := orchestrationtest.Start(e, updatabletimer.Wait, began.Add(24*time.Hour))
				for at, until := range c.moves {
					e.After(at, func() error { return h.Raise(e.Context(), "move", began.Add(until)) })
				}
				if at, err := h.Wait(e.Context()); err != nil || at.Sub(began) != c.ended {
					t.Errorf("it ended %v after the start, %v, want %v", at.Sub(began), err, c.ended)
				}
				until, err := client.Query[time.Time](e.Context(), h.Handle, "until", orchestration.None{})
				if err != nil || until.Sub(began) != c.until {
					t.Errorf("the query returns %v, %v, want %v", until.Sub(began), err, c.until)
				}
			})
		})
	}
}
