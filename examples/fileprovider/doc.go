// Package fileprovider is a provider that keeps its store in one plain file: the worked example of
// docs/how-to/write-a-provider.md.
//
// The rules of the contract are those of provider/memory, which is the contract in its plainest form. This package adds
// what a storage adds: that what was answered survives. Each call that changes the store is applied in memory and put
// into a journal, together with the storage's time; it is answered once the journal is on disk. Opening the file makes
// the same calls again, at the same times, and so comes to the same store.
//
// That is right because provider/memory is a function of the calls and their times alone, and it is short. The price:
// the store must fit into memory, the file only grows and is read as a whole when it is opened, one process has it
// open, and a release whose memory decides otherwise would read another store from an old file. A provider for
// production journals changed rows, or leaves all that to a database.
package fileprovider
