// Package invariant checks that a store holds what the engine promises: every accepted
// instance has, or can still reach, the outcome that its code implies, no event is missing
// or doubled, and nothing is left behind. It reads the store through the contract alone and
// changes nothing.
//
// # A store in use
//
// Check may run while workers run. It reads pages at different moments, so that what it reads
// first may not fit together: a message that is not there yet, an event that is there already.
// Whatever looks wrong is therefore looked at a second time, for one instance alone: its row, all that hangs
// on it, what it has to do with parent and children, and its row again. Only if the row is still
// the same - Version, status, counters and ready time - was all that was read in between one state of
// the store: no turn, steering or message can have come in between without changing it. And only
// what is wrong in both looks is reported. An instance that never stands still for
// so long is named under Skipped.
//
// Two rules need more. Rows of a key that is gone are reported if they were seen, then the key
// was found to be gone, and then they were seen again: a key never comes back. And leases of a dead
// owner are looked at again after a while, since the storage may be about to end them.
//
// A check reads all histories. It holds a page of each kind of rows in memory, and what
// hangs on one execution.
package invariant
