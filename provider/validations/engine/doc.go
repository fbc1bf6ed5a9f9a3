// Package engine runs whole orchestrations on a provider. Package validations checks each sentence of the
// contract alone. This package checks that they add up: nodes and clients do on the provider what they do in a
// service.
//
// The author of a provider calls it from one test:
//
//	func TestEngine(t *testing.T) {
//		engine.Run(t, func(t *testing.T) provider.Provider {
//			p, err := mine.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { _ = p.Close() })
//			return p
//		})
//	}
//
// Each scenario runs in three modes. Executions are kept in memory between turns (cached), rebuilt from their
// history for every turn (uncached), or evicted after every turn (evicted). Each run has a fresh provider. After
// it everything must have ended, and no activity may have run more often than it had to. The invariant checker
// must find nothing in the store; most of its checks need a [provider.Inspector].
//
// A failure says which methods of the contract, and which fields of their requests, carry the scenario.
// Make package validations pass first: it is nearer to the cause.
//
// Nothing polls and nothing sleeps. A scenario takes time only if it is about time: timers of some 10 ms, and a
// lease of half a second that must expire.
package engine
