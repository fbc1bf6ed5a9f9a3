package access

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/provider"
)

// Explain adds to an error of the storage the call that failed and how to mend it. status is that
// of the instance. It is 0 if unknown.
func Explain(op string, status provider.Status, err error) error {
	switch {
	case errors.Is(err, provider.ErrMoved):
		return fmt.Errorf("%s: %w: use the store that it moves to, or bring it back with Import", op, provider.ErrMoved)
	case errors.Is(err, provider.ErrNotFound):
		return fmt.Errorf("%s: %w: it never existed or was deleted; check the ID, and that this is the right store", op, provider.ErrNotFound)
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
	if e, ok := errors.AsType[*provider.ExistsError](err); ok && e.Status.Ended() {
		return "replace it with client.ReplaceEnded, or take it with client.UseExisting"
	}
	return "take it with client.UseExisting"
}

// Doubt adds to the error of a doubtful write how to make sure of it. The doubt is the outermost error, see client.Code: whatever the last
// try met, one before it may have been stored.
func Doubt(err error, doubtful bool, again string) error {
	if err == nil || !doubtful {
		return err
	}
	return fmt.Errorf("%[2]w; %[1]w: %[3]s", failure.ErrOutcomeUnknown, err, again) // the first argument is the outermost
}
