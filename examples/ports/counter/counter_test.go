package counter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/counter"
	"github.com/perdure/perdure/orchestrationtest"
)

// All times are after the start. An event has the moment at which it comes, and what it adds.
func TestReach(t *testing.T) {
	for name, c := range map[string]struct {
		adds  map[time.Duration]int
		count int
		ended time.Duration
	}{
		"in one":             {map[time.Duration]int{time.Hour: 12}, 12, time.Hour},
		"in steps":           {map[time.Duration]int{time.Hour: 6, 2 * time.Hour: 3, 3 * time.Hour: 1}, 10, 3 * time.Hour},
		"not in time":        {map[time.Duration]int{time.Hour: 9, 25 * time.Hour: 1}, 9, 24 * time.Hour},
		"at the last moment": {map[time.Duration]int{24*time.Hour - 1: 10}, 10, 24*time.Hour - 1},
		"never":              {nil, 0, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				began := time.Now()
				h := orchestrationtest.Start(e, counter.Reach, counter.Goal{Count: 10, Patience: 24 * time.Hour})
				for at, n := range c.adds {
					e.After(at, func() error {
						if err := h.Raise(e.Context(), "add", n); !errors.Is(err, client.ErrEnded) {
							return err
						}
						return nil
					})
				}
				count, err := h.Wait(e.Context())
				if count != c.count || err != nil || time.Since(began).Round(time.Second) != c.ended.Round(time.Second) {
					t.Errorf("%d, %v after %v, want %d after %v", count, err, time.Since(began), c.count, c.ended)
				}
			})
		})
	}
}

// The longest wait looks first. The second update sees what the first has left.
func TestTakesWaitInTheirOrder(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, counter.Reach, counter.Goal{Count: 100, Patience: 24 * time.Hour})
		var takes []client.UpdateHandle[int]
		for range 2 {
			u, err := client.SendUpdate[int](e.Context(), h.Handle, "take", 3)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := u.Wait(e.Context(), client.UntilAccepted()); err != nil {
				t.Fatal(err)
			}
			takes = append(takes, u)
		}
		for i, want := range []int{1, 2} {
			if err := h.Raise(e.Context(), "add", 4); err != nil {
				t.Fatal(err)
			}
			if left, err := takes[i].Wait(e.Context()); left != want || err != nil {
				t.Errorf("take %d left %d, %v, want %d", i+1, left, err, want)
			}
		}
		count, err := h.Wait(e.Context())
		if count != 2 || err != nil {
			t.Errorf("ended with %d, %v", count, err)
		}
	})
}
