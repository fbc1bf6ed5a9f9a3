package routing

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// desk is several nodes that record which of them ran an activity.
type desk struct {
	e     *engine
	plans []*faulty.Plan
	nodes []*runtime.Runtime
}

// newDesk starts nodes with an activity "where" that returns the number of its node, and a node that makes turns.
func newDesk(e *engine, workers int, opts runtime.Options) *desk {
	e.T.Helper()
	d := &desk{e: e}
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "group", func(ctx *octx, in group) ([]int, error) {
		var ran []int
		for i := range in.Calls {
			n, err := orchestration.CallActivityNamed[int](ctx, "where", i, orchestration.WithSession(in.Session))
			if err != nil {
				return nil, err
			}
			ran = append(ran, n)
			if in.Pause > 0 {
				if err := ctx.Sleep(in.Pause); err != nil {
					return nil, err
				}
			}
			if i == in.WaitBefore {
				if _, err := orchestration.Events[none](ctx, "go on").Receive(ctx); err != nil {
					return nil, err
				}
			}
		}
		return ran, ctx.Sleep(in.Stay)
	})
	e.StartOn(e.Store, reg, runtime.Options{})
	for n := range workers {
		d.add(n, opts)
	}
	return d
}

// group is the input of an instance: a number of activities in one session.
type group struct {
	Session    string
	Calls      int
	Pause      time.Duration // after each
	Stay       time.Duration // after the last call, with which the instance keeps the session
	WaitBefore int           // the call after which it waits for an event; negative: none
}

func (d *desk) add(n int, opts runtime.Options) {
	d.e.T.Helper()
	plan := faulty.NewPlan(1)
	reg := runtime.NewRegistry()
	enginetest.Activity(d.e.T, reg, "where", func(ctx context.Context, _ int) (int, error) {
		if activity.GetInfo(ctx).Session == "" {
			return 0, fmt.Errorf("no session")
		}
		return n, nil
	})
	d.plans = append(d.plans, plan)
	d.nodes = append(d.nodes, d.e.StartOn(faulty.Wrap(d.e.Store, plan), reg, opts))
	d.e.T.Cleanup(plan.EndOutage)
}

func same(list []int) bool { return len(slices.Compact(slices.Clone(list))) == 1 }

// All activities of a session run on one node, even if others are idle.
func TestSessionStaysOnItsNode(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		d := newDesk(e, 3, e.Options)
		var keys []provider.UUID
		for i := range 6 {
			keys = append(keys, e.Create(fmt.Sprint(i), "group", group{Session: fmt.Sprint("s-", i%5), Calls: 10, Pause: 20 * time.Millisecond, WaitBefore: -1}))
		}
		var first []int
		for i, key := range keys {
			ran := enginetest.Output[[]int](e, key)
			if len(ran) != 10 || !same(ran) {
				e.T.Errorf("instance %d ran on %v", i, ran)
			}
			first = append(first, ran[0])
		}
		// The session ends with the instance that has made it, unless the other one has begun by then.
		began := provider.Time(e.History(keys[5], 1)[0].At)
		if began < e.Get(keys[0]).EndedAt && first[0] != first[5] {
			e.T.Errorf("the session that two instances share ran on %d and %d", first[0], first[5])
		}
		_ = d
	})
}

// A session survives pauses of up to Sessions.Idle, but no longer ones.
func TestSessionEndsWhenIdle(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Sessions: runtime.SessionOptions{Max: 1, Idle: 10 * time.Minute}}, func(e *engine) {
		d := newDesk(e, 1, e.Options)
		key := e.Create("one", "group", group{Session: "one", Calls: 3, Pause: 9 * time.Minute, Stay: time.Hour, WaitBefore: -1})
		e.Until("it holds the session", func() bool { return e.Get(key).HistoryLength > 3 })
		began := time.Now()
		other := e.Create("other", "group", group{Session: "other", Calls: 1, WaitBefore: -1})
		enginetest.Output[[]int](e, other)
		// Three uses are 9 minutes apart, and the place is free 10 minutes after the last.
		if took := time.Since(began); took < 27*time.Minute || took > 29*time.Minute {
			e.T.Errorf("the next session began after %v", took)
		}
		if got := enginetest.Output[[]int](e, key); !same(got) {
			e.T.Errorf("ran on %v", got)
		}
		_ = d
	})
}

// A node holds at most Sessions.Max. Others wait for another node or for the end of a session. Activities without a session
// overtake them.
func TestSessionsPerNode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Sessions: runtime.SessionOptions{Max: 2, Idle: time.Hour}}, func(e *engine) {
		d := newDesk(e, 2, e.Options)
		var keys []provider.UUID
		for i := range 5 {
			keys = append(keys, e.Create(fmt.Sprint(i), "group", group{Session: fmt.Sprint("s-", i), Calls: 2, Stay: 30 * time.Minute, WaitBefore: -1}))
		}
		rest(time.Minute)
		for n, node := range d.nodes {
			if got := node.Stats().AttemptsCompleted; got != 4 {
				e.T.Errorf("node %d has run %d activities, want those of two sessions: 4", n, got)
			}
		}
		d.add(2, e.Options)
		for _, key := range keys {
			if ran := enginetest.Output[[]int](e, key); !same(ran) {
				e.T.Errorf("ran on %v", ran)
			}
		}
	})
}

// A crashed node loses its sessions with its lease, and a node that shuts down releases them at once. Another node
// takes them over.
func TestSessionIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"crash": true, "shutdown": false} {
		lease := 20 * time.Second // a shutdown does not wait for it, however busy the machine is
		if crash {
			lease = 2 * time.Second
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, runtime.Options{Lease: lease, Sessions: runtime.SessionOptions{Idle: time.Hour}}, func(e *engine) {
				d := newDesk(e, 1, e.Options)
				key := e.Create("one", "group", group{Session: "one", Calls: 4, WaitBefore: 1})
				e.Until("two calls have ended", func() bool { return d.nodes[0].Stats().AttemptsCompleted == 2 })
				d.add(1, e.Options)
				began := time.Now()
				if crash {
					d.plans[0].StartOutage()
				} else {
					e.Stop(d.nodes[0])
				}
				e.Raise(key, "go on", none{})
				if got := enginetest.Output[[]int](e, key); !slices.Equal(got, []int{0, 0, 1, 1}) {
					e.T.Errorf("ran on %v", got)
				}
				limit := 2 * lease
				switch {
				case crash && !e.Virtual: // the crashed node may have taken a task before its fetches failed
					limit += late(e)
				case !crash && e.Virtual:
					limit = time.Second
				case !crash:
					limit = lease / 2
				}
				if took := time.Since(began); took > limit {
					e.T.Errorf("taken over after %v, want %v at most", took, limit)
				}
			})
		})
	}
}

// A node without places for sessions does not take their activities.
func TestNoSessions(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Sessions: runtime.SessionOptions{Max: runtime.Off}}, func(e *engine) {
		d := newDesk(e, 1, e.Options)
		key := e.Create("one", "group", group{Session: "one", Calls: 1, WaitBefore: -1})
		rest(time.Hour)
		if got := d.nodes[0].Stats().TasksFetched; got != 0 {
			e.T.Errorf("%d fetched", got)
		}
		opts := e.Options
		opts.Sessions.Max = 0
		d.add(1, opts)
		if got := enginetest.Output[[]int](e, key); !slices.Equal(got, []int{1}) {
			e.T.Errorf("ran on %v", got)
		}
	})
}
