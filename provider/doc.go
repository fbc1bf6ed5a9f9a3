// Package provider is the contract between the perdure engine and a storage.
//
// A storage implements [Provider]: twelve methods, most with a context, a request struct
// and a result struct. The comment of each method is its specification; the conformance
// suite quotes its sentences. Everything else that a storage may have is an interface of
// its own ([Lister], [Notifier]), which the engine discovers with [As].
//
// A provider never looks inside an event, a message or a payload. It invents no events,
// IDs or decisions. It knows nothing about orchestrations. All that it needs is in plain
// fields next to the opaque bytes.
//
// # The model
//
// An instance has an ID chosen by a caller and a Key that is never reused. It has
// executions 1, 2, ...; each execution has a history of events 1, 2, ... n without
// gaps. Messages wait in the inbox of an instance. A turn consumes messages and
// extends the history in one commit. Activity tasks wait in named queues.
//
// # Rules for every method
//
//   - Fencing. An instance row holds Version, the ID of the last commit that changed
//     it. CommitTurn names the Version that the turn was computed from and a new ID of
//     its own. A turn lease is only a hint that saves work.
//   - Time. Only the storage's clock counts. Instants are [Time]: integer microseconds
//     UTC, as the storage reads them. Callers pass delays and lease lengths as durations.
//     A result has Now even if the call found nothing.
//   - Slices. A provider does not keep or change a request's slices after it returned.
//     If the caller cancelled the context, the provider may still read them. Result
//     slices belong to the caller.
//   - Payloads. A provider may return an empty payload as nil. In a request the two differ wherever a comment says what nil
//     does.
//   - Errors. Every error is, or wraps, a sentinel of this package or an [*Error]. An
//     *Error says whether nothing happened, it happened, or the outcome is unknown.
//   - Text. IDs, names and keys are valid UTF-8 without NUL, at most [MaxName] bytes,
//     compared byte by byte. Everything else is refused with [ErrInvalid].
//   - Concurrency. All methods are safe for concurrent use. Writes to one instance, task
//     or record apply one after the other. None undoes another.
//   - Handles. Several processes open one store, each with a handle of its own. Every call
//     sees what calls through any handle have stored before it. What a handle does not
//     know, it reads: it never takes it for nothing.
//   - Context. A call whose context is done before the storage takes it up changes
//     nothing and returns the context's error. After that, the outcome is unknown.
//   - Stale reads may only err towards Running: Terminal and Missing come from a read
//     that includes every acknowledged commit.
package provider
