package dispatcher_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// How long a result may wait in memory for a fast turn, and while a turn of its execution is being committed.
const (
	patience       = 50 * time.Millisecond
	commitPatience = time.Second
)

// inboxWatch is a store that notes when results are completed into the inbox.
type inboxWatch struct {
	*held

	at enginetest.Notes[time.Time]
}

func (w *inboxWatch) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	res, err := w.held.ReportTasks(ctx, req)
	for i := range res.Items {
		if req.Items[i].Outcome == provider.TaskComplete && res.Items[i].Err == nil {
			w.at.Add(time.Now())
		}
	}
	return res, err
}

// pair registers "pair", which waits for two activities and an event "poke" that does as it says.
func pair(e *enginetest.Engine, work func(context.Context, int) (int, error), poked func()) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Activity(e.T, reg, "work", work)
	enginetest.Orchestration(e.T, reg, "pair", func(ctx *octx, _ none) (int, error) {
		a, b := orchestration.StartActivityNamed[int](ctx, "work", 1), orchestration.StartActivityNamed[int](ctx, "work", 2)
		poke := ctx.Go(func(ctx *octx) error {
			if _, err := orchestration.Events[none](ctx, "poke").Receive(ctx); err != nil {
				return err
			}
			poked()
			return nil
		})
		got, err := orchestration.All(ctx, a, b)
		if err != nil {
			return 0, err
		}
		_, err = poke.Get(ctx)
		return got[0] + got[1], err
	})
	return reg
}

// A result waits at most 50 ms for its fast turn if all slots are taken, and a second while the previous turn is
// committed. It does not wait if the execution was evicted with a failed turn.
func TestHazard40_ResultWaitsForAMoment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots   int
		prepare func(e *enginetest.Engine, w *inboxWatch, key provider.UUID)
		wait    time.Duration
	}{
		"slots taken": {1, func(e *enginetest.Engine, _ *inboxWatch, _ provider.UUID) {
			e.Create("hog", "hog", none{})
		}, patience},
		"turn in flight": {200, func(e *enginetest.Engine, w *inboxWatch, key provider.UUID) {
			w.hold.Store(true)
			e.Raise(key, "noise", none{})
			<-w.reached
		}, commitPatience},
		"blocked": {200, func(e *enginetest.Engine, _ *inboxWatch, key provider.UUID) {
			e.Raise(key, "poke", none{})
			e.WaitBlocked(key, 1)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{DeadlockLimit: runtime.Off, MaxConcurrentTurns: c.slots}, func(e *enginetest.Engine) {
				var mended atomic.Bool
				finish, done := make(chan struct{}), make(chan struct{})
				reg := pair(e, func(_ context.Context, n int) (int, error) {
					<-finish
					return n, nil
				}, func() {
					if !mended.Load() {
						panic("poked")
					}
				})
				enginetest.Orchestration(e.T, reg, "hog", func(*octx, none) (none, error) {
					<-done
					return none{}, nil
				})
				w := &inboxWatch{held: newHeld(e.Store)}
				rt := e.StartOn(w, reg, e.Options)
				synctest.Wait()
				key := e.Create("pair", "pair", none{})
				synctest.Wait()
				c.prepare(e, w, key)
				synctest.Wait()
				began := time.Now()
				close(finish)
				time.Sleep(10 * time.Second) //nolint:forbidigo // virtual time
				at := w.at.All()
				if len(at) != 2 {
					e.T.Fatalf("%d results are in the inbox; %+v", len(at), rt.Stats())
				}
				for _, at := range at {
					if waited := at.Sub(began); waited != c.wait {
						e.T.Errorf("a result waited %v, want %v", waited, c.wait)
					}
				}
				mended.Store(true)
				close(done)
				close(w.release)
				if c.wait != 0 {
					e.Raise(key, "poke", none{})
				}
				if got := enginetest.Output[int](e, key); got != 3 {
					e.T.Errorf("got %d", got)
				}
				results(e, key)
			})
		})
	}
}

// A node that shuts down hands itself no more tasks. Its results are in the inbox before it ends. Nothing runs again,
// and nothing is counted.
func TestHazard40_ShutdownFlushesResults(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{DeadlockLimit: runtime.Off}, func(e *enginetest.Engine) {
		var runs enginetest.Notes[int]
		finish := make(chan struct{})
		reg := pair(e, func(_ context.Context, n int) (int, error) {
			runs.Add(n)
			<-finish
			return n, nil
		}, func() {})
		enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, _ none) (int, error) {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time, and the turn is to take some
			return orchestration.CallActivityNamed[int](ctx, "work", 3)
		})
		w := &inboxWatch{held: newHeld(e.Store)}
		rt, err := runtime.Start(e.T.Context(), w, reg, e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		synctest.Wait()
		key := e.Create("pair", "pair", none{})
		synctest.Wait()
		slow := e.Create("slow", "slow", none{})
		w.hold.Store(true) // the turn of slow, too, is committed when the node stops
		e.Raise(key, "noise", none{})
		<-w.reached
		close(finish)
		synctest.Wait() // the results wait for the turn in flight
		stopped := make(chan error)
		go func() { stopped <- rt.Shutdown(e.T.Context()) }()
		synctest.Wait()
		close(w.release)
		if err := <-stopped; err != nil {
			e.T.Error(err)
		}
		if s := rt.Stats(); s.TurnsFast != 0 || s.TasksHandedOff != 2 {
			e.T.Errorf("%+v", s)
		}
		if i := e.Get(key); i.InboxMessages != 2 || len(e.Tasks(key)) != 0 || i.Deliveries != 0 {
			e.T.Errorf("%d messages, %d deliveries, tasks %+v", i.InboxMessages, i.Deliveries, e.Tasks(key))
		}
		if tasks := e.Tasks(slow); len(tasks) != 1 || tasks[0].State != provider.TaskQueued {
			e.T.Errorf("%+v", tasks)
		}
		e.Start(reg)
		e.Raise(key, "poke", none{})
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
		enginetest.Output[int](e, slow)
		if n := len(runs.All()); n != 3 {
			e.T.Errorf("%d activities ran: %v", n, runs.All())
		}
		results(e, key)
	})
}

// slowCommits is a store whose commits take longer than a result's patience.
type slowCommits struct {
	inboxWatch

	took time.Duration
}

func (w *slowCommits) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	time.Sleep(w.took) //nolint:forbidigo // virtual time
	return w.inboxWatch.CommitTurn(ctx, req)
}

// Where commits are slow results take the short cut all the same: else each would cost more just when the store has much to do.
func TestHazard40_SlowCommitsKeepTheShortCut(t *testing.T) {
	t.Parallel()
	const calls = 100
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Duration(n) * time.Millisecond) //nolint:forbidigo // virtual time
			return n, nil
		})
		enginetest.Orchestration(e.T, reg, "fan", func(ctx *octx, _ none) (int, error) {
			all := make([]orchestration.Future[int], calls)
			for n := range all {
				all[n] = orchestration.StartActivityNamed[int](ctx, "work", n)
			}
			got, err := orchestration.All(ctx, all...)
			return len(got), err
		})
		w := &slowCommits{inboxWatch: inboxWatch{held: newHeld(e.Store)}, took: patience + 10*time.Millisecond}
		rt := e.StartOn(w, reg, e.Options)
		key := e.Create("fan", "fan", none{})
		if got := enginetest.Output[int](e, key); got != calls {
			e.T.Errorf("joined %d", got)
		}
		if at := w.at.All(); len(at) > 0 {
			e.T.Errorf("%d of %d results went to the inbox: %+v", len(at), calls, rt.Stats())
		}
	})
}
