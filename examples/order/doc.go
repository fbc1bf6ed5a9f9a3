// Package order is an example: an online order as a durable orchestration.
//
// [Process] reserves stock, packs, waits for a person's approval, charges the customer, waits for the carrier and
// ships. If the approval or the card is refused, or the instance is cancelled, it undoes the finished steps, last
// step first.
//
// The activities are methods of [Shop]. They may run more than once, since an attempt that is lost with its process
// is delivered again. Each of their effects goes through a [Ledger] under an idempotency key, which applies the
// effect once.
//
// The command perdure demo runs this package and kills its process halfway. All stored names begin with
// "perdure-demo.", so that the demo never takes work of a service.
package order
