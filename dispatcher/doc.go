// Package dispatcher is a node: it starts and stops the loops that fetch leased work, run it and commit. Package runtime is its only
// user.
//
// The parts are packages of their own. Package turn makes the turns of orchestrations, package task runs activities, package local runs
// local activities inside turns, package manage keeps leases, package fast holds what makes a node faster, and package leak watches code
// that does not return. Package core holds what they share.
//
// Turns know attempts by type and start them; attempts know only where results go (task.Executions). This package connects the two.
//
// A node decides everything that a provider must not: what a state means for a running attempt, when a failure is retried, when an
// instance is Blocked. It knows no SQL and no Go types of users.
package dispatcher
