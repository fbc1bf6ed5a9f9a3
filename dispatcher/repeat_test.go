package dispatcher_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An execution knows the last 10,000 requests of its instance, whatever came meanwhile. So does one built from its
// history, and the one that continues it. Each event keeps the ID of its request.
func TestHazard15_TenThousandRequestsAreKnown(t *testing.T) {
	t.Parallel()
	const known = 10_000
	for name, opts := range map[string]runtime.Options{"cached": {}, "cold": {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "count", func(ctx *octx, got int) (int, error) {
					box := orchestration.Events[int](ctx, "box")
					for n := 0; ; n++ {
						v, err := box.Receive(ctx)
						switch {
						case err != nil:
							return 0, err
						case v < 0:
							return got + n, nil
						case v == known/2:
							return 0, orchestration.ContinueAsNew(ctx, got+n+1)
						}
					}
				})
				key := e.Create("count", "count", 0)
				for i := range known + 1 {
					e.RaiseAs(key, "box", i, fmt.Sprint("request ", i))
				}
				rt := e.Start(reg)
				e.Until("all are read", func() bool { return e.Get(key).InboxMessages == 0 })
				for _, i := range []int{1, known / 2, known} {
					e.RaiseAs(key, "box", i, fmt.Sprint("request ", i))
				}
				e.Until("all are read", func() bool { return e.Get(key).InboxMessages == 0 })
				e.Until("3 repeats are counted as dropped", func() bool { return rt.Stats().MessagesDropped == 3 }) // after the commit
				e.RaiseAs(key, "box", -1, "end")
				if got := enginetest.Output[int](e, key); got != known+1 {
					e.T.Errorf("read %d events", got)
				}
				for _, event := range e.History(key, 2) {
					if b, ok := event.Body.(*history.EventReceived); ok && b.RequestID == "" {
						e.T.Fatalf("event %d does not know its request", event.ID)
					}
				}
			})
		})
	}
}
