package workload

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Calls to a stalled system start at their moments all the same, and their wait counts.
func TestPacedCountsFromTheMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, pause, stall = 20, 4 * time.Millisecond, 40 * time.Millisecond
		var mu sync.Mutex
		var begun []time.Duration
		began := time.Now()
		over := began.Add(pause + stall)
		took, late, err := paced(t.Context(), n, pause, func(context.Context) error {
			mu.Lock()
			begun = append(begun, time.Since(began))
			mu.Unlock()
			time.Sleep(max(time.Millisecond, time.Until(over))) //nolint:forbidigo // virtual time
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			moment := time.Duration(i+1) * pause
			want := max(time.Millisecond, pause+stall-moment)
			if begun[i] != moment || took[i] != want || late[i] != 0 {
				t.Errorf("call %d began at %v and took %v, late %v; want %v, %v", i, begun[i], took[i], late[i], moment, want)
			}
		}
	})
}

func TestPacedEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var calls atomic.Int64
		_, _, err := paced(t.Context(), 100, 4*time.Millisecond, func(context.Context) error { calls.Add(1); return boom })
		if !errors.Is(err, boom) || calls.Load() > 2 {
			t.Errorf("%d calls, %v", calls.Load(), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Millisecond)
		defer cancel()
		if _, _, err := paced(ctx, 100, 4*time.Millisecond, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a finished context: %v", err)
		}
	})
}
