package kit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
)

// slow is a sync that takes a second of a bubble's clock.
func slow(count *int, result *error) func() error {
	return func() error {
		*count++
		time.Sleep(time.Second) //nolint:forbidigo // of a bubble's clock
		return *result
	}
}

// Calls that come while a sync runs share the next one: the one that runs may not have what they wrote.
func TestCallsShareASync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var syncs int
		var result error
		s, began := kit.NewSyncer(slow(&syncs, &result)), time.Now()
		var calls sync.WaitGroup
		call := func(want time.Duration) {
			s.Wrote()
			if err := s.Wait(t.Context(), "send"); err != nil || time.Since(began) != want {
				t.Errorf("it waited %v with error %v, want %v", time.Since(began), err, want)
			}
		}
		calls.Go(func() { call(time.Second) })
		synctest.Wait()
		for range 10 {
			calls.Go(func() { call(2 * time.Second) })
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Wait(ctx, "get"); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that gives up got %v, want the error of its context", err)
		}
		calls.Wait()
		if err := s.Wait(t.Context(), "get"); err != nil || time.Since(began) != 2*time.Second || syncs != 2 {
			t.Errorf("%d syncs, then a call that wrote nothing waited %v with error %v, want 2 and no wait", syncs, time.Since(began)-2*time.Second, err)
		}
	})
}

func TestFailedSyncIsFinal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var syncs int
		result := errors.New("disk is gone")
		s := kit.NewSyncer(slow(&syncs, &result))
		s.Wrote()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				var failed *provider.Error
				if err := s.Wait(t.Context(), "send"); !errors.As(err, &failed) || failed.Outcome != provider.OutcomeUnknown || !errors.Is(err, result) {
					t.Errorf("got %v, want an unknown outcome", err)
				}
			})
		}
		calls.Wait()
		failure := result
		result = nil
		s.Wrote()
		if err := s.Wait(t.Context(), "send"); !errors.Is(err, failure) || !errors.Is(s.Failed(), failure) || syncs != 1 {
			t.Errorf("after it failed, %d syncs and error %v, want none more and the same error", syncs, err)
		}
	})
}
