package client

import (
	"errors"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/provider"
)

// Sentinels of the client. Compare with errors.Is. Those that package orchestration has under the same name are the same values: an
// activity that returns one of them keeps it across the store.
var (
	// ErrNotFound: there is no instance of that ID or key, or it was deleted.
	ErrNotFound = provider.ErrNotFound
	// ErrMoved: the instance is sealed, because it moves to another store or has moved there. Use the other store. It is ErrNotFound, too.
	ErrMoved = provider.ErrMoved
	// ErrExists: the instance ID is in use; errors.As finds an *ExistsError that names the instance.
	ErrExists = provider.ErrExists
	// ErrEnded: the instance that the call names has ended and accepts nothing any more. It is not activity.ErrOrchestrationEnded, which
	// tells an activity about its own orchestration.
	ErrEnded = provider.ErrEnded
	// ErrRunning: the instance, or one below it, is running, and the call wants an ended one. Nothing was stored.
	ErrRunning = provider.ErrRunning
	// ErrInvalid: an argument or option is not allowed. Nothing was stored. A value that cannot be encoded is orchestration.ErrPayload, too.
	ErrInvalid = provider.ErrInvalid
	// ErrTooLarge: a payload or another argument is over its limit. Nothing was stored.
	ErrTooLarge = provider.ErrTooLarge
	// ErrConflict: the act names what its caller has seen, and that has changed since. Nothing was stored. Look again, and then decide.
	ErrConflict = provider.ErrConflict
	// ErrInboxFull: too many messages wait for the instance. Nothing was stored.
	ErrInboxFull = provider.ErrInboxFull
	// ErrForeignTx: a transaction that the caller began is not one on the store's database.
	ErrForeignTx = provider.ErrForeignTx
	// ErrClosed: the store was closed.
	ErrClosed = provider.ErrClosed
	// ErrOverloaded: more work waits in the store than Options.MaxBacklog allows. Nothing was stored. The error is an *OverloadedError.
	ErrOverloaded = errors.New("too much work waits in the store")
	// ErrOutcomeUnknown: the storage failed or the time was over, and the request
	// may have been stored all the same.
	ErrOutcomeUnknown = failure.ErrOutcomeUnknown
	// ErrFailed: Wait found that the instance ended without an output: it failed, was
	// cancelled or was terminated. The error wraps the cause.
	ErrFailed = errors.New("instance ended without an output")
	// ErrBlocked: Wait with OrBlocked found the instance blocked. The error is a *BlockedError.
	ErrBlocked = errors.New("instance is blocked")
)

// ExistsError names the instance that holds an ID. It is ErrExists.
type ExistsError = provider.ExistsError
