// Package failure turns Go errors into stored failures and back.
//
// An error crosses from activity to orchestration, from child to parent and from instance to client as a
// history.Failure. That is a tree of messages, type names and details. On the other side it is an *Error. Sentinels
// and types that were added to a Set work with errors.Is and errors.As there, also in another process; messages
// should never be compared.
//
// The errors of the engine itself are the sentinels of this package. Each has a stored code. Only an error that is or
// wraps one of them counts as the engine's. In user code, context.Canceled is an ordinary error and remains one; it
// is no cancellation.
//
// The package decides nothing: callers decide whether to retry and how an execution ends.
package failure
