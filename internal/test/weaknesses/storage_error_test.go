package weaknesses

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// Storage errors of any class and duration never fail an orchestration. A lease that is no longer used is released or
// expires. A permanent error may mean damage of the instance, which is Blocked while the error lasts and then continues
// by itself.
func TestWeakness04_StorageErrorsFailNothing(t *testing.T) {
	t.Parallel()
	all := claims{
		"a node that is cut off keeps nobody's work": cutOff,
	}
	for class, rule := range failures() {
		all["every call fails for minutes: "+class] = func(e *engine) { longOutage(e, rule) }
	}
	for name, err := range map[string]error{
		"a permanent error": failures()["permanent"].Err, "a conflict": provider.ErrConflict, "a full inbox": provider.ErrInboxNotEmpty,
	} {
		all["a commit answers "+name+" and gives its lease back"] = func(e *engine) { leaseGivenBack(e, faulty.CommitTurn, err) }
	}
	all["a history cannot be read, and the lease is given back"] = func(e *engine) { leaseGivenBack(e, faulty.ReadHistory, nil) }
	inEveryMode(t, all)
}

// mixed makes calls of every kind, n times.
func mixed(ctx *octx, n int) (int, error) {
	total := 0
	for range n {
		v, err := orchestration.CallActivityNamed[int](ctx, "slow", n)
		if err != nil {
			return 0, err
		}
		if err := ctx.Sleep(time.Duration(n) * time.Second); err != nil {
			return 0, err
		}
		c, err := orchestration.CallOrchestration(ctx, Echo, n)
		if err != nil {
			return 0, err
		}
		total += v + c
	}
	return total, nil
}

func slow(ctx context.Context, n int) (int, error) {
	select {
	case <-time.After(time.Duration(n) * time.Second):
		return n, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func mixedRegistry(e *engine) *runtime.Registry {
	e.T.Helper()
	reg := registry(e)
	enginetest.Activity(e.T, reg, "slow", slow)
	enginetest.Orchestration(e.T, reg, "mixed", mixed)
	return reg
}

// longOutage interrupts busy nodes for ten leases, several times. Replies of fetches are lost only once: the store
// cannot distinguish them from lost nodes. Twenty in a row would count as the fault of the fetched work.
func longOutage(e *engine, rule faulty.Rule) {
	plan, node := faultyNode(e)
	rt := e.StartOn(node, mixedRegistry(e), e.Options)
	var keys []provider.UUID
	for i := range 10 {
		keys = append(keys, e.Create(fmt.Sprint("mixed ", i), "mixed", i+1))
	}
	rounds := 3
	if rule.Kind == faulty.After {
		rounds = 1
	}
	for i := range rounds {
		pass(e, time.Duration(3+i)*time.Second)
		plan.Add(rule)
		pass(e, 5*time.Minute)
		plan.Clear()
	}
	for i, key := range keys {
		want(e, key, 2*(i+1)*(i+1))
	}
	s := rt.Stats()
	if s.AttemptsFailed+s.AttemptsPoisoned != 0 || s.StorageErrors == 0 || s.TurnsFailed != 0 && !forGood(rule.Err) {
		e.T.Errorf("the outages failed work: %+v", s)
	}
	if s := stats(e); s.TurnLeases+s.TaskLeases+s.Blocked+s.DeadLetters != 0 {
		e.T.Errorf("left behind: %+v", s)
	}
}

// forGood reports whether an error is not retryable.
func forGood(err error) bool {
	failed, ok := errors.AsType[*provider.Error](err)
	return ok && !failed.Retryable
}

// leaseGivenBack refuses calls of a turn under a lease of an hour, whose expiry the test does not await.
func leaseGivenBack(e *engine, op faulty.Op, refusal error) {
	plan, node := faultyNode(e)
	plan.Add(faulty.Rule{Ops: []faulty.Op{op}, Kind: faulty.Before, Err: refusal, First: 3})
	opts := e.Options
	opts.Lease = time.Hour
	if op == faulty.ReadHistory {
		opts.Cache.Executions = runtime.Off
	}
	rt := e.StartOn(node, mixedRegistry(e), opts)
	key := e.Create("mixed", "mixed", 2)
	began := time.Now()
	want(e, key, 8)
	if took := time.Since(began); took > 5*time.Minute {
		e.T.Errorf("took %v: it waited for the end of a lease", took)
	}
	if s := rt.Stats(); s.TurnsFailed != 0 && !forGood(refusal) || plan.Injected(op) != 3 {
		e.T.Errorf("%d refusals, %+v", plan.Injected(op), s)
	}
}

// cutOff takes the storage from one of two nodes for good.
func cutOff(e *engine) {
	var causes enginetest.Notes[error]
	reg := registry(e)
	began := make(chan struct{}, 100)
	enginetest.Activity(e.T, reg, "work", func(ctx context.Context, n int) (int, error) {
		if activity.GetInfo(ctx).Deliveries > 1 {
			return n, nil
		}
		began <- struct{}{}
		<-ctx.Done()
		causes.Add(context.Cause(ctx))
		return 0, context.Cause(ctx)
	})
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n)
	})
	plan, node := faultyNode(e)
	e.StartOn(node, reg, e.Options)
	key := e.Create("main", "main", 7)
	<-began
	plan.StartOutage()
	plan.DropNotices(true)
	down := time.Now()
	e.Start(reg)
	want(e, key, 7)
	if took := time.Since(down); took > time.Minute { // the lease has 30 s
		e.T.Errorf("took %v", took)
	}
	pass(e, time.Minute)
	if all := causes.All(); len(all) != 1 || !errors.Is(all[0], activity.ErrLeaseLost) {
		e.T.Errorf("the attempt that was cut off saw %v", all)
	}
	plan.EndOutage() // so that the node can be shut down
}
