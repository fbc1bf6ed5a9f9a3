// Package fileprovider is a provider that keeps its store in one plain file: the worked example of
// docs/how-to/write-a-provider.md.
//
// The rules of the contract come from provider/memory, which implements them in the simplest form. This package
// adds durability. Each call that changes the store is applied in memory and appended to a journal, together with
// the storage's time. It returns once the journal is on disk. Opening the file makes the same calls again at the
// same times, which restores the same store.
//
// This is correct because provider/memory depends only on the calls and their times, and it keeps the example
// short. The price: the store must fit into memory. The file only grows and is read completely on opening. Only one
// process can open it. A release whose provider/memory decides differently would read a different store from an old
// file. A production provider journals changed rows, or uses a database.
package fileprovider
