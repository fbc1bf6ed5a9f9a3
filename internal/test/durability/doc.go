// Package durability proves that nothing is acknowledged before it is on disk. It has tests only.
//
// A store in a file is copied while its processes are stopped, and its writes and syncs are recorded one by one. A
// Postgres server is killed, fails over to a standby, and has a full disk. Its connections are cut, also behind PgBouncer.
// Clients and nodes are killed, too.
//
// A shop ([shop] in the tests) records the acknowledgements: each call that returned, each activity that began, each
// outcome. Each has a text of its own that must also be in the stored data by then. So the text can be found in a copy,
// in a restored store and in the bytes that go to the disk.
package durability
