package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// counter is an orchestration that counts events until one is negative. The query "n" calls handle first, which may take its time, and
// returns the count.
func counter(handle func(n int)) func(*octx, none) (int, error) {
	return func(ctx *octx, _ none) (int, error) {
		n := 0
		orchestration.HandleQuery(ctx, "n", func(none) (int, error) {
			if handle != nil {
				handle(n)
			}
			return n, nil
		})
		orchestration.HandleQuery(ctx, "quick", func(none) (int, error) { return n, nil })
		for {
			event, err := orchestration.Events[int](ctx, "event").Receive(ctx)
			if err != nil || event < 0 {
				return n, err
			}
			n++
		}
	}
}

// startCounter starts an instance of counter on a node and waits until the node rests.
func startCounter(e *enginetest.Engine, rt *runtime.Runtime, id string) client.Handle[int] {
	e.T.Helper()
	h, err := client.StartNamed[int](e.T.Context(), clienttest.Of(e.T, rt, client.Options{}), "asked", none{}, client.WithID(id))
	if err != nil {
		e.T.Fatal(err)
	}
	e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength > 0 })
	return h
}

func askingNode(e *enginetest.Engine, opts runtime.Options, handle func(n int)) *runtime.Runtime {
	e.T.Helper()
	return e.StartOn(e.Store, askingRegistry(e, handle), opts)
}

func askingRegistry(e *enginetest.Engine, handle func(n int)) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "asked", counter(handle))
	return reg
}

func askN[T any](ctx context.Context, h client.Handle[T]) (int, error) {
	return client.Query[int](ctx, h, "n", none{})
}

// quick asks the query that never hangs, until it counts n events.
func quick(e *enginetest.Engine, h client.Handle[int], n int) {
	e.T.Helper()
	e.Until(fmt.Sprintf("it has %d events", n), func() bool {
		got, err := client.Query[int](e.T.Context(), h, "quick", none{})
		return err == nil && got == n
	})
}

// The turn that comes during a query waits for the end of the handler, which so sees one state, and encodes it before the code goes on.
func TestHazard47_NothingRunsDuringAHandler(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var h client.Handle[int]
		var once sync.Once
		var wrong atomic.Bool
		rt := askingNode(e, e.Options, nil)
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "map", func(ctx *octx, _ none) (int, error) {
			seen := map[string]int{}
			orchestration.HandleQuery(ctx, "map", func(none) (map[string]int, error) {
				before := len(seen)
				once.Do(func() { e.Raise(h.Key(), "event", 1) })
				<-time.After(50 * time.Millisecond)
				wrong.Store(wrong.Load() || len(seen) != before)
				return seen, nil
			})
			for {
				n, err := orchestration.Events[int](ctx, "event").Receive(ctx)
				if err != nil || n < 0 {
					return len(seen), err
				}
				seen[fmt.Sprint(len(seen))] = n
			}
		})
		e.Stop(rt)
		rt = e.Start(reg)
		var err error
		if h, err = client.StartNamed[int](e.T.Context(), clienttest.Of(e.T, rt, client.Options{}), "map", none{}); err != nil {
			e.T.Fatal(err)
		}
		got, err := client.Query[map[string]int](e.T.Context(), h, "map", none{})
		if err != nil || len(got) != 0 || wrong.Load() {
			e.T.Errorf("%v, %v; the code went on meanwhile: %v", got, err, wrong.Load())
		}
		e.Until("the event is there", func() bool {
			got, err = enginetest.Query[map[string]int](e, h, "map", none{})
			return len(got) == 1
		})
	})
}

// A handler that changes a variable cannot be stopped. The kit asks twice and finds that the answers differ, or that the history does
// not replay.
func TestHazard47_ChangedVariableIsFound(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "pop", func(ctx *octx, _ none) (int, error) {
			n := 0
			orchestration.HandleQuery(ctx, "n", func(none) (int, error) { n++; return n, nil })
			if _, err := orchestration.Events[int](ctx, "event").Receive(ctx); err != nil {
				return 0, err
			}
			return n, ctx.Sleep(time.Duration(n) * time.Second)
		})
		rt := e.Start(reg)
		h, err := client.StartNamed[int](e.T.Context(), clienttest.Of(e.T, rt, client.Options{}), "pop", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		for want := 1; want <= 2; want++ {
			if n, err := askN(e.T.Context(), h); err != nil || n != want {
				e.T.Errorf("query %d: %d, %v", want, n, err)
			}
		}
		e.Raise(h.Key(), "event", 1)
		e.WaitEnded(h.Key())
		if _, err := client.Query[string](e.T.Context(), h, "stack", nil); !errors.Is(err, client.ErrNotReplayed) {
			e.T.Errorf("its history: %v", err)
		}
	})
}

// A query that hangs is given up after 2 s. Its instance goes on. However many instances it hangs on, the node lives.
func TestHazard48_HangingQueriesEndNoNode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const instances = 13
		release := make(chan struct{})
		opts := e.Options
		opts.Leaks.OnFatal = func(reason error) { e.T.Errorf("fatal: %v", reason) }
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "asked", func(ctx *octx, in none) (int, error) {
			for i := range instances {
				orchestration.HandleQuery(ctx, fmt.Sprint("hangs", i), func(none) (int, error) { <-release; return i, nil })
			}
			return counter(nil)(ctx, in)
		})
		rt := e.StartOn(e.Store, reg, opts)
		for i := range instances {
			h := startCounter(e, rt, fmt.Sprint(i))
			began := time.Now()
			_, err := client.Query[int](e.T.Context(), h, fmt.Sprint("hangs", i), none{})
			if took := time.Since(began); !errors.Is(err, client.ErrQueryTimeout) || took < 2*time.Second || took > 3*time.Second {
				e.T.Errorf("instance %d: %v after %v", i, err, took)
			}
			e.Raise(h.Key(), "event", 1)
			quick(e, h, 1)
			<-time.After(time.Minute)
		}
		s := rt.Stats()
		if s.QueriesLeaked != instances || s.QueriesRunning != instances || s.LeaksWatched+s.LeaksRunning+s.LeakedInstances != 0 {
			e.T.Errorf("%+v", s)
		}
		if health, err := rt.Health(e.T.Context()); err != nil || health.Fatal != nil {
			e.T.Errorf("%v, %v", health.Fatal, err)
		}
		all := rt.LeakedQueries()
		if len(all) != instances || all[0].InstanceID != "0" || all[0].Query != "hangs0" || !strings.Contains(all[0].Stack, "query_test.go") {
			e.T.Errorf("%d leaked queries, the first is %+v", len(all), all[0])
		}
		close(release)
		e.Until("they return", func() bool { return rt.Stats().QueriesRunning == 0 && len(rt.LeakedQueries()) == 0 })
	})
}

// After three in a minute the node refuses that query of that orchestration for a minute, and no other.
func TestHazard48_HangingQueryIsRefused(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var quicker atomic.Bool
		rt := askingNode(e, e.Options, func(int) {
			if !quicker.Load() {
				<-time.After(3 * time.Second)
			}
		})
		h := startCounter(e, rt, "one")
		for i := range 3 {
			if _, err := askN(e.T.Context(), h); !errors.Is(err, client.ErrQueryTimeout) {
				e.T.Errorf("query %d: %v", i, err)
			}
		}
		quicker.Store(true)
		e.Until("they have returned", func() bool { return rt.Stats().QueriesRunning == 0 })
		other := startCounter(e, rt, "other")
		if _, err := askN(e.T.Context(), other); !errors.Is(err, client.ErrQueryRefused) {
			e.T.Errorf("the fourth: %v", err)
		}
		quick(e, other, 0)
		if s := rt.Stats(); s.QueriesLeaked != 3 {
			e.T.Errorf("%d leaked", s.QueriesLeaked)
		}
		<-time.After(time.Minute)
		if n, err := askN(e.T.Context(), other); err != nil || n != 0 {
			e.T.Errorf("a minute later: %d, %v", n, err)
		}
	})
}

// Deferred functions that hang when a query throws an execution away are leaks of the query, too.
func TestHazard48_HangingDeferEndsNoNode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Idle: runtime.Off}}, func(e *enginetest.Engine) {
		block := make(chan struct{})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "block", blocker(block))
		rt := e.Start(reg)
		h, err := client.StartNamed[none](e.T.Context(), clienttest.Of(e.T, rt, client.Options{}), "block", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Query[string](e.T.Context(), h, "stack", nil); err != nil {
			e.T.Error(err)
		}
		e.Until("it is given up", func() bool { return rt.Stats().QueriesRunning == 1 })
		<-time.After(time.Hour)
		if s := rt.Stats(); s.LeakedInstances != 0 || s.EvictionsStuck != 0 {
			e.T.Errorf("%+v", s)
		}
		close(block)
		e.Raise(h.Key(), "end", none{})
		enginetest.Output[none](e, h.Key())
	})
}

// A turn that comes goes before the queries that wait: at most four run before it.
func TestHazard48_TurnsGoBeforeQueries(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var seen enginetest.Notes[int]
		var h client.Handle[int]
		rt := askingNode(e, e.Options, func(n int) {
			if seen.Add(n) == 2 {
				e.Raise(h.Key(), "event", 1)
			}
			<-time.After(5 * time.Millisecond)
		})
		h = startCounter(e, rt, "one")
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if _, err := askN(e.T.Context(), h); err != nil {
					e.T.Error(err)
				}
			})
		}
		all.Wait()
		before := slices.Index(seen.All(), 1)
		if s := rt.Stats(); before < 0 || before > 2+4 || s.QueriesCold != 0 {
			e.T.Errorf("the event came after the second query, and queries saw %v, %d of rebuilt executions", seen.All(), s.QueriesCold)
		}
	})
}

// Fifty viewers of instances that nobody has in memory rebuild at most eight at once.
func TestHazard48_RebuiltExecutionsAreFew(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}, func(e *enginetest.Engine) {
		var running, most atomic.Int64
		rt := askingNode(e, e.Options, func(int) {
			now := running.Add(1)
			defer running.Add(-1)
			if now > most.Load() {
				most.Store(now)
			}
			<-time.After(100 * time.Millisecond)
		})
		h := startCounter(e, rt, "one")
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := askN(e.T.Context(), h); err != nil {
					e.T.Error(err)
				}
			})
		}
		all.Wait()
		if most.Load() != 8 || rt.Stats().QueriesCold != 50 {
			e.T.Errorf("%d at once, of %d", most.Load(), rt.Stats().QueriesCold)
		}
	})
}

// Whoever polls a query keeps no execution in the cache: neither the idle clock nor the place in the cache hear of it.
func TestHazard48_QueriesKeepNothingCached(t *testing.T) {
	t.Parallel()
	t.Run("idle clock", func(t *testing.T) {
		t.Parallel()
		enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Idle: 10 * time.Second}}, func(e *enginetest.Engine) {
			rt := askingNode(e, e.Options, nil)
			h := startCounter(e, rt, "one")
			for range 15 {
				quick(e, h, 0)
				<-time.After(time.Second)
			}
			s := rt.Stats()
			if s.Cached != 0 || s.CacheEvictions != 1 || s.QueriesCold == 0 || s.QueriesCold == 15 {
				e.T.Errorf("%d cached, %d evicted, %d of 15 queries rebuilt it", s.Cached, s.CacheEvictions, s.QueriesCold)
			}
		})
	})
	t.Run("place", func(t *testing.T) {
		t.Parallel()
		enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Executions: 2}}, func(e *enginetest.Engine) {
			rt := askingNode(e, e.Options, nil)
			a, b := startCounter(e, rt, "a"), startCounter(e, rt, "b")
			quick(e, a, 0)
			startCounter(e, rt, "c")
			quick(e, b, 0)
			if cold := rt.Stats().QueriesCold; cold != 0 {
				e.T.Errorf("the query has thrown another execution out of the cache")
			}
			quick(e, a, 0)
			if s := rt.Stats(); s.QueriesCold != 1 || s.Cached != 2 {
				e.T.Errorf("%d rebuilt, %d cached", s.QueriesCold, s.Cached)
			}
		})
	})
	t.Run("stickiness", func(t *testing.T) {
		t.Parallel()
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			ask := func(rt *runtime.Runtime) {
				h, err := client.Lookup[int](e.T.Context(), clienttest.Of(e.T, rt, client.Options{}), "in")
				if err == nil {
					_, err = client.Query[[]string](e.T.Context(), h, "queries", nil)
				}
				if err != nil || rt.Stats().QueriesCold != 0 {
					e.T.Errorf("%v, %d rebuilt", err, rt.Stats().QueriesCold)
				}
			}
			if took := takenOver(e, e.Options, ask); took < 4*time.Second || took > 6*time.Second {
				e.T.Errorf("taken over after %v", took)
			}
		})
	})
}

// An execution that is evicted while a query has it is closed at the end of the query.
func TestQueryOfAnExecutionThatIsEvicted(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Executions: 1}}, func(e *enginetest.Engine) {
		began := make(chan struct{})
		var once sync.Once
		rt := askingNode(e, e.Options, func(int) {
			once.Do(func() { close(began) })
			<-time.After(time.Second)
		})
		h := startCounter(e, rt, "one")
		var all sync.WaitGroup
		all.Go(func() {
			if n, err := askN(e.T.Context(), h); err != nil || n != 0 {
				e.T.Errorf("%d, %v", n, err)
			}
		})
		<-began
		startCounter(e, rt, "two")
		e.Raise(h.Key(), "event", 1)
		all.Wait()
		quick(e, h, 1)
		e.Raise(h.Key(), "event", -1)
		if n := enginetest.Output[int](e, h.Key()); n != 1 {
			e.T.Errorf("it counted %d", n)
		}
	})
}

// A node whose execution is overtaken does not answer from it, not even to its own process.
func TestHazard77_OvertakenExecutionDoesNotAnswer(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := newIdleNode(e.Store)
		first := e.StartOn(store, askingRegistry(e, nil), e.Options)
		h := startCounter(e, first, "one")
		if n, err := askN(e.T.Context(), h); err != nil || n != 0 || first.Stats().QueriesCold != 0 {
			e.T.Errorf("%d, %v, %d rebuilt", n, err, first.Stats().QueriesCold)
		}
		close(store.idle)
		second := e.Start(askingRegistry(e, nil))
		e.Raise(h.Key(), "event", 1)
		e.Until("the second node has it", func() bool { return second.Stats().TurnsCommitted == 1 })
		if first.Stats().Cached != 1 {
			e.T.Error("the first node has lost it")
		}
		for range 20 {
			if n, err := askN(e.T.Context(), h); err != nil || n != 1 {
				e.T.Errorf("%d, %v", n, err)
			}
		}
	})
}

// countsAsks counts the calls that carry questions.
type countsAsks struct {
	*provider.Full

	asks, gets atomic.Int64
}

func (c *countsAsks) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	c.asks.Add(1)
	return c.Full.Ask(ctx, req)
}

func (c *countsAsks) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	c.gets.Add(1)
	return c.Provider.Get(ctx, req)
}

// In the process of the node that has the execution, a query is one read of the row.
func TestQueryInOneProcessIsOneRead(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := &countsAsks{Full: e.Store}
		rt := e.StartOn(store, askingRegistry(e, nil), e.Options)
		h := startCounter(e, rt, "one")
		before := store.gets.Load()
		for range 10 {
			if _, err := askN(e.T.Context(), h); err != nil {
				e.T.Error(err)
			}
		}
		if gets := store.gets.Load() - before; gets != 10 || store.asks.Load() != 0 {
			e.T.Errorf("%d reads, %d questions for 10 queries", gets, store.asks.Load())
		}
	})
}

// losesHistory is a store in which what a row names was removed before its history is read, once.
type losesHistory struct {
	*provider.Full

	lost atomic.Bool // it has happened
}

func (l *losesHistory) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	if l.lost.CompareAndSwap(false, true) {
		return provider.ReadHistoryResult{}, fmt.Errorf("reading history: %w", provider.ErrNotFound)
	}
	return l.Full.ReadHistory(ctx, req)
}

// A node that finds no history has an old row: the instance was deleted, or is in another execution. It leaves the question to the next fetch.
func TestQueryOfAHistoryThatIsGoneMeanwhile(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}, func(e *enginetest.Engine) {
		store := &losesHistory{Full: e.Store}
		h := startCounter(e, e.StartOn(store, askingRegistry(e, nil), e.Options), "one")
		store.lost.Store(false)
		if n, err := askN(e.T.Context(), h); err != nil || n != 0 || !store.lost.Load() {
			e.T.Errorf("%d, %v, the history was lost: %v", n, err, store.lost.Load())
		}
	})
}
