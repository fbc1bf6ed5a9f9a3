package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// backedUp is the output of backup.
type backedUp struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func newBackup(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a SQLite database to a new file while workers use it",
		Long: "Backup writes a copy of the database to the new file FILE. Workers go on meanwhile. The copy is a database of its\n" +
			"own, which restore puts in place of the lost one. For Postgres use pg_dump, or archive its log.",
		Example: "  perdure backup orders-backup.db --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := operate.New(c).Backup(ctx, args[0]); err != nil {
					return err
				}
				info, err := os.Stat(args[0])
				if err != nil {
					return fmt.Errorf("backup: %w", err)
				}
				out := backedUp{File: args[0], Bytes: info.Size()}
				return a.show(cmd, out, func(w *grid) {
					fmt.Fprintf(w, "copied %s to %s\n", amount.Of(out.Bytes, "byte"), plain(out.File))
				})
			})
		},
	}
}

// restored is the output of restore.
type restored struct {
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Replaced string `json:"replaced,omitempty"`
}

func newRestore(a *app) *cobra.Command {
	replace := false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup of a SQLite database in the place of --db",
		Long: "Restore checks the backup FILE and copies it to the path of --db, which no process may have open. With --replace it first\n" +
			"renames the database that is there. The store goes on from the moment of the backup: it does not know what happened since,\n" +
			"so activities that ended since run again. For Postgres use the tools of Postgres.",
		Example: "  perdure restore orders-backup.db --db orders.db\n  perdure restore orders-backup.db --db orders.db --replace",
		Args:    arguments,
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "rename the database that is there, and its log")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		db, err := a.database()
		if err != nil {
			return err
		}
		to, ok := db.(file)
		switch {
		case a.readOnly:
			return badUsage("a backup cannot be restored with --read-only")
		case !ok:
			return badUsage("restore writes a SQLite file: name one with --db; restore a Postgres database by pg_restore or psql")
		}
		if replace {
			if err := a.confirm(cmd, *yes, fmt.Sprintf("replace %s by %s; what happened since that backup is forgotten", to, args[0])); err != nil {
				return err
			}
		}
		r, err := sqlite.Restore(cmd.Context(), args[0], string(to), replace)
		if err != nil {
			if errors.Is(err, provider.ErrNotStore) || errors.Is(err, provider.ErrNewerSchema) || errors.Is(err, fs.ErrNotExist) {
				return &storeError{err}
			}
			return err
		}
		out := restored{File: string(to), Bytes: r.Bytes, Replaced: r.Replaced}
		return a.show(cmd, out, func(w *grid) {
			fmt.Fprintf(w, "restored %s to %s\n", amount.Of(out.Bytes, "byte"), plain(out.File))
			if out.Replaced != "" {
				fmt.Fprintf(w, "the database before is %s\n", plain(out.Replaced))
			}
		})
	}
	return cmd
}
