package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// writes is a store that counts the calls that change it. A start is not stored if create returns an error.
type writes struct {
	*provider.Full

	commits, reports, releases atomic.Int64
	creates                    enginetest.Notes[provider.CreateRequest]
	create                     func(req provider.CreateRequest) error // nil: stores all
}

func (w *writes) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	w.creates.Add(req)
	if w.create != nil {
		if err := w.create(req); err != nil {
			return provider.CreateResult{}, err
		}
	}
	return w.Provider.Create(ctx, req)
}

func (w *writes) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	w.commits.Add(1)
	return w.Provider.CommitTurn(ctx, req)
}

func (w *writes) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	w.reports.Add(1)
	return w.Provider.ReportTasks(ctx, req)
}

func (w *writes) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	w.releases.Add(1)
	return w.Provider.ReleaseTurns(ctx, req)
}

// eager returns how many starts came with their first turn, and how many without.
func (w *writes) eager() (with, without int) {
	for _, req := range w.creates.All() {
		if req.First != nil {
			with++
		} else {
			without++
		}
	}
	return with, without
}

// serve starts a node, waits until it is idle, and returns a client in its process.
func serve(e *enginetest.Engine, store provider.Provider, reg *runtime.Registry, opts runtime.Options) (*runtime.Runtime, *client.Client) {
	e.T.Helper()
	rt := e.StartOn(store, reg, opts)
	synctest.Wait()
	return rt, clienttest.Of(e.T, rt, client.Options{})
}

// begin starts an instance whose input is 21.
func begin(e *enginetest.Engine, c *client.Client, name string, opts ...client.StartOption) client.Handle[int] {
	e.T.Helper()
	h, err := client.StartNamed[int](e.T.Context(), c, name, 21, opts...)
	if err != nil {
		e.T.Fatalf("starting %s: %v", name, err)
	}
	return h
}

// A start of an orchestration that a node of the process serves, and one activity, are two commits. The history is that of an instance that
// was stored first.
func TestEagerStart_OneCommitLess(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Off = 0
		w := &writes{Full: e.Store}
		reg := single(e, Double)
		rt, c := serve(e, w, reg, e.Options)
		h := begin(e, c, "single")
		if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
			e.T.Errorf("got %d, %v", got, err)
		}
		s := rt.Stats()
		if with, without := w.eager(); with != 1 || without != 0 || s.TurnsEager != 1 || s.TasksHandedOff != 1 {
			e.T.Errorf("%d starts with a turn, %d without; %+v", with, without, s)
		}
		if e.Options.Cache.Executions == 0 && e.Options.Cache.Bytes == 0 &&
			(w.commits.Load() != 1 || w.reports.Load() != 0 || s.TurnsFetched != 0 || s.ColdReplays != 0) {
			e.T.Errorf("%d commits, %d reports, %+v", w.commits.Load(), w.reports.Load(), s)
		}
		plain := e.Create("plain", "single", 21)
		e.WaitEnded(plain)
		eager, ordinary := e.History(h.Key(), 1), e.History(plain, 1)
		if a, b := shape(eager), shape(ordinary); a != b {
			e.T.Errorf("history of an eager start:\n%sand of another:\n%s", a, b)
		}
		if eager[0].At == 0 || eager[0].At > int64(e.Get(h.Key()).CreatedAt) || eager[0].At > eager[2].At {
			e.T.Errorf("started at %d, activity ended at %d, %+v", eager[0].At, eager[2].At, e.Get(h.Key()))
		}
	})
}

// shape writes a history without times and request IDs.
func shape(events []history.Event) string {
	var b strings.Builder
	for _, event := range events {
		switch body := event.Body.(type) {
		case *history.ExecutionStarted:
			body.RequestID = ""
		case *history.ActivityCompleted:
			body.Attempts = nil
		}
		fmt.Fprintf(&b, "%d %v %+v\n", event.ID, event.Body.Kind(), event.Body)
	}
	return b.String()
}

// A first turn that does more than schedule work, ends the execution or fails is made after the instance is stored. Its
// visible effects happen once.
func TestEagerStart_LeavesTurnsToStoredInstances(t *testing.T) {
	type body = func(ctx *octx, n int) (int, error)
	var effects atomic.Int64
	effect := func() (int, error) { return int(effects.Add(1)), nil }
	for name, code := range map[string]body{
		"ends": func(_ *octx, n int) (int, error) { return 2 * n, nil },
		"continues": func(ctx *octx, n int) (int, error) {
			if n == 21 {
				return 0, orchestration.ContinueAsNew(ctx, 42)
			}
			return n, nil
		},
		"side effect": func(ctx *octx, n int) (int, error) {
			if v, err := orchestration.SideEffect(ctx, effect); v != 1 || err != nil {
				return v, err
			}
			return orchestration.CallActivity(ctx, Double, n)
		},
		"local activity": func(ctx *octx, n int) (int, error) {
			return orchestration.CallLocal(ctx, Double, n)
		},
		"panics once": func(ctx *octx, n int) (int, error) {
			if effects.Add(1) <= 2 {
				panic("not yet")
			}
			return orchestration.CallActivity(ctx, Double, n)
		},
		"Goexit once": func(ctx *octx, n int) (int, error) {
			if effects.Add(1) <= 2 {
				goruntime.Goexit()
			}
			return orchestration.CallActivity(ctx, Double, n)
		},
		"not registered at first": func(ctx *octx, n int) (int, error) {
			if effects.Add(1) <= 2 {
				return orchestration.CallActivity(ctx, func(context.Context, int) (int, error) { return 0, nil }, n)
			}
			return orchestration.CallActivity(ctx, Double, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			effects.Store(0)
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				w := &writes{Full: e.Store}
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", code)
				rt, c := serve(e, w, reg, e.Options)
				h := begin(e, c, "main")
				if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
					e.T.Errorf("got %d, %v", got, err)
				}
				synctest.Wait()
				blocked := strings.Contains(name, "once") || strings.Contains(name, "at first")
				if s := rt.Stats(); s.TurnsEager != 0 || s.TurnsFailed > 0 != blocked || s.TurnsRunning != 0 || s.LeaksWatched != 0 {
					e.T.Errorf("%+v", s)
				}
				if with, without := w.eager(); with != 0 || without != 1 {
					e.T.Errorf("%d starts with a turn, %d without", with, without)
				}
			})
		})
	}
}

// Starts that are to be stored as they are, are, and what the storage says of a first turn does not refuse the start.
func TestEagerStart_OrdinaryWay(t *testing.T) {
	t.Parallel()
	refuse := func(err error) func(provider.CreateRequest) error {
		return func(req provider.CreateRequest) error {
			if req.First != nil {
				return err
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		opts   client.StartOption
		create func(provider.CreateRequest) error
		with   int
	}{
		"whatever exists":        {opts: client.WithIDPolicy(client.UseExisting)},
		"too large with turn":    {create: refuse(fmt.Errorf("first: %w", provider.ErrTooLarge)), with: 1},
		"invalid with turn":      {create: refuse(fmt.Errorf("first: %w", provider.ErrInvalid)), with: 1},
		"no answer with turn":    {create: refuse(&provider.Error{Op: "create", Outcome: provider.OutcomeUnknown, Retryable: true, Err: errors.New("away")}), with: 1},
		"not possible with turn": {create: refuse(&provider.Error{Op: "create", Outcome: provider.OutcomeNothing, Retryable: true, Err: errors.New("away")}), with: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				w := &writes{Full: e.Store, create: c.create}
				rt, caller := serve(e, w, single(e, Double), e.Options)
				var opts []client.StartOption
				if c.opts != nil {
					opts = append(opts, c.opts)
				}
				h := begin(e, caller, "single", opts...)
				if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
					e.T.Errorf("got %d, %v", got, err)
				}
				synctest.Wait()
				if with, without := w.eager(); with != c.with || without != 1 {
					e.T.Errorf("%d starts with a turn, %d without", with, without)
				}
				if s := rt.Stats(); s.TurnsEager != 0 || s.AttemptsCompleted != 1 || s.AttemptsRunning != 0 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}

// ignorant is a provider that takes no first turns.
type ignorant struct{ *provider.Full }

func (p *ignorant) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	req.First = nil
	return p.Provider.Create(ctx, req)
}

// With a provider that ignores the first turn the instance is fetched, and no slot or place in memory is lost by it.
func TestEagerStart_ProviderIgnoresTheTurn(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 2}, func(e *enginetest.Engine) {
		w := &writes{Full: provider.FullOf(&ignorant{e.Store})}
		rt, c := serve(e, w, single(e, Double), e.Options)
		for range 10 {
			if got, err := begin(e, c, "single").Wait(e.T.Context()); got != 42 || err != nil {
				e.T.Errorf("got %d, %v", got, err)
			}
		}
		synctest.Wait()
		if s := rt.Stats(); s.TurnsEager != 0 || s.TurnsFetched != 10 || s.TasksHandedOff != 10 || w.releases.Load() != 1 || w.reports.Load() != 0 {
			e.T.Errorf("%d releases, %d reports, %+v", w.releases.Load(), w.reports.Load(), s)
		}
	})
}

// A start of unknown outcome is repeated without the turn. Whether it had been stored or not, the activity runs once,
// and at once.
func TestEagerStart_UnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, kind := range []faulty.Kind{faulty.Before, faulty.After} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
				plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Create}, First: 1, Kind: kind})
				w := &writes{Full: provider.FullOf(node)}
				rt, c := serve(e, w, single(e, func(_ context.Context, n int) (int, error) { return int(ran.Add(1)) * 2 * n, nil }), e.Options)
				began := time.Now()
				if got, err := begin(e, c, "single", client.WithID("one")).Wait(e.T.Context()); got != 42 || err != nil || ran.Load() != 1 {
					e.T.Errorf("got %d, %v after %d activities", got, err, ran.Load())
				}
				if took := time.Since(began); took > time.Second {
					e.T.Errorf("it took %v: what the lost commit had leased was not given back", took)
				}
				if with, without := w.eager(); with != 1 || without != 1 || rt.Stats().TurnsEager != 0 {
					e.T.Errorf("%d starts with a turn, %d without", with, without)
				}
			})
		})
	}
}

// A refused start leaves nothing of its turn: no slot, no memory, no line in the log. The instance that has the ID is
// unchanged.
func TestEagerStart_Refused(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 2}, func(e *enginetest.Engine) {
		var log strings.Builder
		e.Options.Logger = slog.New(slog.NewTextHandler(&log, nil))
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			ctx.Logger().Info("it began")
			if _, err := orchestration.CallActivity(ctx, Double, n); err != nil {
				return 0, err
			}
			return orchestration.Events[int](ctx, "box").Receive(ctx)
		})
		w := &writes{Full: e.Store}
		rt, c := serve(e, w, reg, e.Options)
		h := begin(e, c, "main", client.WithID("one"))
		synctest.Wait()
		before := e.Get(h.Key())
		for range 5 {
			if _, err := client.StartNamed[int](e.T.Context(), c, "main", 1, client.WithID("one")); !errors.Is(err, client.ErrExists) {
				e.T.Errorf("started again: %v", err)
			}
		}
		synctest.Wait()
		s := rt.Stats()
		if s.Cached != 1 || s.TurnsEager != 1 || s.TurnsRunning != 0 || s.AttemptsRunning != 0 || w.releases.Load() != 1 || w.reports.Load() != 0 {
			e.T.Errorf("%d releases, %d reports, %+v", w.releases.Load(), w.reports.Load(), s)
		}
		if after := e.Get(h.Key()); after.Version != before.Version {
			e.T.Errorf("the instance has changed: %+v", after)
		}
		if n := strings.Count(log.String(), "it began"); n != 1 {
			e.T.Errorf("%d lines in the log:\n%s", n, log.String())
		}
		e.Raise(h.Key(), "box", 7)
		if got := enginetest.Output[int](e, h.Key()); got != 7 {
			e.T.Errorf("got %d", got)
		}
	})
}

// An activity may start instances and wait for them, on one node and under the same slots.
func TestEagerStart_FromAnActivity(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 1}, func(e *enginetest.Engine) {
		var c *client.Client
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "start", func(ctx context.Context, n int) (int, error) {
			h, err := client.Start(ctx, c, Chain, n)
			if err != nil {
				return 0, err
			}
			return h.Wait(ctx)
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "start", n)
		})
		rt, caller := serve(e, e.Store, reg, e.Options)
		c = caller
		h, err := client.StartNamed[int](e.T.Context(), c, "main", 5)
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(e.T.Context()); got != 32 || err != nil || rt.Stats().TurnsEager != 2 {
			e.T.Errorf("got %d, %v, %+v", got, err, rt.Stats())
		}
	})
}

// A client has its node by a link, whatever decorates the store of either. Without the link a start goes the ordinary way.
func TestEagerStart_ExplicitLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decorated, linked bool
		eager             int64
	}{
		"linked":             {false, true, 1},
		"linked, decorated":  {true, true, 1},
		"not linked":         {false, false, 0},
		"not linked, either": {true, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				rt, _ := serve(e, e.Store, single(e, Double), e.Options)
				store, opts := e.Store, client.Options{}
				if c.decorated {
					store = provider.FullOf(&ignorant{store})
				}
				if c.linked {
					opts.Node = rt.Node()
				}
				h := begin(e, clienttest.New(e.T, store, opts), "single")
				if got, err := h.Wait(e.T.Context()); got != 42 || err != nil || rt.Stats().TurnsEager != c.eager {
					e.T.Errorf("got %d, %v, %+v", got, err, rt.Stats())
				}
			})
		})
	}
}

// A client of a node continues to work when the node has shut down.
func TestEagerStart_NodeShutDown(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		rt, c := serve(e, e.Store, single(e, Double), e.Options)
		if err := rt.Shutdown(e.T.Context()); err != nil {
			e.T.Fatal(err)
		}
		h := begin(e, c, "single")
		other, _ := serve(e, e.Store, single(e, Double), e.Options)
		if got, err := h.Wait(e.T.Context()); got != 42 || err != nil || rt.Stats().TurnsEager+other.Stats().TurnsEager != 0 {
			e.T.Errorf("got %d, %v, %+v", got, err, rt.Stats())
		}
	})
}
