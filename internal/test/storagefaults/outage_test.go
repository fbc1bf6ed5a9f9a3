package storagefaults

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// methods are all methods that the plans of these tests make fail.
var methods = []faulty.Op{
	faulty.Create, faulty.Get, faulty.Steer, faulty.FetchTurns, faulty.CommitTurn, faulty.ReleaseTurns, faulty.FetchTasks,
	faulty.ReportTasks, faulty.RenewTasks, faulty.Send, faulty.Ask, faulty.FetchAsks, faulty.Answer, faulty.ReadHistory,
	faulty.List, faulty.Count, faulty.Stats, faulty.Delete, faulty.Prune, faulty.DeadLetters, faulty.Lease, faulty.Record,
}

func injected(plan *faulty.Plan) (n int) {
	for _, op := range methods {
		n += plan.Injected(op)
	}
	return n
}

// The storage is unreachable for a minute while many orders are in flight. None fails, all continue afterwards, and
// calls are rare during the outage.
func TestOutageOfAMinuteFailsNobody(t *testing.T) {
	t.Parallel()
	const many = 200
	for name, opts := range map[string]runtime.Options{"cached": {}, "uncached": {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
				plan := faulty.NewPlan(1)
				rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(e.T), e.Options)
				keys := make([]provider.UUID, many)
				for i := range keys {
					keys[i] = order(e, i)
				}
				time.Sleep(2 * time.Millisecond) //nolint:forbidigo // virtual time
				plan.StartOutage()
				time.Sleep(time.Minute) //nolint:forbidigo // virtual time
				calls := injected(plan)
				plan.EndOutage()
				began := time.Now()
				checkOrders(e, keys)
				if took := time.Since(began); took > time.Minute {
					e.T.Errorf("took %v after the outage", took)
				}
				// Each piece of work retries about 20 times, because the delay doubles from 50 ms to 5 s.
				if most := 30 * (many + 10); calls < many/10 || calls > most {
					e.T.Errorf("%d calls in a minute without storage: want work in flight, and %d at most", calls, most)
				}
				if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 || s.AttemptsPoisoned != 0 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}

// The same holds on a file in real time.
func TestOutageOnAFileFailsNobody(t *testing.T) {
	t.Parallel()
	e, plan := engineOn(t, newFile(t)), faulty.NewPlan(1)
	rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(t), e.Options)
	var keys []provider.UUID
	for range 3 {
		for range 20 {
			keys = append(keys, order(e, len(keys)))
		}
		plan.StartOutage()
		n := rt.Stats().StorageErrors
		for range 5 { // the others may have ended by now
			keys = append(keys, order(e, len(keys)))
		}
		e.Until("calls to fail for a while", func() bool { return rt.Stats().StorageErrors >= n+20 })
		plan.EndOutage()
	}
	checkOrders(e, keys)
	if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
		t.Errorf("%+v", s)
	}
}

// On a file, every method fails now and then, before or after its effect. All orders end with the outcome of their
// code, from results that are stored once.
func TestErrorsBeforeAndAfterEveryMethod(t *testing.T) {
	t.Parallel()
	for kind, name := range map[faulty.Kind]string{faulty.Before: "before", faulty.After: "after"} {
		for _, chance := range []float64{0.05, 0.3} {
			t.Run(fmt.Sprint(name, " ", chance), func(t *testing.T) {
				t.Parallel()
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				e, plan := engineOn(t, newFile(t)), faulty.NewPlan(seed)
				e.Options.Lease = time.Second                                     // a fetch whose reply is lost costs a lease
				rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(t), e.Options) // Start itself does not retry
				plan.Add(faulty.Rule{Kind: kind, Probability: chance})
				keys := make([]provider.UUID, 20)
				for i := range keys {
					keys[i] = order(e, i)
				}
				checkOrders(e, keys)
				if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 || s.StorageErrors == 0 {
					t.Errorf("%+v", s)
				}
				plan.Clear()
			})
		}
	}
}
