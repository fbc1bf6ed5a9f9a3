package workload

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What is asked of a system that stalls is asked at its moment all the same, and the wait counts.
func TestPacedCountsFromTheMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, pause, stall = 20, 10 * time.Millisecond, 100 * time.Millisecond
		var begun []time.Duration
		began := time.Now()
		over := began.Add(pause + stall)
		took, late, err := paced(t.Context(), n, pause, func(context.Context) error {
			begun = append(begun, time.Since(began))
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
		calls := 0
		_, _, err := paced(t.Context(), 100, 10*time.Millisecond, func(context.Context) error { calls++; return boom })
		if !errors.Is(err, boom) || calls > 2 {
			t.Errorf("%d calls, %v", calls, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer cancel()
		if _, _, err := paced(ctx, 100, 10*time.Millisecond, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a finished context: %v", err)
		}
	})
}
