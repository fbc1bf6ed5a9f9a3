// Package relational is what the SQL providers share: the rules of the contract, carried
// out on rows.
//
// A store folds the calls that wait into one transaction, a [Tx], and runs them one after
// the other. Each reads through [Rows], decides in memory, and writes through Rows. What
// instances change is held in their [Head] and written back once, however many calls touch them. A call that
// is refused is refused before it writes, as far as that costs nothing.
//
// It is not a database layer: statements, connections, locks and the claims of fetches, which are all
// about indexes, belong to the stores.
package relational
