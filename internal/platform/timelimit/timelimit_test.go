package timelimit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/platform/timelimit"
)

// Every call has seven eighths of the time at least, and never more than all of it.
func TestSharedDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 8 * time.Second
		parent, cancel := context.WithCancel(t.Context())
		s := timelimit.NewShared(parent, limit)
		first := s.Context()
		for range 40 {
			ctx := s.Context()
			end, ok := ctx.Deadline()
			if left := time.Until(end); !ok || left < limit*7/8 || left > limit {
				t.Fatalf("a call has %v", left)
			}
			if ctx.Err() != nil {
				t.Fatal(ctx.Err())
			}
			time.Sleep(300 * time.Millisecond) //nolint:forbidigo // virtual time
		}
		if !errors.Is(first.Err(), context.DeadlineExceeded) {
			t.Errorf("after its time the first context says %v", first.Err())
		}
		if last := s.Context(); last == first {
			t.Error("one context is for all calls")
		}
		cancel()
		if s.Context().Err() == nil {
			t.Error("the parent has ended, and its calls go on")
		}
	})
}
