// Package postgres stores durable executions in a Postgres database (13 or newer), for any number of
// processes on any number of machines.
//
// [Open] makes a connection pool for a URL, [New] uses one that the program has. All tables live in one
// schema, "perdure" unless [Options].Schema names another.
//
// # How it works
//
// Calls that change instances wait in a queue of the process and are folded into one transaction: group
// commit. Its first round trip locks all instances that the group touches, in the order of their keys and
// passing over those that another transaction holds, and reads what the calls need. The calls are then
// judged in memory by the rules that all SQL stores share. The second round trip writes what they decided
// and commits. A call whose instance was held by somebody else goes with a later group, and at last waits in a transaction of its own.
//
// A process remembers the instances that it changed last, each by the ID of the transaction that wrote its row. A group whose
// instances are all known is judged at once and goes in one round trip: its statements fail if any of these rows was written by another
// transaction since, or if the clock is not the storage's, and then the group takes the long way. Groups of one process leave each
// other's instances alone. A lock is waited for only in the order of keys and for no longer than 10 ms where others are held, so none deadlocks.
//
// Every statement finds its rows by an index, whatever the statistics of the tables say: sequential scans are switched off within its
// transaction, and each statement has one plan on each connection.
//
// Claims take many items in one round trip, by SKIP LOCKED over narrow partial indexes. A fetch of turns that waits takes what
// a group makes ready by a statement of that group. Leases run on
// the database's clock_timestamp(). Nobody polls while there is nothing to do: processes tell each other of their commits by
// NOTIFY, many commits in one, on a connection outside of the pool and of all commits; a slow look of its own
// heals a lost notification. Postgres lets every role of the database send notifications, so that each is a hint to look and no more.
//
// # Roles
//
// The role that opens a store must own its tables to make and migrate them. A role with fewer rights can run it: see [Grants]
// and [Options].NoMigrate.
//
// # Behind PgBouncer
//
// Set [Options].Pooler when the URL leads to a pooler in transaction mode: then no statement is kept prepared on a server
// connection. Notifications need a session, so give [Options].ListenURL a URL that leads to the
// database itself.
//
// Without the option a store that notices a pooler logs a warning and changes no settings of its connections, which other programs use, too.
// Calls may then fail because a prepared statement is missing or there already; the error names the option.
//
// # Tracers
//
// A pool with a tracer has each statement go through it. The store then leaves its own way of speaking to the server, which no tracer sees: a
// step takes more round trips, and about a third more CPU time. The log says so when the store is opened.
package postgres
