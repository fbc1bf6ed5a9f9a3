// Package postgres stores durable executions in a Postgres database (13 or newer), for any number of processes on any
// number of machines.
//
// [Open] makes a connection pool for a URL. [New] uses a pool of the program. All tables are in one schema, "perdure"
// unless [Options].Schema names another.
//
// # How it works
//
// Calls that change instances wait in a queue of the process and are grouped into one transaction: group commit. Its
// first round trip reads what the calls need and locks all instances that the group touches, in the order of their
// keys. It skips instances that another transaction holds. The calls are then judged in memory by the rules that all
// SQL stores share. The second round trip writes what they decided and commits. A call whose instance was locked goes
// with a later group, and at last waits in a transaction of its own.
//
// A process caches the instances that it changed last, each with the ID of the transaction that wrote its row. If
// all instances of a group are cached, the group is judged at once and takes one round trip. Its statements fail if
// another transaction wrote one of these rows since, or if the clock is not the storage's. Then the group takes both
// round trips. Groups of one process do not touch each other's instances. A transaction that holds locks waits for
// others only in the order of keys and for at most 10 ms, so there is no deadlock.
//
// A call that is alone, as in a chain of activities, waits for no committer. Its caller judges it on cached rows and sends
// it as one statement. Comments that name a workload, such as W4, mean one of docs/explanation/performance.md.
//
// Every statement finds its rows by an index, whatever the statistics of the tables say. Sequential scans are switched
// off within its transaction, and each statement has one plan on each connection.
//
// Claims take many items in one round trip, by SKIP LOCKED over narrow partial indexes. A waiting fetch of turns takes
// what a group makes ready by a statement of that group: its claim is piggybacked. Leases use the database's
// clock_timestamp(). Nothing polls while there is no work. Processes notify each other of their commits by NOTIFY, many commits in one, on a connection
// outside of the pool and of all commits. A slow poll makes up for lost notifications. Postgres lets every role of the
// database send notifications, so each is only a hint to look.
//
// # Roles
//
// The role that opens a store must own its tables to create and migrate them. A role with fewer rights can run it: see
// [Grants] and [Options].NoMigrate.
//
// # Behind PgBouncer
//
// Set [Options].Pooler if the URL leads to a pooler in transaction mode. Then no statement is kept prepared on a server
// connection. Notifications need a session, so set [Options].ListenURL to a URL that leads to the database itself.
//
// Without the option, a store that notices a pooler logs a warning and does not change the settings of its connections,
// because other programs use them, too. Calls may then fail because a prepared statement is missing or exists already.
// The error names the option.
//
// # Tracers
//
// If the pool has a tracer, each statement goes through it. The store then does not speak the wire protocol itself,
// because a tracer would not see that. A step takes more round trips, and about a third more CPU time. The log says so
// when the store opens.
package postgres
