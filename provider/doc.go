// Package provider is the contract between the perdure engine and a storage.
//
// A storage implements [Provider]: about twenty methods, each taking a context and
// a request struct and answering a result struct. The comment of each method is its
// specification; the conformance suite quotes its sentences. Powers that not every
// storage has are one-method interfaces of their own ([Notifier], [Migrator]), which
// the engine discovers with [As].
//
// What a provider is not: it never looks inside an event, a message or a payload, it
// invents no events, IDs or decisions, and it knows nothing of orchestrations. All it
// needs stands in plain fields beside opaque bytes.
//
// # The model in one screen
//
// An instance has an ID chosen by a caller and a never-reused Key under it. It has
// executions 1, 2, ...; each execution has a history of events 1, 2, ... n without
// gaps. Messages wait in the inbox of an instance. A turn consumes messages and
// extends the history in one commit. Activity tasks wait in named queues.
//
// # Rules for every method
//
//   - Fencing. An instance row holds Version, the ID of the last commit that changed
//     it. CommitTurn names the Version it was computed from and its own new ID. A lock
//     (turn lease) is only a hint that saves work.
//   - Time. Only the storage's clock counts. Instants are [Time], integer microseconds
//     UTC as the storage reads them; callers pass delays and lease lengths as durations.
//     An answer tells Now also when it found nothing.
//   - Slices. A provider does not keep or change a request's slices after it returned,
//     unless a caller cancelled the context: then the provider may still read them.
//     Result slices belong to the caller.
//   - Errors. Every error is, or wraps, a sentinel of this package or an [*Error] that
//     says whether nothing happened, it happened, or the outcome is unknown.
//   - Text. IDs, names and keys are valid UTF-8 without NUL, at most [MaxName] bytes,
//     compared byte by byte. Everything else is refused with [ErrInvalid].
//   - Concurrency. All methods may be called at once from many goroutines.
//   - Context. A call whose context is finished before the storage took it up changes
//     nothing and answers the context's error; afterwards the outcome is unknown.
//   - Stale reads may only err towards Running: Terminal and Missing come from a read
//     that includes every acknowledged commit.
package provider
