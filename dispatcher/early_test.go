package dispatcher_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// slowClaims is a store whose claims each take a while, as behind the commits of others. It records the claims ahead.
type slowClaims struct {
	*provider.Full

	took         time.Duration
	ahead        chan time.Duration // has a value for each turn claimed ahead: how long before its time
	pauseFetches chan struct{}      // if it is set, no fetch is begun after a claim ahead until it is closed
	polled       atomic.Int64       // how many turns the last fetch asked for

	mu     sync.Mutex
	claims int
}

func (s *slowClaims) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	s.mu.Lock()
	claimed := s.claims > 0
	s.mu.Unlock()
	if s.pauseFetches != nil && claimed {
		select {
		case <-s.pauseFetches:
		case <-ctx.Done():
			return provider.FetchTurnsResult{}, ctx.Err()
		}
	}
	s.polled.Store(int64(req.Max))
	res, err := s.Provider.FetchTurns(ctx, req)
	if len(res.Turns) > 0 {
		time.Sleep(s.took) //nolint:forbidigo // in virtual time
	}
	for _, turn := range res.Turns {
		if early := turn.Messages[0].VisibleAt.Sub(res.Now); early > 0 {
			s.mu.Lock()
			s.claims++
			s.mu.Unlock()
			s.ahead <- early
		}
	}
	return res, err
}

func newSlowClaims(store provider.Provider, took time.Duration) *slowClaims {
	return &slowClaims{Full: provider.FullOf(store), took: took, ahead: make(chan time.Duration, 10_000)}
}

// next waits for a claim ahead and returns how long before its time it was.
func (s *slowClaims) next(e *enginetest.Engine) time.Duration {
	e.T.Helper()
	select {
	case early := <-s.ahead:
		return early
	case <-time.After(2 * time.Hour): // in virtual time
		e.T.Fatal("nothing is claimed ahead")
		return 0
	}
}

// nap returns how late its code continued.
func nap(ctx *octx, d time.Duration) (time.Duration, error) {
	due := ctx.Now().Add(d)
	if err := ctx.Sleep(d); err != nil {
		return 0, err
	}
	if ctx.Now().Before(due) {
		return 0, fmt.Errorf("it is %v, before %v", ctx.Now(), due)
	}
	return time.Since(due), nil
}

// eventOrTimer returns which of the two came first.
func eventOrTimer(ctx *octx, d time.Duration) (string, error) {
	i, err := orchestration.Select(ctx, orchestration.StartTimer(ctx, d), orchestration.Events[int](ctx, "go"))
	return []string{"timer", "event"}[i], err
}

func napping(e *enginetest.Engine) *runtime.Registry {
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "nap", nap)
	enginetest.Orchestration(e.T, reg, "eventOrTimer", eventOrTimer)
	return reg
}

// Timers need not wait for their claims: the code continues exactly on time, never early.
func TestAhead_TimersAreNotLate(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := newSlowClaims(e.Store, 10*time.Millisecond)
		e.StartOn(store, napping(e), e.Options)
		for _, d := range []time.Duration{5 * time.Second, time.Hour, 40 * time.Millisecond} {
			if late := enginetest.Output[time.Duration](e, e.Create(d.String(), "nap", d)); late != 0 {
				e.T.Errorf("after %v: %v late", d, late)
			}
			if early := store.next(e); early > 50*time.Millisecond {
				e.T.Errorf("claimed %v ahead", early)
			}
		}
	})
}

// More timers than can be held are due at once: none is lost, and those that are not held are claimed when they are due.
func TestAhead_HoldsABoundedNumber(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const timers = 1500
		due := time.Now().Add(time.Hour)
		store := newSlowClaims(e.Store, 0)
		enough := runtime.NewRegistry()
		enginetest.Orchestration(e.T, enough, "nap", func(ctx *octx, _ none) (none, error) {
			return none{}, ctx.Sleep(due.Sub(ctx.Now()))
		})
		rt := e.StartOn(store, enough, e.Options)
		keys := make([]provider.UUID, timers)
		for i := range keys {
			keys[i] = e.Create(fmt.Sprint(i), "nap", none{})
		}
		e.Until("all sleep", func() bool { return rt.Stats().TurnsCommitted == timers })
		time.Sleep(time.Until(due) - time.Millisecond) //nolint:forbidigo // in virtual time
		synctest.Wait()
		if n := len(store.ahead); n < 200 || n > 600 {
			e.T.Errorf("%d turns are claimed ahead", n)
		}
		for _, key := range keys {
			e.WaitEnded(key)
		}
		if late := time.Since(due); late > time.Second {
			e.T.Errorf("the last one came after %v", late)
		}
	})
}

// Timers that are due together are claimed before, however few slots there are for activities: a claim ahead holds none.
func TestAhead_FewActivitySlotsMakeNoTimerLate(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy %v", busy), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 4}, func(e *enginetest.Engine) {
				const timers = 300
				due := time.Now().Add(time.Hour)
				reg := registry(e.T)
				free := make(chan struct{})
				enginetest.Activity(e.T, reg, "work", func(context.Context, none) (none, error) {
					<-free
					return none{}, nil
				})
				enginetest.Orchestration(e.T, reg, "busy", func(ctx *octx, _ none) (none, error) {
					return orchestration.CallActivityNamed[none](ctx, "work", none{})
				})
				enginetest.Orchestration(e.T, reg, "nap", func(ctx *octx, _ none) (time.Duration, error) {
					err := ctx.Sleep(due.Sub(ctx.Now()))
					return time.Since(due), err
				})
				store := newSlowClaims(e.Store, 5*time.Millisecond)
				rt := e.StartOn(store, reg, e.Options)
				if busy {
					for i := range 6 { // two of them queue
						defer e.WaitEnded(e.Create(fmt.Sprint("busy", i), "busy", none{}))
					}
				}
				defer close(free)
				keys := make([]provider.UUID, timers)
				for i := range keys {
					keys[i] = e.Create(fmt.Sprint(i), "nap", none{})
				}
				e.Until("all sleep", func() bool { return rt.Stats().TurnsCommitted >= timers })
				var latest time.Duration
				for _, key := range keys {
					latest = max(latest, enginetest.Output[time.Duration](e, key))
				}
				if n := len(store.ahead); latest != 0 || n != timers {
					e.T.Errorf("%d of %d turns are claimed ahead, and the last timer is %v late", n, timers, latest)
				}
				time.Sleep(time.Second) //nolint:forbidigo // virtual time
				if n := store.polled.Load(); n > 8 {
					e.T.Errorf("a second later a fetch waits for %d turns: all would begin at once", n)
				}
			})
		})
	}
}

// An event that is stored before the timer is due comes before it, though the timer is claimed.
func TestAhead_EventsOvertake(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := newSlowClaims(e.Store, 0)
		e.StartOn(store, napping(e), e.Options)
		began := time.Now()
		key := e.Create("in", "eventOrTimer", time.Minute)
		store.next(e)
		e.Raise(key, "go", 7)
		if got := enginetest.Output[string](e, key); got != "event" || time.Since(began) >= time.Minute {
			e.T.Errorf("%s came first, after %v", got, time.Since(began))
		}
	})
}

// That holds, too, if the node has not heard of the event when the timer is due.
func TestAhead_UnheardEventsOvertake(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := newSlowClaims(e.Store, 0)
		store.pauseFetches = make(chan struct{})
		rt := e.StartOn(store, napping(e), e.Options)
		key := e.Create("in", "eventOrTimer", time.Minute)
		store.next(e)
		e.Raise(key, "go", 7)
		e.Until("the timer's turn is refused", func() bool { return rt.Stats().TurnsConflicted == 1 })
		close(store.pauseFetches)
		if got := enginetest.Output[string](e, key); got != "event" {
			e.T.Errorf("%s came first", got)
		}
	})
}

// Claims of a node that stops are released at once, and count as no delivery.
func TestAhead_ShutdownGivesBack(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := newSlowClaims(e.Store, 0)
		first := e.StartOn(store, napping(e), e.Options)
		key := e.Create("in", "nap", time.Minute)
		store.next(e)
		e.Stop(first)
		if in := e.Get(key); in.Deliveries != 0 || in.Status != provider.StatusRunning {
			e.T.Errorf("%d deliveries are counted, and it is %s", in.Deliveries, in.Status)
		}
		e.Start(napping(e))
		if late := enginetest.Output[time.Duration](e, key); late != 0 {
			e.T.Errorf("%v late", late)
		}
	})
}

// A fast turn that cancels the timer that is held ends its claim, so that the instance is free for what comes next.
func TestAhead_FastTurnsEndClaims(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := napping(e)
		finish := make(chan struct{})
		enginetest.Activity(e.T, reg, "work", func(context.Context, none) (int, error) {
			<-finish
			return 1, nil
		})
		enginetest.Orchestration(e.T, reg, "patient", func(ctx *octx, d time.Duration) (int, error) {
			work := orchestration.StartActivityNamed[int](ctx, "work", none{})
			timeout := orchestration.StartTimer(ctx, d)
			if i, err := orchestration.Select(ctx, work, timeout); err != nil || i != 0 {
				return 0, fmt.Errorf("%d came first: %w", i, err)
			}
			timeout.Cancel()
			return orchestration.Events[int](ctx, "go").Receive(ctx)
		})
		store := newSlowClaims(e.Store, 0)
		rt := e.StartOn(store, reg, e.Options)
		key := e.Create("in", "patient", time.Minute)
		store.next(e)
		close(finish)
		e.Until("the result is there", func() bool { return rt.Stats().TurnsFast == 1 })
		began := time.Now()
		e.Raise(key, "go", 7)
		enginetest.Output[int](e, key)
		if took, s := time.Since(began), rt.Stats(); took > time.Second || s.TurnsConflicted != 0 || s.ColdReplays != 0 {
			e.T.Errorf("the event took %v; %d turns were refused, %d histories replayed", took, s.TurnsConflicted, s.ColdReplays)
		}
	})
}

// commitsSeen counts the commits of turns that were claimed ahead.
type commitsSeen struct {
	*provider.Full
	n atomic.Int32
}

func (s *commitsSeen) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if req.Ahead {
		s.n.Add(1)
	}
	return s.Provider.CommitTurn(ctx, req)
}

// When timers are due at the same time, the code of all continues before their commits take the processor. The
// operating system may take that away in between, which lets commits go first, so one of five tries must show the
// order.
//
//nolint:paralleltest // it takes the processors from others
func TestAhead_CodeGoesOnBeforeCommits(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	const timers = 20
	var committed []int32
	for len(committed) < 5 {
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			committed = append(committed, committedBeforeTheLast(e, timers))
		})
		if committed[len(committed)-1] <= timers/2 {
			return
		}
	}
	t.Errorf("before the code of the last of %d went on, %d turns were committed", timers, committed)
}

// committedBeforeTheLast lets so many instances sleep until one time. It returns how many turns were committed when the
// code of the last of them continued.
func committedBeforeTheLast(e *enginetest.Engine, timers int) int32 {
	due := time.Now().Add(time.Hour)
	var on, first atomic.Int32
	store := &commitsSeen{Full: e.Store}
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "nap", func(ctx *octx, _ none) (none, error) {
		err := ctx.Sleep(due.Sub(ctx.Now()))
		if int(on.Add(1)) == timers {
			first.Store(store.n.Load())
		}
		return none{}, err
	})
	e.StartOn(store, reg, e.Options)
	keys := make([]provider.UUID, timers)
	for i := range keys {
		keys[i] = e.Create(fmt.Sprint(i), "nap", none{})
	}
	for _, key := range keys {
		e.WaitEnded(key)
	}
	if n := store.n.Load(); int(n) != timers {
		e.T.Errorf("%d of %d turns were claimed ahead", n, timers)
	}
	return first.Load()
}

// In real time timers are met, too: on a machine at rest within a millisecond. A busy one makes some late, a poll all but a few,
// so two of eight must be in time. They come one after the other, so that nothing else comes by.
//
//nolint:paralleltest // others would take the processors from it
func TestAhead_RealTimersAreNotLate(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	e.Start(napping(e))
	late := make([]time.Duration, 8)
	for i := range late {
		late[i] = enginetest.Output[time.Duration](e, e.Create(fmt.Sprint(i), "nap", 100*time.Millisecond))
		if late[i] < 0 {
			t.Errorf("the code went on %v early", -late[i])
		}
	}
	slices.Sort(late)
	if late[1] > 50*time.Millisecond {
		t.Errorf("of %d timers all but one are %v late or more", len(late), late[1])
	}
}
