package dispatcher_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// panics is a store whose calls that store a turn panic for a while.
type panics struct {
	*provider.Full

	left   atomic.Int64 // how many calls still panic
	stored bool         // after the call, not before
	of     func(req *provider.CommitTurnRequest) bool
}

func (p *panics) now(req *provider.CommitTurnRequest) bool {
	return req != nil && p.of(req) && p.left.Add(-1) >= 0
}

func (p *panics) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	now := p.now(&req)
	if now && !p.stored {
		panic("before the commit")
	}
	res, err := p.Provider.CommitTurn(ctx, req)
	if now {
		panic("after the commit")
	}
	return res, err
}

func (p *panics) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	now := p.now(req.First)
	if now && !p.stored {
		panic("before the start")
	}
	res, err := p.Provider.Create(ctx, req)
	if now {
		panic("after the start")
	}
	return res, err
}

// loudLogger makes a logger that panics at a message.
func loudLogger(message string) *slog.Logger {
	return slog.New(slog.NewTextHandler(panicsAt(message), nil))
}

// panicsAt is a writer of logs that panics at a message.
type panicsAt string

func (p panicsAt) Write(line []byte) (int, error) {
	if strings.Contains(string(line), string(p)) {
		panic("the log is full")
	}
	return len(line), nil
}

// A panic while a turn is stored fails that turn only. The slots of the tasks that it handed off are free again, and those tasks are
// not leased to nobody.
func TestPanicOfACommitLosesNoSlot(t *testing.T) {
	t.Parallel()
	const slots = 4
	fetched := func(req *provider.CommitTurnRequest) bool {
		return req.Lease != (provider.UUID{}) && len(req.Tasks) > 0
	}
	fast := func(req *provider.CommitTurnRequest) bool { return len(req.Completes) > 0 && len(req.Tasks) > 0 }
	first := func(req *provider.CommitTurnRequest) bool { return req.Length == 0 && len(req.Tasks) > 0 }
	for name, turns := range map[string]func(*provider.CommitTurnRequest) bool{"fetched": fetched, "fast": fast, "first": first} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stored %v", name, stored), func(t *testing.T) {
				t.Parallel()
				enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots}, func(e *enginetest.Engine) {
					p := &panics{Full: e.Store, stored: stored, of: turns}
					p.left.Store(3 * slots)
					allSlots(e, p, name != "fetched", 1)
				})
			})
		}
	}
}

// A logger that panics when a turn is confirmed does not make it fail.
func TestPanicOfALoggerLosesNoSlot(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 4, Logger: loudLogger("history gets long")}, func(e *enginetest.Engine) {
		if s := allSlots(e, e.Store, true, 1<<20); s.ColdReplays != 0 {
			e.T.Errorf("%d executions were thrown away", s.ColdReplays)
		}
	})
}

// allSlots runs instances whose turns panic, and then looks whether as many activities run at the same time as the node has slots for. Inputs of
// activities have a size.
func allSlots(e *enginetest.Engine, store provider.Provider, eager bool, size int) runtime.Stats {
	e.T.Helper()
	reg := registry(e.T)
	slots := e.Options.MaxConcurrentActivities
	var held atomic.Int64
	release := make(chan struct{})
	enginetest.Activity(e.T, reg, "hold", func(context.Context, int) (int, error) {
		held.Add(1)
		<-release
		return 1, nil
	})
	fan(e, reg, "hold all", call{"hold", standard})
	enginetest.Activity(e.T, reg, "count", func(_ context.Context, text string) (int, error) { return len(text), nil })
	enginetest.Orchestration(e.T, reg, "some", func(ctx *octx, size int) (int, error) {
		total := 0
		for range 6 {
			n, err := orchestration.CallActivityNamed[int](ctx, "count", strings.Repeat("x", size))
			if err != nil {
				return 0, err
			}
			total += n
		}
		return total, nil
	})
	rt, c := serve(e, store, reg, e.Options)
	var keys []provider.UUID
	began := time.Now()
	for i := range 3 * slots {
		if eager {
			h, err := client.StartNamed[int](e.T.Context(), c, "some", size)
			if err != nil {
				e.T.Errorf("start %d: %v", i, err)
			}
			keys = append(keys, h.Key())
		} else {
			keys = append(keys, e.Create(fmt.Sprint(i), "some", size))
		}
		synctest.Wait()
	}
	for _, key := range keys {
		if got := enginetest.Output[int](e, key); got != 6*size {
			e.T.Errorf("got %d, want %d", got, 6*size)
		}
	}
	if took := time.Since(began); took > 20*time.Second { // a lease of 30 s was waited for
		e.T.Errorf("the instances took %v", took)
	}
	synctest.Wait()
	all := e.Create("all", "hold all", slots)
	synctest.Wait()
	if n := held.Load(); n != int64(slots) {
		e.T.Errorf("%d activities run at the same time, the node has %d slots: %+v", n, slots, rt.Stats())
	}
	close(release)
	e.WaitEnded(all)
	return rt.Stats()
}
