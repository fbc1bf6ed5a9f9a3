package dispatcher_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// The cache counts what executions hold. A history that is much longer than the cache is large costs no replay.
func TestLongInstancesStayCached(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	const steps, size, limit = 200, 16 << 10, 256 << 10 // results of 3.2 MB in all
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: limit}}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "read", func(context.Context, int) (string, error) { return strings.Repeat("x", size), nil })
		enginetest.Orchestration(e.T, reg, "long", func(ctx *octx, n int) (int, error) {
			total := 0
			for i := range n {
				page, err := orchestration.CallActivityNamed[string](ctx, "read", i)
				if err != nil {
					return 0, err
				}
				total += len(page)
			}
			_, err := orchestration.Events[int](ctx, "end").Receive(ctx)
			return total, err
		})
		rt := e.Start(reg)
		var keys []provider.UUID
		for i, id := range []string{"one", "two", "three"} {
			keys = append(keys, e.Create(id, "long", steps))
			e.Until("the instance rests", func() bool {
				s := rt.Stats()
				return s.AttemptsCompleted == int64((i+1)*steps) && s.Cached == int64(i+1)
			})
		}
		if s := rt.Stats(); s.ColdReplays != 0 || s.CachedBytes > limit/2 {
			e.T.Errorf("%d replays, %d bytes cached", s.ColdReplays, s.CachedBytes)
		}
		for _, key := range keys {
			e.Raise(key, "end", 1)
			if total := enginetest.Output[int](e, key); total != steps*size {
				e.T.Errorf("%d bytes were read, want %d", total, steps*size)
			}
		}
	})
}
