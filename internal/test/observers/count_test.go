package observers

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// wanted are the numbers of events that one order leads to, whatever the cache holds.
var wanted = []struct {
	kind    observe.Kind
	outcome observe.Outcome
	n       int
}{
	{observe.Started, "", 2},
	{observe.Ended, observe.Continued, 1},
	{observe.Ended, observe.Completed, 2},
	{observe.Ended, "", 3},
	{observe.Attempt, observe.Completed, 5},
	{observe.Attempt, observe.Retried, 1},
	{observe.Attempt, observe.Failed, 1},
	{observe.Attempt, "", 7},
	{observe.Handled, "", 2},
	{observe.Update, observe.Completed, 1},
	{observe.Query, observe.Completed, 1},
	{observe.Blocked, "", 0},
	{observe.Poisoned, "", 0},
	{observe.LeaseLost, "", 0},
	{observe.Turn, observe.Failed, 0},
	{observe.Turn, observe.Stuck, 0},
}

// check compares the events of a number of orders with what is wanted.
func check(t testing.TB, r *recorder, orders int) {
	t.Helper()
	for _, w := range wanted {
		if got := r.count(w.kind, w.outcome); got != w.n*orders {
			t.Errorf("%d events of kind %d with outcome %q, want %d", got, w.kind, w.outcome, w.n*orders)
		}
	}
}

// Each figure comes from a confirmed commit, so it is the same with the cache on, off and evicted. Replays add none.
func TestHazard90_CommitsAreCountedOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		tr := newTracer()
		e.Options.Observer = tr
		rt := e.Start(orders(e))
		h := play(e, rt)
		spans := 0
		queried := longtest.Pick(2_000, 10_000)
		for i := range queried {
			if i%1_000 == 1 { // what waits is bounded
				rest(e)
				if n := len(tr.tree()); i == 1 {
					spans = n
				}
			}
			if _, err := client.Query[string](fastpath.Without(e.T.Context(), fastpath.Cache), h, "stack", none{}); err != nil {
				e.T.Fatal(err)
			}
		}
		e.Stop(rt)
		if n := len(tr.tree()); n != spans {
			e.T.Errorf("replays made %d spans", n-spans)
		}
		queries := tr.count(observe.Query, observe.Completed)
		if queries != queried+1 {
			e.T.Errorf("%d queries, want %d", queries, queried+1)
		}
		tr.forget(observe.Query, queried)
		check(e.T, &tr.recorder, 1)
		if tr.nodes != 0 {
			e.T.Errorf("%d nodes are still shown", tr.nodes)
		}
		for _, ev := range tr.events {
			if ev.At.IsZero() || ev.Kind == observe.Attempt && (ev.Took < 0 || ev.Orchestration == "" || ev.Queue == "") ||
				ev.Kind == observe.Turn && ev.Outcome == observe.Stored && (ev.Took < 0 || ev.Source == "") {
				e.T.Errorf("event %+v", ev)
			}
		}
	})
}

// A start that is repeated, or refused, counts once, or not at all. So does a first turn that is thrown away.
func TestHazard90_RepeatedStartsCountOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		r := &recorder{}
		e.Options.Observer = r
		rt := e.Start(orders(e))
		h := play(e, rt, client.WithID("one"), client.WithRequestID("request"))
		c, err := rt.Client(client.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		for range 3 { // the first turn is made again each time, and not stored
			if _, err := client.StartNamed[int](e.T.Context(), c, "main", 1, client.WithID("one"), client.WithRequestID("request")); err != nil {
				e.T.Error(err)
			}
			if _, err := client.StartNamed[int](e.T.Context(), c, "main", 1, client.WithID("one")); !errors.Is(err, client.ErrExists) {
				e.T.Errorf("got %v, want ErrExists", err)
			}
		}
		e.WaitEnded(h.Key())
		e.Stop(rt)
		check(e.T, r, 1)
	})
}

// Calls that fail with an unknown outcome and are repeated count once.
func TestHazard90_UnknownOutcomesCountOnce(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		r := &recorder{}
		e.Options.Observer = r
		plan := faulty.NewPlan(7)
		rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(e), e.Options)
		const n = 10
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn, faulty.ReportTasks}, Kind: faulty.After, Probability: 0.3})
		for range n {
			play(e, rt)
		}
		if plan.Injected(faulty.CommitTurn) == 0 {
			e.T.Error("no commit failed")
		}
		e.Stop(rt)
		check(e.T, r, n)
		if r.count(observe.Storage, observe.Unknown) == 0 {
			e.T.Error("no call of unknown outcome was reported")
		}
	})
}

// A termination by a process without a runtime counts once, at the client that made it.
func TestHazard90_TerminateCountsOnce(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		r := &recorder{}
		rt := e.Start(orders(e))
		h := start[int](e, rt, 1)
		c := clienttest.New(e.T, e.Store, client.Options{Observer: r})
		if err := c.Terminate(e.T.Context(), h.ID(), ""); err != nil {
			e.T.Fatal(err)
		}
		if err := c.Terminate(e.T.Context(), h.ID(), ""); !errors.Is(err, client.ErrEnded) {
			e.T.Errorf("got %v, want ErrEnded", err)
		}
		if !c.Flush() {
			e.T.Error("the observer does not get its events")
		}
		ended := r.of(observe.Ended, "")
		if len(ended) != 1 || ended[0].Outcome != observe.Terminated || ended[0].Orchestration != "main" {
			e.T.Errorf("%+v", ended)
		}
	})
}

// A node that waits for a hanging Observer still runs what it is to run, and shuts down.
func TestHazard90_HangingObserverStopsNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		hang := make(chan struct{})
		e.Options.Observer = observerFunc(func(observe.Event) { <-hang })
		rt := e.Start(orders(e))
		for range 20 {
			play(e, rt)
		}
		e.Stop(rt)
		close(hang)
	})
}

// An Observer that calls the client, or panics in each call, harms nothing.
func TestHazard90_ObserverMayDoAnything(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := clienttest.New(e.T, e.Store, client.Options{})
		ctx := e.T.Context()
		e.Options.Observer = observerFunc(func(observe.Event) {
			_, _ = c.Count(ctx, client.Filter{})
			panic("boom")
		})
		rt := e.Start(orders(e))
		play(e, rt)
		e.Stop(rt)
		if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsRetried != 1 {
			e.T.Errorf("%+v", s)
		}
	})
}

// Blocked instances count once per cause, however often their turn is tried.
func TestBlockedCountsOncePerCause(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		r := &recorder{}
		e.Options.Observer = r
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(*octx, int) (int, error) { panic("boom") })
		rt := e.Start(reg)
		h := start[int](e, rt, 1)
		e.WaitBlocked(h.Key(), 4)
		e.Stop(rt)
		blocked := r.of(observe.Blocked, "")
		if len(blocked) != 1 || blocked[0].Reason != "panic" || blocked[0].Orchestration != "main" || r.count(observe.Turn, observe.Failed) < 4 {
			e.T.Errorf("%+v, %d turns failed", blocked, r.count(observe.Turn, observe.Failed))
		}
		e.Unchecked("the instance stays blocked")
	})
}

// One node reads the state of the store. Another one does when that has gone.
func TestOneNodeReadsTheStore(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		first, second := &recorder{}, &recorder{}
		e.Options.Observer = first
		one := e.Start(orders(e))
		h := start[int](e, one, 1)
		e.Until("the first node shows the store", func() bool { s := first.store(); return s != nil && s.Instances["running"] == 1 })
		e.Options.Observer = second
		two := e.StartOn(e.Store, orders(e), e.Options)
		pass(time60)
		if second.store() != nil {
			e.T.Error("two nodes show the store")
		}
		e.Stop(one)
		if first.store() != nil {
			e.T.Error("a node that has stopped shows the store")
		}
		e.Until("the second node shows the store", func() bool { return second.store() != nil })
		if err := h.Terminate(e.T.Context(), ""); err != nil {
			e.T.Fatal(err)
		}
		e.Until("it shows the end", func() bool { return second.store().Instances["terminated"] == 1 })
		e.Stop(two)
	})
}
