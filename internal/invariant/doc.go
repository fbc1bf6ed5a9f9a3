// Package invariant checks that a store holds what the engine promises. Every accepted
// instance has, or can still reach, the outcome that its code implies. No event is missing
// or doubled, and nothing is left behind. The package reads the store through the contract
// alone and changes nothing.
//
// # A store in use
//
// Check may run while workers run. It reads pages at different moments, so the first check may
// not fit together: a message is missing, or an event is there already. Every finding is
// therefore looked at again, for one instance alone. Check reads its row, the rows that depend
// on it, those of its parent and children, and its row again. If Version, status, counters and
// ready time of the row are still the same, the rows read in between are one state of the store.
// Any turn, steering or message would have changed the row. Only findings of both checks are
// reported. An instance that does not stand still for that long is named under Skipped.
//
// Two rules take more. Rows of a deleted key are reported if they were seen both before and
// after the key was found to be gone. A deleted key never exists again. Leases of a dead owner
// are looked at again after a while, as the storage may be about to end them.
//
// A check reads all histories. It holds in memory a page of each kind of rows, and the rows
// that depend on one execution.
package invariant
