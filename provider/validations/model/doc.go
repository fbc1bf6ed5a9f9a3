// Package model compares a provider with provider/memory, the plainest implementation of the contract.
//
// [Run] plays random sequences of calls on both. They cover the whole contract: creates of all policies, turns committed under
// right and stale versions, tasks, timers, steering, deletion and so on. The values come from a space so small that calls get
// into each other's way. Run compares every result and, after every step, everything that can be read from the store. If the
// two differ it shortens the sequence as far as possible and prints it, one call a line.
//
// The model has its own clock, and the provider under test has the store's. To keep outcomes free of races with time, leases
// and delays are either very long, or short and expired before the next call. Run lets time pass on both sides for the short
// ones. It compares instants by their relation: both must belong to the same step, later by the same delay.
package model
