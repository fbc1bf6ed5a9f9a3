package storagefaults

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// The connection breaks for a second again and again, under calls of every method. No order fails, and a call that
// succeeded without a reply is not done twice. If it was a fetch, its turn may come a second time. In one run of a hundred
// the node begins such a turn although it is over or leased anew, and the fence of its commit refuses it.
func TestConnectionBreaksAgainAndAgain(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(e *enginetest.Engine, plan *faulty.Plan) {
		rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(e.T), e.Options) // Start itself does not retry
		plan.Add(faulty.Rule{Kind: faulty.Disconnect, Every: 50, Delay: time.Second})
		run(e, 50)
		if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 || s.AttemptsPoisoned != 0 || s.TurnsConflicted > 3 || s.StorageErrors == 0 {
			e.T.Errorf("%+v", s)
		}
		struck := 0
		for _, s := range plan.Log() {
			if s.Kind == faulty.Disconnect {
				struck++
			}
		}
		if struck < 10 {
			e.T.Errorf("the connection broke %d times", struck)
		}
		plan.Clear()
		plan.Reconnect()
	})
}

// One of two nodes loses its connection for longer than its leases last. The other takes over its work, and nothing
// that the first did meanwhile counts when it is back.
func TestNodeWithoutConnectionLosesItsWork(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(e *enginetest.Engine, plan *faulty.Plan) {
		cut := e.StartOn(faulty.Wrap(e.Store, plan), orders(e.T), e.Options)
		var keys []provider.UUID
		for i := range 100 {
			keys = append(keys, order(e, i))
		}
		time.Sleep(2 * time.Millisecond) //nolint:forbidigo // virtual time
		plan.Disconnect()
		whole := e.Start(orders(e.T))
		began := time.Now()
		checkOrders(e, keys)
		if took := time.Since(began); took > 2*time.Minute {
			e.T.Errorf("the other node took %v", took)
		}
		plan.Reconnect()
		keys = append(keys, order(e, len(keys)))
		checkOrders(e, keys)
		for name, s := range map[string]runtime.Stats{"cut off": cut.Stats(), "whole": whole.Stats()} {
			if s.TurnsFailed != 0 || s.AttemptsFailed != 0 || s.TurnsCommitted == 0 || (s.StorageErrors > 0) != (name == "cut off") {
				e.T.Errorf("the node that was %s: %+v", name, s)
			}
		}
	})
}
