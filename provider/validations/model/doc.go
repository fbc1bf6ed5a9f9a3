// Package model compares a provider with provider/memory, the contract in its plainest form.
//
// [Run] plays random sequences of calls on both: creates of all policies, turns fetched and
// committed under right and stale versions, tasks, timers, steering, deletion and the rest of
// the contract, in a space so small that they get into each other's way. It compares every
// answer, and after every step all that can be seen of the store. A sequence at the end of
// which the two differ is made as short as possible and printed, one call a line.
//
// Time. The model has a clock of its own, the provider under test has the store's. So that no
// outcome hangs on a race with time, leases and delays are either very long, or short and over
// before the next call: then both let time pass. Instants are compared by their relation: both
// must be that of the same step, later by the same delay.
package model
