package dispatcher_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// lostNode is the store of a node that loses its connection before or after one of its calls, for good.
type lostNode struct {
	*provider.Full

	plan    *faulty.Plan
	lostAt  string // "before the send" and so on
	steps   enginetest.Notes[string]
	willEnd atomic.Bool // the turn has sent, so that its commit is the next one
}

// Unwrap makes the optional features reachable.
func (n *lostNode) Unwrap() provider.Provider { return n.Full }

// step makes a call of the turn that ends the cancelled activity.
func (n *lostNode) step(name string, call func() error) error {
	n.steps.Add(name)
	if n.lostAt == "before the "+name {
		n.plan.StartOutage()
	}
	err := call()
	if n.lostAt == "after the "+name {
		n.plan.StartOutage()
	}
	return err
}

// Send implements [provider.Provider].
func (n *lostNode) Send(ctx context.Context, req provider.SendRequest) (res provider.SendResult, err error) {
	n.willEnd.Store(true)
	err = n.step("send", func() error {
		res, err = n.Full.Send(ctx, req)
		return err
	})
	return res, err
}

// CommitTurn implements [provider.Provider].
func (n *lostNode) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	if !n.willEnd.Load() {
		return n.Full.CommitTurn(ctx, req)
	}
	err = n.step("commit", func() error {
		res, err = n.Full.CommitTurn(ctx, req)
		return err
	})
	return res, err
}

// The turn that finds the task of a cancelled activity gone reads, sends and commits. Wherever its node is lost, the call ends, and
// ends once.
func TestHazard92_NodeIsLostBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	for _, lostAt := range []string{"before the send", "after the send", "before the commit", "after the commit", "never"} {
		t.Run(lostAt, func(t *testing.T) {
			t.Parallel()
			withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, store provider.Provider) {
				reg := registry(e.T)
				var locals enginetest.Notes[int]
				enginetest.Activity(e.T, reg, "local", func(context.Context, int) (int, error) { return locals.Add(1), nil })
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ int) (string, error) {
					// Nobody has this activity.
					f := orchestration.StartActivityNamed[int](ctx, "missing", 0, orchestration.WithCancellation(orchestration.WaitForEnd))
					if _, err := orchestration.Events[int](ctx, "box").Receive(ctx); err != nil {
						return "", err
					}
					f.Cancel()
					_, err := f.Get(ctx)
					if _, err := orchestration.CallLocalNamed[int](ctx, "local", 0); err != nil {
						return "", err
					}
					return "ended", unlessCancelled(err)
				})
				node := &lostNode{Full: provider.FullOf(store), plan: plan, lostAt: lostAt}
				e.StartOn(node, reg, e.Options)
				key := e.Create("one", "main", 0)
				e.Until("the task waits", func() bool { return len(e.Tasks(key)) == 1 })
				e.Raise(key, "box", 1)
				if lostAt != "never" {
					e.Until("the node is lost", func() bool { return len(node.steps.All()) > 0 })
					e.Start(reg)
				}
				if got := enginetest.Output[string](e, key); got != "ended" {
					e.T.Errorf("got %q", got)
				}
				plan.EndOutage()
				results(e, key)
				if steps := node.steps.All(); !slices.Contains(steps, "send") {
					e.T.Errorf("the turn made the steps %v", steps)
				}
			})
		})
	}
}

// Time passes for code around a local activity: each result has the time at which it came, and none is earlier than what came before.
func TestTimePassesAroundLocalActivities(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const most = 100
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "second", func(ctx context.Context, _ int) (int, error) {
			pause(ctx, time.Second)
			return 0, nil
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ int) (int, error) {
			n := 0
			for end := ctx.Now().Add(5 * time.Second); ctx.Now().Before(end) && n < most; n++ {
				if _, err := orchestration.CallLocalNamed[int](ctx, "second", 0); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		e.Start(reg)
		key := e.Create("one", "main", 0)
		if n := enginetest.Output[int](e, key); n < 5 || n > 6 {
			e.T.Errorf("5 s took %d activities of 1 s", n)
		}
		var last int64
		for _, event := range e.History(key, 1) {
			if event.At == 0 { // what code asks for has no time
				continue
			}
			if event.At < last {
				e.T.Errorf("event %d was at %d, one before at %d", event.ID, event.At, last)
			}
			last = event.At
		}
	})
}
