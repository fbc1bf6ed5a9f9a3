package observers

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// counting counts and observes in each of its turns, and in handlers.
func counting(ctx *octx, n int) (int, error) {
	orchestration.HandleQuery(ctx, "n", func(none) (int, error) { return n, nil })
	orchestration.HandleQuery(ctx, "bad", func(none) (int, error) {
		ctx.Count("queried", 1)
		return n, nil
	})
	orchestration.HandleUpdate(ctx, "add", func(ctx *octx, more int) (int, error) {
		ctx.Count("updated", int64(more))
		return n + more, nil
	})
	orchestration.HandleUpdate(ctx, "bad", func(*octx, int) (int, error) { return 0, nil }, orchestration.Validate(func(int) error {
		ctx.Observe("validated", 1)
		return nil
	}))
	ctx.Count("begun", 2, orchestration.Attr("kind", "a"), orchestration.Attr("area", "eu"))
	ctx.Count("begun", 3, orchestration.Attr("area", "eu"), orchestration.Attr("kind", "a"))
	ctx.Count("begun", 1, orchestration.Attr("kind", "b"))
	ctx.Observe("amount", 1.5)
	ctx.Observe("amount", 1.5)
	if _, err := orchestration.CallActivityNamed[int](ctx, "work", n); err != nil {
		return 0, err
	}
	ctx.Count("worked", 1)
	if err := ctx.Sleep(time.Minute); err != nil {
		return 0, err
	}
	ctx.Count("slept", 0)
	ctx.SetStatus("waiting")
	out, err := orchestration.Events[int](ctx, "go").Receive(ctx)
	ctx.Count("over", 1)
	return out, err
}

// Told of one execution of counting, without its updates.
func toldOnce() map[string][]float64 {
	return map[string][]float64{
		"begun area=eu kind=a": {5}, "begun kind=b": {1}, "amount": {1.5, 1.5}, "worked": {1}, "slept": {0}, "over": {1},
	}
}

// counts returns a registry with counting as "main".
func counts(e *enginetest.Engine) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "main", counting)
	enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
	return reg
}

// told returns the figures that the Observer got, by name and attributes.
func (r *recorder) told() map[string][]float64 {
	all := map[string][]float64{}
	for _, e := range append(r.of(observe.Counted, ""), r.of(observe.Observed, "")...) {
		name, value := e.Name, e.Value
		for _, a := range e.Attrs {
			name += " " + a.Name + "=" + a.Value
		}
		if e.Kind == observe.Counted {
			value = float64(e.Count)
		}
		all[name] = append(all[name], value)
	}
	return all
}

// compare compares the figures with those wanted.
func (r *recorder) compare(t testing.TB, want map[string][]float64) {
	t.Helper()
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Errorf("the figures told are not those wanted (-want +got):\n%s", diff)
	}
}

// waits starts an instance of counting and waits until only its event is missing.
func waits(e *enginetest.Engine, rt *runtime.Runtime) client.Handle[int] {
	e.T.Helper()
	h := start[int](e, rt, 1)
	e.Until("the code waits for its event", func() bool {
		status, err := client.StatusOf[string](e.T.Context(), h)
		return err == nil && status == "waiting"
	})
	return h
}

// ends lets an instance of counting end.
func ends(e *enginetest.Engine, h client.Handle[int]) {
	e.T.Helper()
	if err := h.Raise(e.T.Context(), "go", 7); err != nil {
		e.T.Fatal(err)
	}
	if got := enginetest.Output[int](e, h.Key()); got != 7 {
		e.T.Errorf("got %d, want 7", got)
	}
}

// Figures are told with the commit of their turn, each once, whatever the cache holds. Replays tell none.
func TestHazard128_FiguresAreToldOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		r := &recorder{}
		e.Options.Observer = r
		rt := e.Start(counts(e))
		h := waits(e, rt)
		for range 20 {
			if _, err := client.Query[int](fastpath.Without(e.T.Context(), fastpath.Cache), h, "n", none{}); err != nil {
				e.T.Fatal(err)
			}
		}
		if got, err := client.Update[int](e.T.Context(), h, "add", 3); err != nil || got != 4 {
			e.T.Errorf("the update: %d, %v", got, err)
		}
		ends(e, h)
		e.Stop(rt)
		want := toldOnce()
		want["updated"] = []float64{3}
		r.compare(e.T, want)
		if lost := rt.Stats().FiguresLost; lost != 0 {
			e.T.Errorf("%d figures were lost", lost)
		}
		for _, ev := range r.of(observe.Counted, "") {
			if ev.Orchestration != "main" || ev.Instance != h.ID() || ev.Execution != 1 || ev.At.IsZero() || ev.Took != observe.NoTime {
				e.T.Errorf("%+v", ev)
			}
		}
	})
}

// A query and a validator may only read: their figures are none, and the turn that a validator has spoiled is made again.
func TestHazard128_ReadersCountNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		r := &recorder{}
		e.Options.Observer = r
		rt := e.Start(counts(e))
		h := waits(e, rt)
		if _, err := client.Query[int](e.T.Context(), h, "bad", none{}); !errors.Is(err, client.ErrQueryRefused) {
			e.T.Errorf("the query: %v", err)
		}
		if _, err := client.Update[int](e.T.Context(), h, "bad", 1); !errors.Is(err, client.ErrPanicked) {
			e.T.Errorf("the update: %v", err)
		}
		ends(e, h)
		e.Stop(rt)
		r.compare(e.T, toldOnce())
	})
}

// A commit that fails, meets a conflict, or is repeated after an unknown outcome tells its figures once.
func TestHazard128_FailedCommitsTellOnce(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faulty.Rule{
		"before":   {Kind: faulty.Before, Probability: 0.4},
		"after":    {Kind: faulty.After, Probability: 0.4},
		"conflict": {Kind: faulty.Before, Every: 3, Err: provider.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				r := &recorder{}
				e.Options.Observer = r
				plan := faulty.NewPlan(7)
				rt := e.StartOn(faulty.Wrap(e.Store, plan), counts(e), e.Options)
				rule.Ops = []faulty.Op{faulty.CommitTurn}
				plan.Add(rule)
				const n = 10
				want := toldOnce()
				for range n {
					ends(e, waits(e, rt))
				}
				for name, all := range want {
					for range n - 1 {
						want[name] = append(want[name], all...)
					}
				}
				e.Stop(rt)
				if plan.Injected(faulty.CommitTurn) == 0 {
					e.T.Error("no commit failed")
				}
				r.compare(e.T, want)
			})
		})
	}
}

// A node that is lost before a commit tells nothing of the turn, and the next one tells it. A node that is lost after the commit leaves nothing to
// tell: the next node replays the turn. A node that still lives counts what it does not know as lost.
func TestHazard128_NodeIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind faulty.Kind
		told []float64
		lost int64
	}{"before the commit": {faulty.Before, []float64{1}, 0}, "after the commit": {faulty.After, nil, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				first, second := &recorder{}, &recorder{}
				plan := faulty.NewPlan(7)
				e.Options.Observer = first
				one := e.StartOn(faulty.Wrap(e.Store, plan), counts(e), e.Options)
				h := waits(e, one)
				plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: c.kind, Every: 1})
				if err := h.Raise(e.T.Context(), "go", 7); err != nil {
					e.T.Fatal(err)
				}
				pass(time.Second) // the commit fails again and again
				plan.StartOutage()
				pass(10 * time.Minute)
				lost := one.Stats().FiguresLost
				e.Options.Observer = second
				two := e.Start(counts(e))
				if got := enginetest.Output[int](e, h.Key()); got != 7 {
					e.T.Errorf("got %d, want 7", got)
				}
				plan.EndOutage()
				plan.Clear()
				e.Stop(two)
				e.Stop(one)
				want := toldOnce()
				delete(want, "over")
				first.compare(e.T, want)
				want = map[string][]float64{}
				if c.told != nil {
					want["over"] = c.told
				}
				second.compare(e.T, want)
				if lost != c.lost {
					e.T.Errorf("%d figures are counted as lost, want %d", lost, c.lost)
				}
			})
		})
	}
}

// What is not allowed, or too much, is left out, logged once and counted. All else of the turn is told.
func TestHazard128_FiguresHaveLimits(t *testing.T) {
	t.Parallel()
	const most = 1_000
	attr := orchestration.Attr
	refused := map[string]func(*octx){
		`count "": its name has 0 bytes`:                     func(ctx *octx) { ctx.Count("", 1) },
		`its name has a character that is not allowed`:       func(ctx *octx) { ctx.Count("a-b", 1) },
		`its name has 101 bytes`:                             func(ctx *octx) { ctx.Observe(strings.Repeat("a", 101), 1) },
		`a count does not fall`:                              func(ctx *octx) { ctx.Count("a", -1) },
		`it is NaN`:                                          func(ctx *octx) { ctx.Observe("a", math.NaN()) },
		`it is +Inf`:                                         func(ctx *octx) { ctx.Observe("a", math.Inf(1)) },
		`it has 9 attributes, the limit is 8`:                func(ctx *octx) { ctx.Count("a", 1, make([]observe.Attr, 9)...) },
		`the attribute name "" has 0 bytes`:                  func(ctx *octx) { ctx.Count("a", 1, attr("", "x")) },
		`the attribute name "1" has a character that is not`: func(ctx *octx) { ctx.Count("a", 1, attr("1", "x")) },
		`the attribute name "b" stands twice`:                func(ctx *octx) { ctx.Count("a", 1, attr("b", "x"), attr("c", "x"), attr("b", "y")) },
		`the attribute "b" has 129 bytes, the limit is 128`:  func(ctx *octx) { ctx.Count("a", 1, attr("b", strings.Repeat("x", 129))) },
		`the attribute "b"`:                                  func(ctx *octx) { ctx.Count("a", 1, attr("b", "\xff")) },
		`the sum of the turn is greater than an int64`:       func(ctx *octx) { ctx.Count("sum", math.MaxInt64); ctx.Count("sum", 1) },
		`the turn has 1000 already, which is the limit`: func(ctx *octx) {
			for i := range most {
				ctx.Count("many", 1, attr("i", strconv.Itoa(i)))
			}
		},
	}
	for why, call := range refused {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				r, log := &recorder{}, &lines{}
				e.Options.Observer, e.Options.Logger = r, slog.New(slog.NewTextHandler(log, nil))
				reg := runtime.NewRegistry()
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
					ctx.Observe("good", 1, attr("_"+"x", "y")) // refused, too: a name begins with a letter
					ctx.Observe("good", 1, attr("x", ""))
					call(ctx)
					return n, ctx.Sleep(time.Minute)
				})
				rt := e.Start(reg)
				enginetest.Output[int](e, start[int](e, rt, 1).Key())
				e.Stop(rt)
				told := r.told()
				if len(told["good x="]) != 1 || rt.Stats().FiguresLost != 2 {
					e.T.Errorf("%d are lost, told %v", rt.Stats().FiguresLost, told)
				}
				if len(r.of(observe.Counted, ""))+len(r.of(observe.Observed, "")) > most {
					e.T.Errorf("too many are told")
				}
				if got := log.with("figures of the code were left out"); !strings.Contains(got, "count=2") || strings.Count(log.with(""), "left out") != 1 {
					e.T.Errorf("the log has %q", got)
				}
			})
		})
	}
}
