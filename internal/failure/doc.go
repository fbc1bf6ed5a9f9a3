// Package failure turns Go errors into stored failures and back.
//
// An error crosses from activity to orchestration, from child to parent and from
// instance to client as a history.Failure: message, type name, details and causes, as a
// tree. On the other side it is an *Error. Sentinels and types that were added to a Set
// work with errors.Is and errors.As there, also in another process; messages should
// never be compared.
//
// The errors of the engine itself are the sentinels of this package. Each has a code
// that is stored, and only an error that is or wraps such a sentinel is ever taken for
// the engine's: context.Canceled in user code is an ordinary error and comes back as
// one, not as a cancellation.
//
// The package decides nothing: whether to retry, or how an execution ends, is up to
// those who call it.
package failure
