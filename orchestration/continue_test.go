package orchestration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// state is what the executions hand on.
type state struct {
	Round int
	Got   []int
}

// Ten executions follow each other while events flow. No event is lost, doubled or reordered, whether it was waiting in
// the inbox, received and unread, or sent in between.
func TestHazard29_NoEventIsLost(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, s state) ([]int, error) {
			box := orchestration.Events[int](ctx, "box")
			for range 3 {
				v, err := box.Receive(ctx)
				if err != nil || v < 0 {
					return s.Got, err
				}
				s.Got = append(s.Got, v)
			}
			if _, err := orchestration.CallActivity(ctx, Double, s.Round); err != nil {
				return nil, err
			}
			s.Round++
			return nil, fmt.Errorf("next round: %w", orchestration.ContinueAsNew(ctx, s))
		}, state{})
		var want []int
		for i := range 35 {
			e.Raise(key, "box", i)
			want = append(want, i)
		}
		e.Raise(key, "box", -1)
		if diff := cmp.Diff(want, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
		if i := e.Get(key); i.Execution != 12 {
			e.T.Errorf("ended in execution %d", i.Execution)
		}
	})
}

// An execution that ends takes its open work along: its activity is cancelled, its timer removed, its late result dropped.
func TestHazard29_TimersAndTasksGo(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) (int, error) {
			orchestration.StartActivity(ctx, Hang, none{})
			orchestration.StartTimer(ctx, 24*time.Hour)
			if err := ctx.Sleep(time.Second); err != nil {
				return 0, err
			}
			if n < 3 {
				return 0, orchestration.ContinueAsNew(ctx, n+1)
			}
			_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
			return n, err
		}, 0)
		began := time.Now()
		e.Until("the last execution waits", func() bool { i := e.Get(key); return i.Execution == 4 && i.HistoryLength == 6 })
		if took := time.Since(began); took > time.Minute {
			e.T.Errorf("three executions took %v", took)
		}
		if tasks := e.Tasks(key); len(tasks) != 1 || tasks[0].Execution != 4 {
			e.T.Errorf("tasks %+v", tasks)
		}
		if n := e.Get(key).InboxMessages; n != 1 {
			e.T.Errorf("%d messages wait, want the timer of the last execution", n)
		}
		e.Raise(key, "end", none{})
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
	})
}

// A cancellation that code returns by continuing is not forgotten.
func TestContinueAsNewKeepsTheCancellation(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) (string, error) {
			err := ctx.Sleep(time.Hour)
			if n == 0 {
				return "", orchestration.ContinueAsNew(ctx, 1)
			}
			if !errors.Is(err, orchestration.ErrCancelled) {
				return "", fmt.Errorf("second execution: %w", err)
			}
			return err.Error(), nil
		}, 0)
		e.Cancel(key, "enough")
		if got := enginetest.Output[string](e, key); got != "cancelled: enough" {
			e.T.Errorf("got %q", got)
		}
	})
}

// A history that becomes too long refuses operations with a typed error while there is room
// for cleaning up.
func TestFullHistory(t *testing.T) {
	t.Parallel()
	settings := replay.SettingsAt(replay.EngineLevel)
	settings.MaxEvents = 1100
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, first bool) (string, error) {
			if !first {
				return "continued", nil
			}
			for i := range 1000 {
				timer := orchestration.StartTimer(ctx, time.Hour)
				if i%10 == 0 {
					if err := ctx.Sleep(time.Second); errors.Is(err, orchestration.ErrHistoryFull) {
						return "", orchestration.ContinueAsNew(ctx, false)
					}
				}
				timer.Cancel()
			}
			return "", errors.New("the history has no end")
		})
		e.Start(reg)
		key := e.CreateWith("main", "main", true, settings)
		if got := enginetest.Output[string](e, key); got != "continued" {
			e.T.Errorf("got %q", got)
		}
	})
}

// Continuing as new with more unread events than fit into one commit is refused to the code. The code can read them and
// continue: the instance is not stuck for ever.
func TestContinueAsNewWithTooMuchUnread(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, round int) (int, error) {
			if round > 0 {
				left, err := drain(ctx, "box")
				return len(left), err
			}
			if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
				return 0, err
			}
			box := orchestration.Events[int](ctx, "box")
			for {
				err := orchestration.ContinueAsNew(ctx, round+1)
				if !errors.Is(err, orchestration.ErrTooLarge) {
					return 0, err
				}
				if _, _, err := box.TryReceive(); err != nil {
					return 0, err
				}
			}
		})
		key := e.Create("main", "main", 0)
		for i := range provider.MaxCommitRows/2 + 10 {
			e.Raise(key, "box", i)
		}
		e.Raise(key, "go", none{})
		e.Start(reg)
		e.Until("it has continued", func() bool { return e.Get(key).Execution == 2 })
		e.Raise(key, "box", -1)
		if got := enginetest.Output[int](e, key); got != provider.MaxCommitRows/2 {
			e.T.Errorf("%d events were carried over", got)
		}
	})
}
