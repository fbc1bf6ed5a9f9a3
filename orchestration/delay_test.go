package orchestration_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// startDelayed starts "main", which must not begin before its delay.
func startDelayed(e *enginetest.Engine, d time.Duration) client.Handle[time.Time] {
	e.T.Helper()
	c := e.Client(client.Options{})
	h, err := client.StartNamed[time.Time](e.T.Context(), c, "main", none{}, client.WithDelay(d))
	if err != nil {
		e.T.Fatal(err)
	}
	return h
}

// Cancelled within its delay, an instance ends at once, and its code never begins.
func TestDelayedStartIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{time.Hour, math.MaxInt64} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (time.Time, error) {
					e.T.Error("the code began")
					return ctx.Now(), nil
				})
				e.Start(reg)
				h := startDelayed(e, delay)
				e.Until("its history begins", func() bool { return e.Get(h.Key()).HistoryLength > 0 })
				e.Cancel(h.Key(), "enough")
				i := e.WaitEnded(h.Key())
				if i.Status != provider.StatusCancelled || i.EndedAt.Sub(i.CreatedAt) > time.Minute {
					e.T.Errorf("ended as %v after %v", i.Status, i.EndedAt.Sub(i.CreatedAt))
				}
				const want = "ExecutionStarted TimerCreated CancelRequested TimerCancelled ExecutionCancelled"
				if got := kinds(e.History(h.Key(), 1)); got != want {
					e.T.Errorf("its history is %s", got)
				}
				if i.EngineLevel < replay.LevelOfDelay {
					e.T.Errorf("its level is %d: nodes of older releases begin its code at once", i.EngineLevel)
				}
			})
		})
	}
}

// A delayed start shows its history at once, takes events, and hands them to the code when the delay is over.
func TestDelayedStartTakesEvents(t *testing.T) {
	t.Parallel()
	const delay = 200 * time.Millisecond
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (time.Time, error) {
			began := ctx.Now()
			for i := range 3 {
				if n, err := orchestration.Events[int](ctx, "early").Receive(ctx); err != nil || n != i {
					return began, errors.Join(err, fmt.Errorf("event %d is %d", i, n))
				}
			}
			return began, nil
		})
		e.Start(reg)
		h := startDelayed(e, delay)
		for i := range 3 {
			e.Raise(h.Key(), "early", i)
		}
		created := e.Get(h.Key()).CreatedAt.Std()
		if began := enginetest.Output[time.Time](e, h.Key()); began.Sub(created) < delay {
			e.T.Errorf("began %v after it was created", began.Sub(created))
		}
		if got := kinds(e.History(h.Key(), 1)); !strings.HasPrefix(got, "ExecutionStarted ") || strings.Count(got, "TimerCreated") != 1 {
			e.T.Errorf("its history is %s", got)
		}
	})
}

// The delay counts from the start, also if no node runs until it is over.
func TestDelayCountsFromTheStart(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (time.Time, error) { return ctx.Now(), nil })
		h := startDelayed(e, delay)
		created := e.Get(h.Key()).CreatedAt.Std()
		e.Until("the delay is half over", func() bool { return time.Since(created) > delay/2 })
		e.Start(reg)
		if began := enginetest.Output[time.Time](e, h.Key()); began.Sub(created) < delay || began.Sub(created) >= delay+delay/2 {
			e.T.Errorf("began %v after it was created, for a delay of %v", began.Sub(created), delay)
		}
	})
}

// Older releases delayed the start message itself. Instances that they stored begin when the message is due.
func TestDelayedMessageOfOlderReleases(t *testing.T) {
	t.Parallel()
	const delay = 200 * time.Millisecond
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (time.Time, error) { return ctx.Now(), nil })
		e.Start(reg)
		req := provider.CreateRequest{ID: "main", Key: enginetest.NewID(), Commit: enginetest.NewID(), Name: "main", EngineLevel: replay.LowestLevel}
		req.Message = provider.NewMessage{
			Kind: provider.MessageKind(history.KindExecutionStarted), Delay: delay,
			Payload: history.Encode(nil, history.Event{Body: &history.ExecutionStarted{Name: "main", Input: []byte(`{}`), Settings: replay.SettingsAt(replay.EngineLevel)}}),
		}
		if _, err := e.Store.Create(e.T.Context(), req); err != nil {
			e.T.Fatal(err)
		}
		created := e.Get(req.Key).CreatedAt.Std()
		if began := enginetest.Output[time.Time](e, req.Key); began.Sub(created) < delay {
			e.T.Errorf("began %v after it was created", began.Sub(created))
		}
	})
}
