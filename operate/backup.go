package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Backup writes a copy of the whole store to a new file at path, while nodes use the store. The copy is the store at one moment of
// the call, is durable when the call returns, and is opened like any other store. See
// docs/how-to/back-up-and-restore.md for the work that a restored store repeats. The context bounds the call.
//
// The error wraps errors.ErrUnsupported for a store without provider.Backuper: back up a Postgres database with the tools of Postgres.
func (o *Operator) Backup(ctx context.Context, path string) error {
	const op = "backing up the store"
	if err := o.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if path == "" {
		return fmt.Errorf("%s: %w: the path is empty: name a file that does not exist", op, client.ErrInvalid)
	}
	b, ok := provider.As[provider.Backuper](o.caller.Store.Provider)
	if !ok {
		return fmt.Errorf("%s: %w; for Postgres use pg_dump of its schema, or archive its log for recovery to a point in time",
			op, provider.Lacking("backup", "Backuper"))
	}
	return o.caller.Perform(ctx, &access.Act{Kind: string(client.ActBackup), Op: op, Other: "store", Detail: path}, func(ctx context.Context) error {
		err := b.Backup(ctx, path)
		if err != nil && !errors.Is(err, ctx.Err()) {
			return fmt.Errorf("%s: %w", op, err)
		}
		return err
	})
}
