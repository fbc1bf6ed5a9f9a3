// Package orchestrationtest tests orchestrations on the real engine, in virtual time.
//
//	func TestCheckout(t *testing.T) {
//		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
//			charges := orchestrationtest.Replace(e, Charge, func(_ context.Context, o Order) (Receipt, error) { return Receipt{Order: o.ID}, nil })
//			h := orchestrationtest.Start(e, Checkout, Order{ID: "17"})
//			e.After(25*time.Hour, func() error { return h.Raise(e.Context(), "approval", "ann") })
//			if _, err := h.Wait(e.Context()); err != nil || len(charges.Calls()) != 1 {
//				t.Error(err, charges.Calls())
//			}
//		})
//	}
//
// Run runs a test in a bubble of testing/synctest, with a store in memory, a node and a client. Nothing waits in real time: if all
// goroutines wait, the clock of the bubble goes to the next moment at which something is due. A year of waiting takes milliseconds.
//
// A test fails at once, and says why, in these cases:
//   - Code calls an activity or starts an orchestration that is neither registered nor replaced.
//   - Nothing can happen any more. The test then shows each instance that has not ended, what it waits for and since when, and its
//     unread events.
//   - An instance is blocked, for example by a panic: see [Env.AllowBlocked].
//   - A turn does not replay: the code of an orchestration is not deterministic.
//   - A query has another answer from the history than from memory.
//   - An activity has failed in 10,000 attempts and is tried again, or an instance that may be blocked in 10,000 turns.
//   - The end of the time that the test binary has is near: see the flag timeout of go test.
//   - The test hangs at something outside of its bubble, such as a socket or a mutex, for 10 s of real time.
//
// Each turn is run twice. The second run is a replay of all that the first has stored, in a new execution, after it was stored. So
// orchestration code that changes a variable of the test changes it more than once: change it in an activity. A history of more than 256
// events is replayed when it has grown by a quarter, and at its end.
//
// [Env.Deploy] runs several releases of the code side by side, and [Env.Kill] plays a crash. [RunRealTime] is for activities that use sockets, and
// for any store. [Replay] runs code against exported histories.
package orchestrationtest
