// Package kit has parts that a provider needs and that no database gives, for stores that one process has open: calls that block,
// a clock that never goes back, syncs that calls share, questions in memory, notices, and, from scans of rows, lists, figures,
// checks of the whole store, prunes and trims.
//
// Each part implements sentences of the contract that have nothing to do with how rows are stored. An author uses those that fit
// and writes the others. Package memory uses none of them, so that it stays an independent reading of the contract.
package kit
