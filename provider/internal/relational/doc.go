// Package relational is shared by the SQL providers. It carries out the rules of the contract on rows.
//
// A store groups waiting calls into one transaction, a [Tx], and runs them one after the other. Each call reads through
// [Rows], decides in memory, and writes through Rows. Changes to an instance are kept in its [Head] and written once,
// however many calls make them. A call is refused before its first write, as far as that costs nothing.
//
// The rules build on each other. A Tx holds the heads, the journal that undoes a member, and the [Effects] that others
// learn of. An inbox, an execution and new tasks are parts of one instance in a Tx. Commits, reports, steering and the
// other calls use those parts.
//
// Calls that are statements and nothing else, such as Get and ReadHistory, are methods of [Queries], which both stores embed.
//
// The package is not a database layer. Statements, connections, locks and the claims of fetches belong to the stores.
package relational
