package client

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/provider"
)

// Sentinels of the client. Compare with errors.Is. Those that package orchestration has under the same name are the same values: an
// activity that returns one of them keeps it across the store.
var (
	// ErrNotFound: there is no instance of that ID or key, or it was deleted.
	ErrNotFound = provider.ErrNotFound
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

// explain adds to an error of the storage the call that failed and how to mend it. status is that
// of the instance. It is 0 if unknown.
func explain(op string, status provider.Status, err error) error {
	switch {
	case errors.Is(err, provider.ErrMoved):
		return fmt.Errorf("%s: %w: use the store that it moves to, or bring it back with Import", op, ErrMoved)
	case errors.Is(err, provider.ErrNotFound):
		return fmt.Errorf("%s: %w: it never existed or was deleted; check the ID, and that this is the right store", op, ErrNotFound)
	case errors.Is(err, provider.ErrEnded) && status.Ended():
		return fmt.Errorf("%s: %w (%s): start a new one or use another ID", op, err, status)
	case errors.Is(err, provider.ErrEnded):
		return fmt.Errorf("%s: %w: start a new one or use another ID", op, err)
	case errors.Is(err, provider.ErrExists):
		return fmt.Errorf("%s: %w: use another ID, or %s", op, err, otherPolicy(err))
	case errors.Is(err, provider.ErrInboxFull):
		return fmt.Errorf("%s: %w: try again when the instance has taken its messages; check that a node runs its code", op, err)
	case errors.Is(err, provider.ErrForeignTx):
		return fmt.Errorf("%s: %w: begin it on the database that the store was opened with, and pass it through InTx of that store's package", op, err)
	case errors.Is(err, provider.ErrClosed):
		return fmt.Errorf("%s: %w: open the store again and make a client of it", op, err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}

// otherPolicy names the ID policies that would accept the existing instance.
func otherPolicy(err error) string {
	if e, ok := errors.AsType[*ExistsError](err); ok && e.Status.Ended() {
		return "replace it with client.ReplaceEnded, or take it with client.UseExisting"
	}
	return "take it with client.UseExisting"
}

// doubt adds to the error of a doubtful write how to make sure of it.
func doubt(err error, doubtful bool, again string) error {
	if err == nil || !doubtful {
		return err
	}
	return fmt.Errorf("%w; %w: %s", err, ErrOutcomeUnknown, again)
}
