package operate

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/moving"
	"github.com/perdure/perdure/provider"
)

// Errors of Export and Import.
var (
	// ErrDamagedFile: the file of an import is cut off, was changed, or is no export. Nothing that it has runs here.
	ErrDamagedFile = moving.ErrDamaged
	// ErrNewerFile: a newer release wrote the file of an import.
	ErrNewerFile = moving.ErrNewer
	// ErrClockBehind: the clock of the store is behind that of the store that the instances come from.
	ErrClockBehind = provider.ErrClockBehind
	// ErrUnsound: an import found damage in what it had stored. Nothing of it runs here.
	ErrUnsound = moving.ErrUnsound
)

// MoveProgress is how far an export or import has come.
type MoveProgress struct {
	Step  string // "sealing", "writing", "reading", "checking" or "freeing"
	Done  int64  // instances
	Total int64  // 0: unknown
}

// ExportOptions are the settings of Export. An export without a Filter and IDs takes all instances, those of perdure itself included.
type ExportOptions struct {
	Filter *client.Filter // nil: all, unless IDs are given
	IDs    []string       // of further instances
	// Seal moves running instances, too: they stop here for good. Without it the export copies instances that have ended, and returns
	// client.ErrRunning if one has not.
	Seal bool
	// Again takes instances, too, that an earlier export has sealed. Give it after an export that was interrupted or whose file is lost, never if
	// the file was imported elsewhere.
	Again bool
	// Progress is called now and then on the caller's goroutine. nil: not.
	Progress func(MoveProgress)
}

// ExportResult says what an export has written.
type ExportResult struct {
	Transfer string `json:"transfer"`
	Moved    int64  `json:"moved"`  // instances that run only at the target from now on
	Copied   int64  `json:"copied"` // instances that had ended
	Bytes    int64  `json:"bytes"`
}

// Export writes instances to w, for Import into another store of any kind. With Seal, each instance stops first: it is suspended, its leases
// end, and nothing but Unseal, or ImportOptions.Back, lets it run here again. Attempts of activities in progress are repeated at the
// target. Senders to a sealed instance get client.ErrMoved. Parents and children move together. Instances that only send to each other do not.
//
// The file is documented in docs/how-to/move-to-another-store.md. An export that fails or is killed can be repeated with Again. The
// context may end it; client.Options.CallTimeout bounds each call of the storage.
//
// Errors: client.ErrRunning without Seal, ErrMoved without Again, client.ErrNotFound, client.ErrConflict if an instance was changed meanwhile by a
// release that knows no seals, errors.ErrUnsupported for a store without provider.Mover.
func (o *Operator) Export(ctx context.Context, w io.Writer, opts ExportOptions) (res ExportResult, err error) {
	const op = "exporting instances"
	if err := o.usable(ctx); err != nil {
		return res, fmt.Errorf("%s: %w", op, err)
	}
	if check.IsNil(w) {
		return res, fmt.Errorf("%s: %w: the writer is nil: give a file", op, client.ErrInvalid)
	}
	mover, ok := provider.As[provider.Mover](o.caller.Store.Provider)
	if !ok {
		return res, fmt.Errorf("%s: %w", op, provider.Lacking("export", "Mover"))
	}
	transfer := provider.UUID(uuid.New())
	a := &access.Act{Kind: string(client.ActExport), Op: op, Other: "instances", Detail: "transfer " + transfer.String()}
	err = o.caller.Perform(ctx, a, func(ctx context.Context) error {
		e := &exporting{caller: o.caller, mover: mover, opts: &opts, transfer: transfer, op: op, known: map[provider.UUID]*member{}}
		if err := e.collect(ctx); err != nil {
			return err
		}
		if err := e.close(ctx); err != nil {
			return err
		}
		if err := e.write(ctx, w); err != nil {
			return err
		}
		res = e.res
		res.Transfer = transfer.String()
		return nil
	})
	return res, err
}
