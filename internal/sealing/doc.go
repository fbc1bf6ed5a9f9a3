// Package sealing seals what nodes and clients store, and opens what they read, with the codec of the user.
//
// A [Store] decorates a provider. It stands between the shell and the store, so the core and user code have plain values, and no way on which
// bytes are stored or read passes it by. It is called outside of the coroutines of user code. A process without a codec has none, and costs nothing.
//
// What cannot be opened stays sealed. Who decodes it gets a history.SealedError, which a node treats like an event of a newer release.
package sealing
