package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Details that no storage takes are refused to the activity that reports them. Were they
// sent, no lease of the node could be renewed.
func TestOversizeHeartbeatHurtsNobody(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var refused, deliveries enginetest.Notes[any]
		reg := single(e, func(ctx context.Context, n int) (int, error) {
			deliveries.Add(activity.GetInfo(ctx).Deliveries)
			if n == 0 {
				refused.Add(activity.Heartbeat(ctx, strings.Repeat("x", 3<<20)))
			}
			select {
			case <-time.After(5 * time.Minute):
				return n, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		})
		e.Start(reg)
		big, other := e.Create("big", "single", 0), e.Create("other", "single", 1)
		enginetest.Output[int](e, big)
		enginetest.Output[int](e, other)
		if n := len(deliveries.All()); n != 2 {
			e.T.Errorf("%d deliveries: %v", n, deliveries.All())
		}
		if err, ok := refused.All()[0].(error); !ok || !errors.Is(err, orchestration.ErrTooLarge) {
			e.T.Errorf("heartbeat answered %v", refused.All())
		}
	})
}

// A panic with a novel for a value blocks its instance like any other.
func TestOversizePanicStillBlocks(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(*octx, none) (none, error) { panic(strings.Repeat("novel ", 1<<20)) })
		e.Start(reg)
		key := e.Create("main", "main", none{})
		began := time.Now()
		b := e.WaitBlocked(key, 1).Blocked
		if b.Reason != "panic" || !strings.Contains(b.Message, "novel novel") || !strings.Contains(b.Message, "oversize_test.go") {
			e.T.Errorf("%s: %.200s", b.Reason, b.Message)
		}
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("took %v", took)
		}
	})
}

// The longest name there is does not keep a task from being poisoned.
func TestPoisonedTaskWithALongName(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{PoisonLimit: 1}, func(e *enginetest.Engine) {
		name := strings.Repeat("é", 256)
		turns := runtime.NewRegistry()
		enginetest.Orchestration(e.T, turns, "main", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, name, n)
		})
		e.Start(turns)
		key := e.Create("main", "main", 1)
		lose(e, name, time.Second)
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, name, func(context.Context, int) (int, error) { return 1, nil })
		e.Start(reg)
		if _, err := enginetest.Result[int](e, key, nil); !errors.Is(err, orchestration.ErrPoisoned) {
			e.T.Errorf("got %v", err)
		}
	})
}

// The details of many attempts may be more than fits into one renewal: they go in several.
func TestManyLargeHeartbeatsAreRenewed(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var deliveries enginetest.Notes[any]
		const many = 140
		reg := single(e, func(ctx context.Context, n int) (int, error) {
			deliveries.Add(activity.GetInfo(ctx).Deliveries)
			if err := activity.Heartbeat(ctx, strings.Repeat("x", 256<<10-100)); err != nil {
				return 0, err
			}
			select {
			case <-time.After(5 * time.Minute):
				return n, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		})
		e.Start(reg)
		var list []provider.UUID
		for n := range many {
			list = append(list, e.Create(fmt.Sprint(n), "single", n))
		}
		for _, key := range list {
			enginetest.Output[int](e, key)
		}
		if n := len(deliveries.All()); n != many {
			e.T.Errorf("%d deliveries of %d activities", n, many)
		}
	})
}
