package routing

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// line is the backlog of a queue that no node serves yet.
type line struct {
	e     *engine
	turns *runtime.Registry
	keys  []provider.UUID
}

func newLine(e *engine) *line { return &line{e: e, turns: runtime.NewRegistry()} }

// kind registers an orchestration that makes the given number of calls at once.
func (l *line) kind(name string, opts ...orchestration.ActivityOption) {
	l.e.T.Helper()
	enginetest.Orchestration(l.e.T, l.turns, name, func(ctx *octx, n int) (none, error) {
		all := make([]orchestration.Future[none], n)
		for i := range all {
			all[i] = orchestration.StartActivityNamed[none](ctx, "note", name, opts...)
		}
		for _, f := range all {
			if _, err := f.Get(ctx); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
}

// add starts an instance of the kind and waits until its calls are in the queue.
func (l *line) add(name string, n int) {
	l.e.T.Helper()
	key := l.e.Create(name, name, n)
	l.e.Until("its calls wait", func() bool { return len(l.e.Tasks(key)) == n })
	l.keys = append(l.keys, key)
}

// serve runs the backlog in one slot and returns the order.
func (l *line) serve() []string {
	l.e.T.Helper()
	var runs enginetest.Notes[string]
	reg := runtime.NewRegistry()
	enginetest.Activity(l.e.T, reg, "note", func(_ context.Context, name string) (none, error) {
		runs.Add(name)
		return none{}, nil
	})
	opts := l.e.Options
	opts.MaxConcurrentActivities = 1
	l.e.StartOn(l.e.Store, reg, opts)
	for _, key := range l.keys {
		l.e.WaitEnded(key)
	}
	return runs.All()
}

// Urgent calls run first. A call that has waited long enough runs before them.
func TestPriorityAges(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		l := newLine(e)
		l.kind("old and low", orchestration.WithPriority(orchestration.PriorityLowest))
		l.kind("low", orchestration.WithPriority(orchestration.PriorityLowest))
		l.kind("plain")
		l.kind("urgent", orchestration.WithPriority(orchestration.PriorityHighest))
		e.Start(l.turns)
		want := []string{"urgent", "plain", "low"}
		if e.Virtual {
			l.add("old and low", 1)
			rest(4*provider.PriorityStep + time.Minute)
			want = []string{"old and low", "urgent", "plain", "low"}
		}
		for _, name := range []string{"low", "plain", "urgent"} {
			l.add(name, 1)
		}
		if got := l.serve(); !slices.Equal(got, want) {
			e.T.Errorf("ran %q", got)
		}
	})
}

// A late tenant is served at once although another one has filled the queue. Two tenants that flood the queue take
// turns.
func TestFairnessKeysTakeTurns(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		l := newLine(e)
		for _, tenant := range []string{"flood", "second", "guest"} {
			l.kind(tenant, orchestration.WithFairnessKey(tenant))
		}
		e.Start(l.turns)
		l.add("flood", 60)
		l.add("second", 20)
		l.add("guest", 1)
		got := l.serve()
		if at := slices.Index(got, "guest"); at > 3 {
			e.T.Errorf("the guest was number %d", at+1)
		}
		early := got[:30]
		if n := count(early, "second"); n < 10 || n > 18 {
			e.T.Errorf("of the first 30, %d were of the second tenant: %q", n, early)
		}
		if len(got) != 81 {
			e.T.Errorf("%d ran", len(got))
		}
	})
}

func count(list []string, name string) (n int) {
	for _, s := range list {
		if s == name {
			n++
		}
	}
	return n
}

// A call that must queue is never handed off to the node that scheduled it, even if that node is idle.
func TestHazard22_OrderedCallsQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts   runtime.Options
		call   orchestration.ActivityOption
		handed int64
	}{
		"nothing":           {runtime.Options{}, orchestration.WithPriority(orchestration.PriorityDefault), 1},
		"priority":          {runtime.Options{}, orchestration.WithPriority(1), 0},
		"fairness key":      {runtime.Options{}, orchestration.WithFairnessKey("tenant"), 0},
		"session":           {runtime.Options{}, orchestration.WithSession("s"), 0},
		"rate of the node":  {runtime.Options{ActivitiesPerSecond: 1000}, orchestration.WithPriority(3), 0},
		"rate of the queue": {runtime.Options{QueueLimits: limit(runtime.QueueLimit{PerSecond: 1000})}, orchestration.WithPriority(3), 0},
		"queue limit":       {runtime.Options{QueueLimits: limit(runtime.QueueLimit{MaxConcurrent: 1000})}, orchestration.WithPriority(3), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, c.opts, func(e *engine) {
				reg := runtime.NewRegistry()
				enginetest.Activity(e.T, reg, "work", func(_ context.Context, in string) (string, error) { return in, nil })
				main(e, reg, "work", c.call)
				rt := e.Start(reg)
				rest(time.Second) // its fetch is parked
				enginetest.Output[string](e, e.Create("one", "main", ""))
				if got := rt.Stats().TasksHandedOff; got != c.handed {
					e.T.Errorf("%d handed off, want %d", got, c.handed)
				}
			})
		})
	}
}

func limit(l runtime.QueueLimit) map[string]runtime.QueueLimit {
	return map[string]runtime.QueueLimit{orchestration.DefaultQueue: l}
}
