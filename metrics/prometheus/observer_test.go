package prometheus

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// everything reports one event of each kind, a node and a store.
func everything(o *Observer) {
	retrying := int64(1)
	o.Watch(observe.Node{
		Orchestrations: []string{"order"}, Activities: []string{"charge"}, Queues: []string{"default"},
		Gauges: func() observe.Gauges {
			return observe.Gauges{TurnSlots: observe.Slots{Used: 1, Limit: 200}, Pools: map[string]observe.Slots{"cpu": {Used: 1, Limit: 4}}}
		},
	})
	o.Store(&observe.Store{
		Instances: map[string]int64{"running": 3}, Unserved: map[string]int64{"activity": 0}, Blocked: 1, Retrying: &retrying,
		Turns: []observe.Waiting{{Name: "order", Count: 2, Oldest: time.Second}},
		Tasks: []observe.Waiting{{Name: "charge", Queue: "default", Count: 2, Oldest: time.Minute}},
	})
	for kind := observe.Turn; kind <= observe.Observed; kind++ {
		o.Observe(observe.Event{
			Kind: kind, Orchestration: "order", Activity: "charge", Queue: "default", Name: "get", Outcome: observe.Completed,
			Source: "cached", Reason: "panic", Count: 3,
		})
	}
}

// The exposition can be parsed. It has each documented metric and no other.
func TestEachMetricIsSeen(t *testing.T) {
	t.Parallel()
	o := New(Options{})
	everything(o)
	families := exposition(t, o)
	compare(t, families)
	if got := values(families, "orchestration"); !slices.Equal(got, []string{"order"}) {
		t.Errorf("orchestrations %q", got)
	}
	if got := values(families, "kind"); !slices.Equal(got, []string{"activity", "cpu", "panic", "turn"}) {
		t.Errorf("kinds %q", got)
	}
}

// No label has a value that is not registered, nor one that names an instance, an event or an error.
func TestLabelsAreRegisteredNames(t *testing.T) {
	t.Parallel()
	o := New(Options{Names: []string{"given"}})
	everything(o)
	hostile := "x\n\"} 1 \xff"
	for kind := observe.Turn; kind <= observe.Scheduled; kind++ {
		if kind != observe.Storage { // its name is that of a method
			o.Observe(observe.Event{
				Kind: kind, Orchestration: hostile, Activity: hostile, Queue: hostile, Instance: hostile, Name: hostile, Trace: hostile,
				Version: hostile, Execution: 7, Attempt: 7, Outcome: observe.Failed, Source: "cached", Reason: "other",
			})
		}
	}
	o.Observe(observe.Event{Kind: observe.Started, Orchestration: "given"})
	o.Store(&observe.Store{Turns: []observe.Waiting{{Name: hostile, Count: 1}, {Name: "foreign", Count: 2}}, Tasks: []observe.Waiting{{Name: hostile, Queue: hostile}}})
	families := exposition(t, o)
	for label, want := range map[string][]string{
		"orchestration": {"_other", "given", "order"}, "activity": {"_other", "charge"}, "queue": {"_other", "default"},
	} {
		if got := values(families, label); !slices.Equal(got, want) {
			t.Errorf("%s has the values %q, want %q", label, got, want)
		}
	}
	if ready := families[storeTurns].GetMetric(); len(ready) != 1 || ready[0].GetGauge().GetValue() != 3 {
		t.Errorf("turns of other nodes: %v", ready)
	}
}

// A label has at most 200 values. The log says so once.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	o := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var many []string
	for i := range 1_000 {
		many = append(many, fmt.Sprintf("name-%03d", i))
	}
	o.Watch(observe.Node{Orchestrations: many, Gauges: func() observe.Gauges { return observe.Gauges{} }})
	o.Watch(observe.Node{Orchestrations: []string{"late"}, Gauges: func() observe.Gauges { return observe.Gauges{} }})
	for _, name := range append(many, "late") {
		o.Observe(observe.Event{Kind: observe.Started, Orchestration: name})
	}
	if got := values(exposition(t, o), "orchestration"); len(got) != 200 || !slices.Contains(got, "_other") {
		t.Errorf("%d values", len(got))
	}
	if n := strings.Count(log.String(), "too many values"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, &log)
	}
}

// Totals of a node that has shut down stay. Its gauges, and the store's when another node reads it, go.
func TestTotalsStay(t *testing.T) {
	t.Parallel()
	o := New(Options{})
	stop := o.Watch(observe.Node{Gauges: func() observe.Gauges { return observe.Gauges{Evicted: 5, Cached: 3} }})
	o.Store(&observe.Store{Blocked: 1})
	stop()
	o.Store(nil)
	families := exposition(t, o)
	if got := families[cacheEvicted].GetMetric()[0].GetCounter().GetValue(); got != 5 {
		t.Errorf("%v evicted, want 5", got)
	}
	if got := families[cacheExecutions].GetMetric()[0].GetGauge().GetValue(); got != 0 {
		t.Errorf("%v cached, want 0", got)
	}
	if families[storeBlocked] != nil || families[slotsUsed] != nil {
		t.Error("gauges of what is gone are shown")
	}
}

// What a store cannot tell is missing, and not 0.
func TestRetryingIsMissingWhereNotKnown(t *testing.T) {
	t.Parallel()
	o := New(Options{})
	o.Store(&observe.Store{Blocked: 1})
	if families := exposition(t, o); families[storeRetrying] != nil || families[storeBlocked] == nil {
		t.Error("a store that cannot tell what retries has a figure of it")
	}
}

// A node and its store fill the metrics. A scrape calls no method of the store.
func TestNodeFillsMetrics(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		o := New(Options{})
		e.Options.Observer = o
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "work", n)
		})
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
		rt := e.Start(reg)
		c, err := rt.Client(client.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		for range 3 {
			h, err := client.StartNamed[int](e.T.Context(), c, "main", 1)
			if err != nil {
				e.T.Fatal(err)
			}
			e.WaitEnded(h.Key())
		}
		e.Stop(rt)
		families := exposition(e.T.(*testing.T), o)
		for name, want := range map[string]float64{startedTotal: 3, endedTotal: 3} {
			all := families[name].GetMetric()
			if len(all) != 1 || all[0].GetCounter().GetValue() != want || all[0].GetLabel()[0].GetValue() != "main" {
				e.T.Errorf("%s: %v", name, all)
			}
		}
		if all := families[activitySeconds].GetMetric(); len(all) != 1 || all[0].GetHistogram().GetSampleCount() != 3 {
			e.T.Errorf("attempts: %v", all)
		}
	})
}

// BenchmarkObserve measures the observer for one event of each kind.
func BenchmarkObserve(b *testing.B) {
	o := New(Options{})
	everything(o)
	e := observe.Event{Kind: observe.Attempt, Activity: "charge", Queue: "default", Outcome: observe.Completed, Cancel: observe.NoTime}
	b.ReportAllocs()
	for b.Loop() {
		o.Observe(e)
	}
}
