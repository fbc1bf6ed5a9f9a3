package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// lostWakeups is a store that loses every wake-up: a parked fetch sees what was there before, and nothing more until it is over.
type lostWakeups struct{ *provider.Full }

func (d lostWakeups) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	wait := req.Wait
	req.Wait = 0
	res, err := d.Provider.FetchTurns(ctx, req)
	if err == nil && len(res.Turns) == 0 {
		pause(ctx, wait)
	}
	return res, err
}

func (d lostWakeups) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	wait := req.Wait
	req.Wait = 0
	res, err := d.Provider.FetchTasks(ctx, req)
	if err == nil && len(res.Tasks) == 0 {
		pause(ctx, wait)
	}
	return res, err
}

// A wake-up that gets lost costs the rest of a parked fetch, never a hang: each fetch is made anew within half a minute.
func TestHazard05_LostWakeUpIsHealed(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		turns, worker := separate(e, func(_ context.Context, n int) (int, error) { return n, nil })
		e.StartOn(lostWakeups{e.Store}, turns, e.Options)
		e.StartOn(lostWakeups{e.Store}, worker, e.Options)
		time.Sleep(time.Second) //nolint:forbidigo // virtual time: all fetches are parked
		key := e.Create("single", "single", 7)
		began := time.Now()
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
		if took := time.Since(began); took > 91*time.Second {
			e.T.Errorf("three lost wake-ups cost %v", took)
		}
	})
}
