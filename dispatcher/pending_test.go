package dispatcher_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// deferred is an activity that hands out how it is ended, and how often it ran.
type deferred struct {
	completers chan activity.Completer[int]
	runs       enginetest.Notes[string] // their tokens
	contexts   chan context.Context
	err        error // returned
}

func newDeferred(err error) *deferred {
	return &deferred{completers: make(chan activity.Completer[int], 10), contexts: make(chan context.Context, 10), err: err}
}

func (p *deferred) work(ctx context.Context, _ int) (int, error) {
	p.runs.Add(activity.Token(ctx))
	p.contexts <- ctx
	p.completers <- activity.Defer[int](ctx)
	return 0, p.err
}

// A pending activity keeps its slot and its lease, longer than a lease lasts, until its completer ends it: exactly one call wins.
func TestPendingHoldsItsSlot(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrPending)
		e.Options.MaxConcurrentActivities = 1
		e.Options.Lease = time.Second
		if !e.Virtual { // a busy machine must renew it in time
			e.Options.Lease = 6 * time.Second
		}
		rt := e.Start(single(e, p.work))
		key := e.Create("single", "single", 1)
		c := <-p.completers
		e.Until("it is pending", func() bool { return rt.Stats().AttemptsPending == 1 })
		second := e.Create("second", "single", 1)
		time.Sleep(e.Options.Lease + 2*time.Second) //nolint:forbidigo // longer than a lease; on SQLite in real time
		if s := rt.Stats(); s.AttemptsRunning != 1 || s.LeasesLost != 0 || len(p.runs.All()) != 1 {
			e.T.Errorf("%+v after %d runs", s, len(p.runs.All()))
		}
		if err := c.Complete(42); err != nil {
			e.T.Error(err)
		}
		for what, err := range map[string]error{
			"complete": c.Complete(43), "fail": c.Fail(io.EOF), "heartbeat": c.Heartbeat(1), "cancelled": c.ReportCancelled(),
		} {
			if !errors.Is(err, activity.ErrAlreadyCompleted) {
				e.T.Errorf("late %s answered %v", what, err)
			}
		}
		if got := enginetest.Output[int](e, key); got != 42 {
			e.T.Errorf("got %d", got)
		}
		if err := (<-p.completers).Complete(7); err != nil { // the slot is free
			e.T.Error(err)
		}
		if got := enginetest.Output[int](e, second); got != 7 {
			e.T.Errorf("got %d", got)
		}
		e.Until("nothing runs", func() bool { s := rt.Stats(); return s.AttemptsRunning == 0 && s.AttemptsPending == 0 })
	})
}

// A completer may be faster than its function; what that returns then does not count.
func TestCompleterFasterThanItsFunction(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"pending": activity.ErrPending, "parked": activity.ErrParked, "failed": io.EOF, "returned": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				rt := e.Start(single(e, func(ctx context.Context, _ int) (int, error) {
					c := activity.Defer[int](ctx)
					if given := c.Complete(42); given != nil {
						e.T.Error(given)
					}
					if again := c.Complete(43); !errors.Is(again, activity.ErrAlreadyCompleted) {
						e.T.Errorf("again: %v", again)
					}
					return 44, err
				}))
				if got := enginetest.Output[int](e, e.Create("single", "single", 1)); got != 42 {
					e.T.Errorf("got %d", got)
				}
				e.Until("nothing runs", func() bool { s := rt.Stats(); return s.AttemptsRunning+s.AttemptsPending == 0 })
			})
		})
	}
}

// A pending attempt fails like one that returns its error: the retry policy decides.
func TestPendingFailsByItsPolicy(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrPending)
		reg := single(e, p.work, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2}))
		if err := runtime.AddError(reg, "eof", io.EOF); err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		key := e.Create("single", "single", 1)
		for range 2 {
			if err := (<-p.completers).Fail(io.EOF); err != nil {
				e.T.Error(err)
			}
		}
		if _, err := enginetest.Result[int](e, key, reg.Errors()); !errors.Is(err, io.EOF) {
			e.T.Errorf("ended with %v", err)
		}
		if runs := p.runs.All(); len(runs) != 2 || runs[0] == runs[1] {
			e.T.Errorf("ran with the tokens %v", runs)
		}
	})
}

// Timeouts, steering and shutdown end pending attempts as any other, and their completers hear of it.
func TestPendingIsBounded(t *testing.T) {
	t.Parallel()
	type world struct {
		e   *enginetest.Engine
		key provider.UUID
		rt  *runtime.Runtime
	}
	cases := map[string]struct {
		do     func(w *world)
		want   error
		within time.Duration
	}{
		"timeout":    {func(*world) {}, activity.ErrTimeout, 61 * time.Second},
		"terminated": {func(w *world) { w.e.Terminate(w.key, "enough") }, activity.ErrOrchestrationEnded, time.Second},
		"cancelled":  {func(w *world) { w.e.Cancel(w.key, "enough") }, activity.ErrCancelled, 11 * time.Second},
		"shutdown":   {func(w *world) { w.e.Stop(w.rt) }, activity.ErrShutdown, 21 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				p := newDeferred(activity.ErrPending)
				rt := e.Start(single(e, p.work, orchestration.WithStartToCloseTimeout(time.Minute)))
				w := &world{e, e.Create("single", "single", 1), rt}
				completer, ctx := <-p.completers, <-p.contexts
				e.Until("it is pending", func() bool { return rt.Stats().AttemptsPending == 1 })
				began := time.Now()
				c.do(w)
				e.Until("the slot is free", func() bool { return rt.Stats().AttemptsRunning == 0 })
				if took := time.Since(began); took > c.within {
					e.T.Errorf("took %v, want %v", took, c.within)
				}
				if cause := context.Cause(ctx); !errors.Is(cause, c.want) {
					e.T.Errorf("the context ended because of %v", cause)
				}
				if err := completer.Complete(1); !errors.Is(err, c.want) {
					e.T.Errorf("completing answered %v", err)
				}
				if s := rt.Stats(); s.AttemptsLeaked != 0 || s.AttemptsPending != 0 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}

// An attempt whose outcome no longer counts is told as abandoned, and not as one that had a grace period of 0 s. One that had its grace period is
// told by that.
func TestPendingIsToldWhyItWasAbandoned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(e *enginetest.Engine, key provider.UUID)
		says string
	}{
		"timeout":   {func(*enginetest.Engine, provider.UUID) {}, "was abandoned, as its outcome no longer counts"},
		"cancelled": {func(e *enginetest.Engine, key provider.UUID) { e.Cancel(key, "enough") }, "did not end within the grace period of 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				p := newDeferred(activity.ErrPending)
				e.Start(single(e, p.work, orchestration.WithStartToCloseTimeout(time.Minute), orchestration.WithCancellation(orchestration.WaitForEnd)))
				key := e.Create("single", "single", 1)
				<-p.completers
				c.do(e, key)
				_, err := enginetest.Result[int](e, key, nil)
				if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), " 0s") {
					e.T.Errorf("it ended with %v, want %q", err, c.says)
				}
			})
		})
	}
}

// The completer of a cancelled activity can report that it has stopped only within the grace period.
func TestPendingReportsCancelled(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrPending)
		rt := e.Start(single(e, p.work))
		key := e.Create("single", "single", 1)
		completer, ctx := <-p.completers, <-p.contexts
		if err := completer.ReportCancelled(); !errors.Is(err, activity.ErrNotCancelled) {
			e.T.Errorf("nobody cancelled it, and it answered %v", err)
		}
		if err := completer.Heartbeat("half"); err != nil {
			e.T.Error(err)
		}
		e.Cancel(key, "enough")
		<-ctx.Done()
		time.Sleep(5 * time.Second) //nolint:forbidigo // virtual time
		began := time.Now()
		if err := completer.Heartbeat("half"); !errors.Is(err, activity.ErrCancelled) {
			e.T.Errorf("the heartbeat answered %v", err)
		}
		if err := completer.ReportCancelled(); err != nil {
			e.T.Error(err)
		}
		e.Until("the slot is free", func() bool { return rt.Stats().AttemptsRunning == 0 })
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("took %v", took)
		}
		if _, err := enginetest.Result[int](e, key, nil); !errors.Is(err, orchestration.ErrCancelled) {
			e.T.Errorf("ended with %v", err)
		}
	})
}

// A node that makes the turn of a result given by token hears at once that the slot is free.
func TestHeldSlotIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 1}, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrPending)
		reg := single(e, p.work)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			if _, err := orchestration.CallActivityNamed[int](ctx, "work", n); err != nil {
				return 0, err
			}
			return orchestration.Events[int](ctx, "end").Receive(ctx)
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", 1)
		completer, ctx := <-p.completers, <-p.contexts
		e.Until("it is pending", func() bool { return rt.Stats().AttemptsPending == 1 })
		began := time.Now()
		if err := client.CompleteActivity(e.T.Context(), clienttest.New(e.T, e.Store, client.Options{}), completer.Token(), 42); err != nil {
			e.T.Error(err)
		}
		enginetest.Output[int](e, e.Create("chain", "Chain", 1))
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("the slot was free after %v", took)
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, activity.ErrAlreadyCompleted) {
			e.T.Errorf("the context ended because of %v", cause)
		}
		if err := completer.Fail(io.EOF); !errors.Is(err, activity.ErrAlreadyCompleted) {
			e.T.Errorf("failing answered %v", err)
		}
		e.Raise(key, "end", 1)
		enginetest.Output[int](e, key)
	})
}

// A function that an activity gave OnComplete cannot wait in the store.
func TestParkedKeepsNoFunction(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Start(single(e, func(ctx context.Context, _ int) (int, error) {
			err := provider.OnComplete(ctx, func(provider.Tx) error { return nil })
			return 0, errors.Join(err, activity.ErrParked)
		}))
		if _, err := enginetest.Result[int](e, e.Create("single", "single", 1), nil); !errors.Is(err, orchestration.ErrInvalid) {
			e.T.Errorf("ended with %v", err)
		}
	})
}

// Shutdown lets pending activities be completed for as long as running ones, and gives the others back.
func TestShutdownWaitsForPending(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrPending)
		rt := e.Start(single(e, p.work))
		one, other := e.Create("one", "single", 1), e.Create("other", "single", 1)
		first, second := <-p.completers, <-p.completers
		go func() {
			time.Sleep(5 * time.Second) //nolint:forbidigo // virtual time
			if err := first.Complete(42); err != nil {
				e.T.Error(err)
			}
		}()
		began := time.Now()
		e.Stop(rt)
		if took := time.Since(began); took < 15*time.Second || took > 16*time.Second {
			e.T.Errorf("took %v, want the drain timeout and the force timeout", took)
		}
		if err := second.Complete(1); !errors.Is(err, activity.ErrShutdown) {
			e.T.Errorf("completing answered %v", err)
		}
		e.Start(single(e, func(context.Context, int) (int, error) { return 42, nil }))
		for _, key := range []provider.UUID{one, other} {
			if got := enginetest.Output[int](e, key); got != 42 {
				e.T.Errorf("got %d", got)
			}
		}
	})
}

// A parked activity holds neither slot nor lease, waits for longer than any lease and over restarts, and never runs again.
func TestParkedWaitsInTheStore(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrParked)
		e.Options.MaxConcurrentActivities, e.Options.Lease = 1, 5*time.Second // a busy machine parks it within its lease
		rt := e.Start(single(e, p.work))
		key := e.Create("single", "single", 1)
		completer := <-p.completers
		e.Until("it is parked", func() bool { return e.Tasks(key)[0].State == provider.TaskParked })
		e.Until("the slot is free", func() bool { return rt.Stats().AttemptsRunning == 0 })
		if err := completer.Complete(1); !errors.Is(err, activity.ErrParked) {
			e.T.Errorf("the completer answered %v", err)
		}
		if got := enginetest.Output[int](e, e.Create("chain", "Chain", 3)); got != 8 {
			e.T.Errorf("the slot is not free: %d", got)
		}
		e.Stop(rt)
		rt = e.Start(single(e, p.work))
		time.Sleep(e.Options.Lease + time.Second) //nolint:forbidigo // longer than a lease; on SQLite in real time
		c := clienttest.New(e.T, e.Store, client.Options{})
		if err := client.CompleteActivity(e.T.Context(), c, completer.Token(), 42); err != nil {
			e.T.Error(err)
		}
		if got := enginetest.Output[int](e, key); got != 42 {
			e.T.Errorf("got %d", got)
		}
		if n := len(p.runs.All()); n != 1 {
			e.T.Errorf("it ran %d times", n)
		}
		e.Until("nothing runs", func() bool { return rt.Stats().AttemptsRunning == 0 })
	})
}

// A cancelled scope does not wait for a parked activity, and the end of its execution removes it.
func TestParkedIsGivenUp(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		p := newDeferred(activity.ErrParked)
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", p.work)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			f := orchestration.StartActivityNamed[int](ctx, "work", 1)
			if _, err := orchestration.Events[none](ctx, "stop").Receive(ctx); err != nil {
				return "", err
			}
			f.Cancel()
			_, err := f.Get(ctx)
			if !errors.Is(err, orchestration.ErrCancelled) {
				return "", err
			}
			_, err = orchestration.Events[none](ctx, "end").Receive(ctx)
			return "gave it up", err
		})
		e.Start(reg)
		key := e.Create("main", "main", none{})
		token := (<-p.completers).Token()
		e.Until("it is parked", func() bool { return e.Tasks(key)[0].State == provider.TaskParked })
		c := clienttest.New(e.T, e.Store, client.Options{})
		if err := client.HeartbeatActivity(e.T.Context(), c, token, "half"); err != nil {
			e.T.Error(err)
		}
		e.Raise(key, "stop", none{})
		e.Until("it hears of it", func() bool {
			return errors.Is(client.HeartbeatActivity(e.T.Context(), c, token, "half"), activity.ErrCancelled)
		})
		e.Raise(key, "end", none{})
		if got := enginetest.Output[string](e, key); got != "gave it up" {
			e.T.Error(got)
		}
		if tasks := e.Tasks(key); len(tasks) != 0 {
			e.T.Errorf("left behind: %+v", tasks)
		}
		if err := client.CompleteActivity(e.T.Context(), c, token, 1); !errors.Is(err, client.ErrEnded) {
			e.T.Errorf("completing answered %v", err)
		}
	})
}
