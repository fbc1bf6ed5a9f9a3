package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// Shutdown lets activities finish, cancels those that take longer, and releases the rest.
// Another node continues at once, not after the lease.
func TestShutdownPhases(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		work     func(ctx context.Context) error
		finished bool // ctx of Shutdown
		took     time.Duration
		cause    error
		err      error
	}{
		"finishes while draining": {func(ctx context.Context) error {
			time.Sleep(5 * time.Second) //nolint:forbidigo // virtual time
			return nil
		}, false, 5 * time.Second, nil, nil},
		"obeys the cancellation": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, false, 10 * time.Second, activity.ErrShutdown, nil},
		"ignores the cancellation": {func(ctx context.Context) error {
			time.Sleep(100 * time.Second) //nolint:forbidigo // virtual time
			return nil
		}, false, 45 * time.Second, activity.ErrShutdown, runtime.ErrLeaked},
		"obeys, ctx finished": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, true, 0, activity.ErrShutdown, nil},
		"obeys in a moment, ctx finished": {func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // virtual time
			return ctx.Err()
		}, true, 0, activity.ErrShutdown, nil},
		"ignores, ctx finished": {func(ctx context.Context) error {
			time.Sleep(100 * time.Second) //nolint:forbidigo // virtual time
			return nil
		}, true, 0, activity.ErrShutdown, runtime.ErrLeaked},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				began, causes := make(chan struct{}, 10), make(chan error, 10)
				var attempts enginetest.Notes[activity.Info]
				first := func(ctx context.Context, n int) (int, error) {
					attempts.Add(activity.GetInfo(ctx))
					began <- struct{}{}
					err := c.work(ctx)
					causes <- context.Cause(ctx)
					return n, err
				}
				rt, err := runtime.Start(e.T.Context(), e.Store, single(e, first), runtime.Options{})
				if err != nil {
					e.T.Fatal(err)
				}
				key := e.Create("single", "single", 4)
				<-began
				ctx, cancel := context.WithCancel(e.T.Context())
				if c.finished {
					cancel()
				}
				at := time.Now()
				err = rt.Shutdown(ctx)
				cancel()
				if took := time.Since(at); took < c.took || took > c.took+time.Second {
					e.T.Errorf("took %v", took)
				}
				if !errors.Is(err, c.err) || c.err == nil && err != nil {
					e.T.Errorf("answered %v", err)
				}
				// Another node continues at once.
				at = time.Now()
				e.Start(single(e, func(ctx context.Context, n int) (int, error) {
					attempts.Add(activity.GetInfo(ctx))
					return n, nil
				}))
				if got := enginetest.Output[int](e, key); got != 4 {
					e.T.Errorf("got %d", got)
				}
				if took := time.Since(at); took > time.Second {
					e.T.Errorf("the next node waited %v", took)
				}
				if cause := <-causes; !errors.Is(cause, c.cause) {
					e.T.Errorf("cause %v", cause)
				}
				for _, a := range attempts.All() {
					if a.Attempt != 1 || a.Deliveries != 1 {
						e.T.Errorf("a clean hand-back was counted: %+v", a)
					}
				}
				results(e, key)
			})
		})
	}
}

// A shutdown while the store is gone ends all the same, within the time for handing back.
func TestShutdownDuringAnOutage(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		began := make(chan struct{}, 1)
		rt, err := runtime.Start(e.T.Context(), node, single(e, func(ctx context.Context, n int) (int, error) {
			began <- struct{}{}
			<-ctx.Done()
			return n, ctx.Err()
		}), runtime.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("single", "single", 4)
		<-began
		plan.StartOutage()
		at := time.Now()
		if err := rt.Shutdown(e.T.Context()); err == nil {
			e.T.Error("leases that could not be handed back are not worth an error?")
		}
		if took := time.Since(at); took > 26*time.Second {
			e.T.Errorf("took %v", took)
		}
		plan.EndOutage()
		e.Start(single(e, func(_ context.Context, n int) (int, error) { return n, nil }))
		if got := enginetest.Output[int](e, key); got != 4 {
			e.T.Errorf("got %d", got)
		}
	})
}

// Nodes come and go while instances run: all reach their outcome, once.
func TestNodesComeAndGo(t *testing.T) {
	t.Parallel()
	for _, opts := range []runtime.Options{{}, {Cache: runtime.CacheOptions{Bytes: 1}}} {
		t.Run(fmt.Sprint("cache bytes ", opts.Cache.Bytes), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
				reg := single(e, func(ctx context.Context, n int) (int, error) {
					select {
					case <-time.After(time.Second):
						return 2 * n, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				enginetest.Orchestration(e.T, reg, "steps", func(ctx *octx, n int) (int, error) {
					for range 20 {
						v, err := orchestration.CallActivityNamed[int](ctx, "work", n)
						if err != nil {
							return 0, err
						}
						n = v & 0xff
					}
					return n, nil
				})
				var keys []provider.UUID
				for i := range 10 {
					keys = append(keys, e.Create(fmt.Sprint("steps", i), "steps", 1))
				}
				opts.Shutdown.DrainTimeout = runtime.Off
				rt := e.StartOn(e.Store, reg, opts)
				for range 5 {
					time.Sleep(1700 * time.Millisecond) //nolint:forbidigo // virtual time
					next := e.StartOn(e.Store, reg, opts)
					e.Stop(rt)
					rt = next
				}
				for _, key := range keys {
					if got := enginetest.Output[int](e, key); got != 0 {
						e.T.Errorf("got %d", got)
					}
					if n := len(results(e, key)); n != 20 {
						e.T.Errorf("%d results", n)
					}
				}
			})
		})
	}
}

// Work that a node cannot do is left alone, uncounted, and shows in its health.
func TestCapabilityWaiting(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "later", none{}, orchestration.WithQueue("gpu"))
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", none{})
		unknown := e.Create("unknown", "Unknown", none{})
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		h, err := rt.Health(e.T.Context())
		if err != nil || len(h.Unserved) != 2 || h.Blocked != 0 {
			e.T.Fatalf("%+v, %v", h, err)
		}
		for i, want := range []runtime.Unserved{
			{Kind: "orchestration", Name: "Unknown", Count: 1}, {Kind: "activity", Name: "later", Queue: "gpu", Count: 1},
		} {
			got := h.Unserved[i]
			if got.Oldest < 59*time.Minute {
				e.T.Errorf("%+v", got)
			}
			if got.Oldest = 0; got != want {
				e.T.Errorf("%+v, want %+v", got, want)
			}
		}
		if d := e.Get(unknown).Deliveries; d != 0 {
			e.T.Errorf("%d deliveries", d)
		}
		worker := runtime.NewRegistry()
		enginetest.Activity(e.T, worker, "later", func(ctx context.Context, _ none) (int, error) {
			info := activity.GetInfo(ctx)
			return info.Attempt*10 + info.Deliveries, nil
		}, runtime.OnQueue("gpu"))
		enginetest.Orchestration(e.T, worker, "Unknown", func(*octx, none) (none, error) { return none{}, nil })
		e.Start(worker)
		if got := enginetest.Output[int](e, key); got != 11 {
			e.T.Errorf("attempt and delivery %d", got)
		}
		enginetest.Output[none](e, unknown)
	})
}

// slowNode is a store whose responses with turns and tasks come late once it is told to.
type slowNode struct {
	slowFetch
}

func (s *slowNode) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := s.Provider.FetchTasks(ctx, req)
	if s.slow.Load() {
		<-s.until
	}
	return res, err
}

// Work that a fetch brings after the shutdown began is released, not begun.
func TestShutdownHandsBackWhatAFetchBringsLate(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		node := &slowNode{slowFetch{Full: e.Store, until: make(chan struct{})}}
		var runs enginetest.Notes[int]
		work := func(_ context.Context, n int) (int, error) {
			runs.Add(n)
			return n, nil
		}
		reg, late := single(e, work), registry(e.T) // the late node makes no turn of "single", so that its task comes about
		enginetest.Activity(e.T, late, "work", work)
		turns := runtime.NewRegistry()
		enginetest.Orchestration(e.T, turns, "single", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "work", n)
		})
		first := e.Start(turns)
		rt, err := runtime.Start(e.T.Context(), node, late, runtime.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		synctest.Wait() // both nodes are parked in their fetches
		node.slow.Store(true)
		task, turn := e.Create("task", "single", 1), e.Create("turn", "Chain", 3)
		e.Until("both are taken", func() bool { return len(e.Tasks(task)) == 1 && e.Get(turn).Deliveries == 1 })
		e.Stop(first)
		stopped := make(chan error)
		go func() { stopped <- rt.Shutdown(e.T.Context()) }()
		synctest.Wait()
		close(node.until)
		if err := <-stopped; err != nil {
			e.T.Error(err)
		}
		if n := len(runs.All()); n != 0 || e.Get(turn).HistoryLength != 0 {
			e.T.Errorf("%d attempts and %d events were made", n, e.Get(turn).HistoryLength)
		}
		at := time.Now()
		e.Start(reg)
		e.WaitEnded(task)
		e.WaitEnded(turn)
		if took := time.Since(at); took > time.Second {
			e.T.Errorf("the next node waited %v", took)
		}
	})
}

// A turn whose commit comes through while the node stops leaves nothing cached: the bubble
// would not end with a parked coroutine.
func TestShutdownDuringACommit(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		committing, pass := make(chan struct{}, 1), make(chan struct{})
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.Delay, First: 1, Until: pass, Match: func(any) bool {
			committing <- struct{}{}
			return true
		}})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "waits", func(ctx *octx, _ none) (none, error) {
			_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
			return none{}, err
		})
		rt, err := runtime.Start(e.T.Context(), node, reg, runtime.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("waits", "waits", none{})
		<-committing
		finished, cancel := context.WithCancel(e.T.Context())
		cancel()
		stopped := make(chan error)
		go func() { stopped <- rt.Shutdown(finished) }()
		synctest.Wait()
		close(pass)
		if err := <-stopped; err != nil {
			e.T.Error(err)
		}
		if n := e.Get(key).HistoryLength; n != 1 || rt.Stats().Cached != 0 {
			e.T.Errorf("%d events, %+v", n, rt.Stats())
		}
	})
}
