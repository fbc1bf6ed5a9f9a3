package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// gate holds starts that come with a turn until they are let through.
type gate struct {
	reached chan string // the ID
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan string, 100), make(chan struct{})} }

func (g *gate) create(req provider.CreateRequest) error {
	if req.First != nil {
		g.reached <- req.ID
		<-g.open
	}
	return nil
}

// One of two starts under one ID is stored and the other refused, whichever comes first. A turn has no visible effect
// until the storage has confirmed it: its activity does not begin.
func TestEagerStart_SameIDMeanwhile(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		g := newGate()
		var ran atomic.Int64
		w := &writes{Full: e.Store, create: g.create}
		reg := single(e, func(_ context.Context, n int) (int, error) { return int(ran.Add(1)) * 2 * n, nil })
		_, c := serve(e, w, reg, e.Options)
		outcomes := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := client.StartNamed[int](e.T.Context(), c, "single", 21, client.WithID("one"))
				outcomes <- err
			}()
			<-g.reached
		}
		synctest.Wait()
		if ran.Load() != 0 {
			e.T.Error("an activity has begun before its instance was stored")
		}
		close(g.open)
		if a, b := <-outcomes, <-outcomes; (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), client.ErrExists) {
			e.T.Errorf("answered %v and %v", a, b)
		}
		synctest.Wait()
		if ran.Load() != 1 {
			e.T.Errorf("%d activities", ran.Load())
		}
	})
}

// A node that stops sees a start through that is on its way to the storage, and makes no further ones.
func TestEagerStart_Shutdown(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		g := newGate()
		w := &writes{Full: e.Store, create: g.create}
		reg := single(e, Double)
		rt, c := serve(e, w, reg, e.Options)
		started := make(chan client.Handle[int])
		go func() { started <- begin(e, c, "single") }()
		<-g.reached
		var stopped atomic.Bool
		var stopping sync.WaitGroup
		stopping.Go(func() { e.Stop(rt); stopped.Store(true) })
		synctest.Wait()
		if stopped.Load() {
			e.T.Error("the node has stopped while a start was on its way to the storage")
		}
		late := begin(e, c, "single")
		close(g.open)
		h := <-started
		stopping.Wait()
		if with, without := w.eager(); with != 1 || without != 1 {
			e.T.Errorf("%d starts with a turn, %d without", with, without)
		}
		if e.Get(h.Key()).HistoryLength != 2 || e.Get(late.Key()).HistoryLength != 0 {
			e.T.Errorf("%+v and %+v", e.Get(h.Key()), e.Get(late.Key()))
		}
		_, _ = serve(e, w, reg, e.Options)
		for _, h := range []client.Handle[int]{h, late} {
			if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
				e.T.Errorf("got %d, %v", got, err)
			}
		}
	})
}

// The start of an orchestration that blocks outside of the engine takes as long as the deadlock limit. Later starts do
// not, and the instance is Blocked as any other. Its abandoned code ends at its next call into the engine.
func TestEagerStart_StuckCode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		wake := make(chan struct{})
		var entered, late atomic.Int64
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			if entered.Add(1) <= 2 {
				<-wake
				_ = ctx.Now()
				late.Add(1)
			}
			return orchestration.CallActivity(ctx, Double, n)
		})
		rt, c := serve(e, e.Store, reg, e.Options)
		began := time.Now()
		h := begin(e, c, "main")
		if took := time.Since(began); took > 5*time.Second {
			e.T.Errorf("the start took %v", took)
		}
		if b := e.WaitBlocked(h.Key(), 1).Blocked; b.Reason != "deadlock" {
			e.T.Errorf("%+v", b)
		}
		if s := rt.Stats(); s.TurnsStuck != 2 || len(rt.Leaked()) != 2 {
			e.T.Errorf("%+v, leaked %+v", s, rt.Leaked())
		}
		if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
			e.T.Errorf("got %d, %v", got, err)
		}
		close(wake)
		synctest.Wait()
		if s := rt.Stats(); late.Load() != 0 || len(rt.Leaked()) != 0 || s.TurnsRunning != 0 || s.TurnsEager != 0 {
			e.T.Errorf("went on %d times, leaked %+v, %+v", late.Load(), rt.Leaked(), s)
		}
	})
}

// A caller that gives up returns at once, during the code and during the call of the storage.
func TestEagerStart_CallerGivesUp(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			time.Sleep(3 * time.Millisecond) //nolint:forbidigo // virtual time
			return orchestration.CallActivity(ctx, Double, n)
		})
		w := &writes{Full: e.Store}
		rt, c := serve(e, w, reg, e.Options)
		ctx, cancel := context.WithTimeout(e.T.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := client.StartNamed[int](ctx, c, "main", 21, client.WithID("one"))
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > time.Millisecond {
			e.T.Errorf("after %v: %v", took, err)
		}
		synctest.Wait()
		if got, err := begin(e, c, "main", client.WithID("one")).Wait(e.T.Context()); got != 42 || err != nil {
			e.T.Errorf("got %d, %v", got, err)
		}
		if s := rt.Stats(); s.TurnsEager != 1 || s.TurnsRunning != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// Starts leave half of the slots to turns of instances that have begun, and get ahead of none that waits.
func TestEagerStart_LeavesSlots(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 2, 4, 5} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: slots}, func(e *enginetest.Engine) {
				g := newGate()
				w := &writes{Full: e.Store, create: g.create}
				_, c := serve(e, w, single(e, Double), e.Options)
				var starts sync.WaitGroup
				for range 20 {
					starts.Go(func() { begin(e, c, "single") })
				}
				synctest.Wait()
				want := (slots + 1) / 2
				if with, without := w.eager(); with != want || without != 20-want {
					e.T.Errorf("%d starts with a turn, %d without", with, without)
				}
				if slots > 1 {
					e.WaitEnded(e.Create("another", "single", 21))
				}
				close(g.open)
				starts.Wait()
				e.Until("all end", func() bool {
					res, err := e.Store.Count(e.T.Context(), provider.CountRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusRunning}}})
					return err == nil && res.Count == 0
				})
			})
		})
	}
}

// The watch may abandon a first turn before its caller does. That does not delay the caller.
func TestEagerStart_WatchIsFaster(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{DeadlockLimit: time.Millisecond}, func(e *enginetest.Engine) {
		wake := make(chan struct{})
		var entered atomic.Int64
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			if entered.Add(1) == 1 {
				<-wake
			}
			return orchestration.CallActivity(ctx, Double, n)
		})
		rt, c := serve(e, e.Store, reg, e.Options)
		if got, err := begin(e, c, "main").Wait(e.T.Context()); got != 42 || err != nil {
			e.T.Errorf("got %d, %v", got, err)
		}
		if s := rt.Stats(); s.TurnsStuck != 1 || s.TurnsEager != 0 {
			e.T.Errorf("%+v", s)
		}
		close(wake)
	})
}

// hangingStore is a store whose starts with a turn return only when their callers give up.
type hangingStore struct{ *provider.Full }

func (s *hangingStore) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.First != nil {
		<-ctx.Done()
		return provider.CreateResult{}, ctx.Err()
	}
	return s.Provider.Create(ctx, req)
}

// A start whose call of the storage hangs delays a shutdown no longer than other work does. The client continues
// without the node.
func TestEagerStart_ShutdownIgnoresTheStorage(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: time.Second, ForceTimeout: time.Second}}, func(e *enginetest.Engine) {
		store := &hangingStore{e.Store}
		rt, err := runtime.Start(e.T.Context(), store, single(e, Double), e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		synctest.Wait()
		c := clienttest.Of(e.T, rt, client.Options{})
		began := time.Now()
		started := make(chan time.Duration)
		go func() {
			begin(e, c, "single")
			started <- time.Since(began)
		}()
		synctest.Wait()
		if err := rt.Shutdown(e.T.Context()); !errors.Is(err, runtime.ErrLeaked) {
			e.T.Errorf("shut down with %v", err)
		}
		if took := <-started; took > 10*time.Second {
			e.T.Errorf("the start took %v", took)
		}
	})
}

// late is a store whose fetches of turns come back a moment late.
type late struct{ *writes }

func (s late) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := s.Provider.FetchTurns(ctx, req)
	time.Sleep(10 * time.Millisecond) //nolint:forbidigo // virtual time
	return res, err
}

// A result does not overtake messages that the first turn itself has put into the inbox. Here it is the refusal of a
// child whose ID is in use.
func TestEagerStart_ObeysTheInbox(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			child := orchestration.StartOrchestrationNamed[int](ctx, "main", n, orchestration.WithInstanceID("taken"))
			double := orchestration.StartActivity(ctx, Double, n)
			_, refused := child.Get(ctx)
			if !errors.Is(refused, orchestration.ErrExists) {
				return 0, refused
			}
			return double.Get(ctx)
		})
		e.Create("taken", "nobody", none{})
		store := late{&writes{Full: e.Store}}
		rt, c := serve(e, store, reg, e.Options)
		h := begin(e, c, "main")
		if got, err := h.Wait(e.T.Context()); got != 42 || err != nil || rt.Stats().TurnsEager != 1 {
			e.T.Errorf("got %d, %v, %+v", got, err, rt.Stats())
		}
		var order []history.Kind
		for _, event := range e.History(h.Key(), 1) {
			order = append(order, event.Body.Kind())
		}
		if len(order) < 5 || order[3] != history.KindChildFailed {
			e.T.Errorf("history %v", order)
		}
	})
}

// A node that has stopped is known to no client, and holds no store in memory.
func TestEagerStart_ForgetsTheNode(t *testing.T) {
	t.Parallel()
	stopped := func() weak.Pointer[memory.Provider] {
		store := memory.New(memory.Options{})
		rt, err := runtime.Start(t.Context(), store, registry(t), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(rt.Shutdown(t.Context()), store.Close()); err != nil {
			t.Error(err)
		}
		return weak.Make(store)
	}()
	for range 10 { // what is left of its goroutines may still be running
		goruntime.GC()
		if stopped.Value() == nil {
			return
		}
	}
	t.Error("the store of a node that has stopped is still held")
}
