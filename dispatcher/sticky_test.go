package dispatcher_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A idleNode is the store as a node sees it that stops taking turns, though it lives. It counts the commits by whether they stick.
type idleNode struct {
	*provider.Full

	idle chan struct{} // closed when it takes no more

	mu     sync.Mutex
	sticky []bool
}

func newIdleNode(store provider.Provider) *idleNode {
	return &idleNode{Full: provider.FullOf(store), idle: make(chan struct{})}
}

func (n *idleNode) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-n.idle:
			cancel()
		case <-inner.Done():
		}
	}()
	res, err := n.Provider.FetchTurns(inner, req)
	select {
	case <-n.idle:
		<-ctx.Done()
		return res, ctx.Err()
	default:
		return res, err
	}
}

func (n *idleNode) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	n.mu.Lock()
	n.sticky = append(n.sticky, req.Sticky > 0)
	n.mu.Unlock()
	return n.Provider.CommitTurn(ctx, req)
}

// counts returns how many commits stick, and how many do not.
func (n *idleNode) counts() (sticky, free int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.sticky {
		if s {
			sticky++
		}
	}
	return sticky, len(n.sticky) - sticky
}

// listener waits for the event "go".
func listener(ctx *octx, _ none) (int, error) {
	return orchestration.Events[int](ctx, "go").Receive(ctx)
}

func listeners(e *enginetest.Engine) *runtime.Registry {
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "listen", listener)
	return reg
}

// Two nodes could make the turns; one of them runs no activity. All that the other one does for its instances comes back to it.
func TestHazard23_WorkComesToWhereItIsCached(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		chain := func(ctx *octx, n int) (m int, err error) {
			for range n {
				if m, err = orchestration.CallActivityNamed[int](ctx, "Double", m); err != nil {
					return 0, err
				}
			}
			return m, nil
		}
		turns, all := runtime.NewRegistry(), registry(e.T)
		enginetest.Orchestration(e.T, turns, "chain", chain)
		enginetest.Orchestration(e.T, all, "chain", chain)
		first := e.Start(turns)
		var keys []provider.UUID
		for _, id := range []string{"a", "b", "c", "d"} {
			keys = append(keys, e.Create(id, "chain", 10))
		}
		e.Until("all have begun", func() bool { return first.Stats().TurnsCommitted == int64(len(keys)) })
		second := e.Start(all)
		for _, key := range keys {
			enginetest.Output[int](e, key)
		}
		if s := second.Stats(); s.AttemptsCompleted != 40 || s.TurnsCommitted != 0 {
			e.T.Errorf("the second node completed %d attempts and made %d turns", s.AttemptsCompleted, s.TurnsCommitted)
		}
		if s := first.Stats(); s.ColdReplays != 0 || s.TurnsConflicted != 0 {
			e.T.Errorf("the first node replayed %d histories and was refused %d turns", s.ColdReplays, s.TurnsConflicted)
		}
	})
}

// takenOver has a node make the first turn of an instance, do something to it, and become idle. It returns how long an
// event for the instance then waits until another node takes it.
func takenOver(e *enginetest.Engine, opts runtime.Options, act func(rt *runtime.Runtime)) time.Duration {
	store := newIdleNode(e.Store)
	rt := e.StartOn(store, listeners(e), opts)
	key := e.Create("in", "listen", none{})
	e.Until("it listens", func() bool { return rt.Stats().TurnsCommitted == 1 })
	if sticky, free := store.counts(); sticky != 1 || free != 0 {
		e.T.Errorf("%d commits stick, %d do not", sticky, free)
	}
	act(rt)
	close(store.idle)
	synctest.Wait() // its parked fetch is over
	e.Start(listeners(e))
	began := time.Now()
	e.Raise(key, "go", 7)
	enginetest.Output[int](e, key)
	return time.Since(began)
}

// An owner that lives and does not come to it holds others up for the sticky time and no longer.
func TestHazard23_StickinessEnds(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		if took := takenOver(e, e.Options, func(*runtime.Runtime) {}); took < 4*time.Second || took > 6*time.Second {
			e.T.Errorf("taken over after %v", took)
		}
	})
}

func TestHazard23_ShutdownFrees(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		if took := takenOver(e, e.Options, e.Stop); took > time.Second {
			e.T.Errorf("taken over after %v", took)
		}
	})
}

// A node that is stopping waits for its activities. Meanwhile others need not.
func TestHazard23_DrainingFrees(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: time.Minute}}, func(e *enginetest.Engine) {
		reg := listeners(e)
		done := make(chan struct{})
		running := make(chan struct{})
		enginetest.Activity(e.T, reg, "work", func(context.Context, int) (int, error) {
			close(running)
			<-done
			return 1, nil
		})
		enginetest.Orchestration(e.T, reg, "both", func(ctx *octx, _ none) (int, error) {
			work := orchestration.StartActivityNamed[int](ctx, "work", 1)
			n, err := listener(ctx, none{})
			if err != nil {
				return 0, err
			}
			m, err := work.Get(ctx)
			return n + m, err
		})
		first := e.Start(reg)
		key := e.Create("in", "both", none{})
		<-running
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			e.Stop(first)
		}()
		synctest.Wait() // it takes no turns any more
		second := e.Start(reg)
		began := time.Now()
		e.Raise(key, "go", 7)
		e.Until("the other node takes it", func() bool { return second.Stats().TurnsCommitted == 1 })
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("taken over after %v", took)
		}
		close(done)
		<-stopped
		if got := enginetest.Output[int](e, key); got != 8 {
			e.T.Errorf("got %d", got)
		}
	})
}

func TestHazard23_EvictionFrees(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		opts := e.Options
		opts.Cache.Executions = 1
		took := takenOver(e, opts, func(rt *runtime.Runtime) {
			e.Create("another", "listen", none{})
			e.Until("the first one is evicted", func() bool { return rt.Stats().CacheEvictions == 1 })
		})
		if took > time.Second {
			e.T.Errorf("taken over after %v", took)
		}
	})
}

// Executions that are not kept in memory do not stick: with the cache off, when they do not fit, and when they have
// ended.
func TestHazard23_OnlyCachedExecutionsStick(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]runtime.Options{
		"off":   {Cache: runtime.CacheOptions{Executions: runtime.Off}},
		"small": {Cache: runtime.CacheOptions{Bytes: 1}},
	} {
		enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
			store := newIdleNode(e.Store)
			rt := e.StartOn(store, listeners(e), opts)
			key := e.Create("in", "listen", none{})
			e.Until("it listens", func() bool { return rt.Stats().TurnsCommitted == 1 })
			e.Raise(key, "go", 7)
			enginetest.Output[int](e, key)
			if sticky, free := store.counts(); sticky != 0 || free == 0 {
				e.T.Errorf("%s: %d commits stick, %d do not", name, sticky, free)
			}
		})
	}
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := newIdleNode(e.Store)
		e.StartOn(store, registry(e.T), e.Options)
		enginetest.Output[int](e, e.Create("in", "Chain", 5))
		if sticky, free := store.counts(); sticky != 5 || free != 1 {
			e.T.Errorf("%d commits stick, %d do not", sticky, free)
		}
	})
}

// A node that has turns waiting keeps no further instances for itself: others may have room.
func TestHazard23_BusyNodeSharesItsInstances(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 1}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, _ none) (int, error) {
			time.Sleep(time.Second) //nolint:forbidigo // in virtual time: code that is slow
			return listener(ctx, none{})
		})
		keys := []provider.UUID{e.Create("a", "slow", none{}), e.Create("b", "slow", none{})}
		store := newIdleNode(e.Store)
		rt := e.StartOn(store, reg, e.Options)
		e.Until("both listen", func() bool { return rt.Stats().TurnsCommitted == 2 })
		if store.sticky[0] {
			e.T.Error("an instance is kept while another one waits for the only slot")
		}
		for _, key := range keys {
			e.Raise(key, "go", 7)
			enginetest.Output[int](e, key)
		}
	})
}
