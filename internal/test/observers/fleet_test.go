package observers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// figureStores open one more handle of a new store.
func figureStores() map[string]func(t *testing.T) func() provider.Provider {
	opened := func(t *testing.T, open func() (provider.Provider, error)) func() provider.Provider {
		t.Helper()
		return func() provider.Provider {
			p, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			return p
		}
	}
	return map[string]func(t *testing.T) func() provider.Provider{
		"memory": func(t *testing.T) func() provider.Provider {
			t.Helper()
			p := memory.New(memory.Options{})
			t.Cleanup(func() { _ = p.Close() })
			return func() provider.Provider { return p }
		},
		"sqlite": func(t *testing.T) func() provider.Provider {
			t.Helper()
			path := filepath.Join(t.TempDir(), "store.db")
			return opened(t, func() (provider.Provider, error) {
				return sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off})
			})
		},
		"postgres": func(t *testing.T) func() provider.Provider {
			t.Helper()
			url := postgrestest.URL(t)
			o := postgres.Options{Schema: postgrestest.Schema(t, url), Logger: slog.New(slog.DiscardHandler)}
			return opened(t, func() (provider.Provider, error) { return postgres.OpenWith(t.Context(), url+"&pool_max_conns=6", o) })
		},
	}
}

// till is code that pays, or fails. The first attempt of each activity fails.
func till(t *testing.T) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(t, reg, "pay", func(ctx *octx, good bool) (none, error) {
		once := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond})
		if _, err := orchestration.CallActivityNamed[none](ctx, "charge", none{}, once); err != nil {
			return none{}, err
		}
		if !good {
			return none{}, errors.New("refused")
		}
		return none{}, nil
	})
	enginetest.Activity(t, reg, "charge", func(ctx context.Context, _ none) (none, error) {
		if activity.GetInfo(ctx).Attempt == 1 {
			return none{}, errors.New("busy")
		}
		return none{}, nil
	})
	return reg
}

func node(t *testing.T, store provider.Provider, reg *runtime.Registry, opts runtime.Options) *runtime.Runtime {
	t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, reg, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, rt) })
	return rt
}

func stop(t *testing.T, rt *runtime.Runtime) {
	t.Helper()
	if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// pay runs instances to their end, some of which fail.
func pay(t *testing.T, c *client.Client, name string, good, bad int) {
	t.Helper()
	for i := range good + bad {
		h, err := client.StartNamed[none](t.Context(), c, "pay", i < good, client.WithID(fmt.Sprint(name, i)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(t.Context()); (err != nil) != (i >= good) {
			t.Fatal(i, err)
		}
	}
}

func hour(t *testing.T, c *client.Client) *client.Figures {
	t.Helper()
	f, err := c.Figures(t.Context(), client.FiguresRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Any process reads from the store what nodes of several processes have counted. What removes and brings instances changes nothing of it, and a
// later node adds to it.
func TestHazard157_AnyProcessReadsWhatNodesCounted(t *testing.T) {
	t.Parallel()
	for name, store := range figureStores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := store(t)
			first, second, third := open(), open(), open()
			a, b := node(t, first, till(t), runtime.Options{Name: "a"}), node(t, second, till(t), runtime.Options{Name: "b"})
			ca, cb := clienttest.Of(t, a, client.Options{}), clienttest.Of(t, b, client.Options{})
			pay(t, ca, "a", 3, 1)
			pay(t, cb, "b", 2, 1)
			stop(t, a)
			stop(t, b)
			c := clienttest.New(t, third, client.Options{Logger: slog.New(slog.DiscardHandler)})
			want := client.FiguresCounts{Started: 7, Completed: 5, Failed: 2, Retried: 7}
			f := hour(t, c)
			if f.Totals != want || len(f.Failed) != 1 || f.Failed[0] != (client.FailedFigure{Orchestration: "pay", Failed: 2}) {
				t.Errorf("%+v, failed %+v, want %+v", f.Totals, f.Failed, want)
			}
			if len(f.Activities) != 1 || f.Activities[0].Completed != 7 || f.Activities[0].Retried != 7 || f.Activities[0].Measured != 14 || f.Activities[0].P99 <= 0 {
				t.Errorf("activities: %+v", f.Activities)
			}
			nodes := map[string]int{} // nodes within ten minutes share a mark, which has their names behind a colon
			for _, m := range f.Marks {
				if strings.HasPrefix(m.Kind, "node-") {
					nodes[m.Kind] += 1 + strings.Count(m.Text, ", ")
				}
			}
			if len(nodes) != 2 || nodes["node-joined"] != 2 || nodes["node-left"] != 2 {
				t.Errorf("marks: %+v", f.Marks)
			}
			var file bytes.Buffer
			o := operate.New(c)
			if _, err := o.Export(t.Context(), &file, operate.ExportOptions{}); err != nil {
				t.Fatal(err)
			}
			if pruned, err := o.Prune(t.Context(), operate.Pruning{Young: true}); err != nil || pruned.Instances != 7 {
				t.Fatal(pruned, err)
			}
			if _, err := o.Import(t.Context(), &file, operate.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			if f := hour(t, c); f.Totals != want {
				t.Errorf("after a prune and an import: %+v", f.Totals)
			}
			again := node(t, third, till(t), runtime.Options{Name: "again"})
			pay(t, clienttest.Of(t, again, client.Options{}), "again", 1, 0)
			stop(t, again)
			want.Started, want.Completed, want.Retried = 8, 6, 8
			for _, w := range []client.FiguresWindow{client.FiguresHour, client.FiguresDay, client.FiguresWeek} {
				if f, err := c.Figures(t.Context(), client.FiguresRequest{Window: w}); err != nil || f.Totals != want {
					t.Errorf("the last %s after a restart: %+v (%v), want %+v", w, f.Totals, err, want)
				}
			}
		})
	}
}

// A commit whose outcome is not known is repeated, and counts once, when it is known.
func TestHazard157_AnUnknownCommitCountsOnce(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		plan := faulty.NewPlan(1)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn, faulty.ReportTasks}, Every: 2, Kind: faulty.After})
		rt := e.StartOn(faulty.Wrap(e.Store, plan), till(e.T.(*testing.T)), runtime.Options{})
		pay(e.T.(*testing.T), clienttest.Of(e.T, rt, client.Options{}), "x", 8, 2)
		e.Stop(rt)
		c := clienttest.New(e.T, e.Store, client.Options{})
		if f := hour(e.T.(*testing.T), c); f.Totals != (client.FiguresCounts{Started: 10, Completed: 8, Failed: 2, Retried: 10}) {
			e.T.Errorf("with each second answer lost: %+v", f.Totals)
		}
	})
}

// A node with NoFigures writes none, and the figures of others say that it is there.
func TestHazard157_TheSwitchIsNamed(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{NoFigures: true}, func(e *enginetest.Engine) {
		rt := e.Start(till(e.T.(*testing.T)))
		pay(e.T.(*testing.T), clienttest.Of(e.T, rt, client.Options{}), "x", 2, 0)
		pass(5 * time.Minute)
		c := clienttest.New(e.T, e.Store, client.Options{})
		f := hour(e.T.(*testing.T), c)
		if len(f.Silent) != 1 || f.Silent[0] != rt.Owner() || f.Whole || f.Totals != (client.FiguresCounts{}) || f.Points[len(f.Points)-1].Known != client.FiguresNone {
			e.T.Errorf("silent %q, totals %+v, last point %+v", f.Silent, f.Totals, f.Points[len(f.Points)-1])
		}
	})
}
