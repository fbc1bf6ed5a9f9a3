// Package dispatcher runs the loops of a node: fetch leased work, run it, commit.
//
// The turn loop fetches instances that have messages and hands each to its actor, which
// owns the cached execution and makes one turn at a time. The task loop fetches activity
// tasks and runs an attempt for each. The manager renews the leases of running attempts
// and turns bad news into the cancellation of their contexts. The watch finds turns whose
// code does not come back.
//
// Hand-off joins the two: a turn's commit may write a task already leased to this node, and
// the task's result goes straight to the actor, which commits the next turn together with
// the task's completion. A step then costs one commit and no fetch. Whatever goes wrong on this path -
// a conflict, a waiting message, a busy actor - sends the result the ordinary way, into the inbox.
//
// The package decides everything that a provider must not: what a state means for a
// running attempt, when a failure is retried, when an instance is Blocked. It knows no SQL
// and no Go types of users. Package runtime is its only user.
package dispatcher
