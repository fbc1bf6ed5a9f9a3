// Package engine decides what a turn stores. It is pure: it knows no store, no clock, no random numbers, no log and no lock, and gets what it
// depends on as values. The same execution and the same policy give the same [Decision].
//
// What only a node can say is left open in a decision, and the node fills it in: the IDs of commits, which tasks it leases to itself, and the
// anchor of the next execution.
package engine
