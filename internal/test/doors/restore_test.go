package doors_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider/sqlite"
)

func restoring() section {
	return section{
		title: "sqlite.Restore",
		intro: "The file at the path stays as it is. DIR stands for a directory.",
		rows: func(t *testing.T, _ *world) []row {
			dir := t.TempDir()
			hide := strings.NewReplacer(dir, "DIR")
			backup, used := filepath.Join(dir, "backup.db"), filepath.Join(dir, "orders.db")
			for _, path := range []string{backup, used} {
				store, err := sqlite.OpenWith(path, sqlite.Options{Logger: quiet()})
				if err != nil {
					t.Fatal(err)
				}
				if path == backup {
					err = store.Close()
				} else {
					t.Cleanup(func() { _ = store.Close() })
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			restore := func(from, to string, replace bool) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := sqlite.Restore(ctx, from, to, replace)
					if err == nil {
						return errors.New("restored all the same")
					}
					return &placed{err, hide}
				}
			}
			return []row{
				{"an empty path", restore(backup, "", false), providerInvalid, "restore: a path is empty: name the backup and the file that it becomes: invalid request", "Name both files."},
				{"a backup that is not there", restore(filepath.Join(dir, "none.db"), used, true), notExist, "restore: stat DIR/none.db: no such file or directory (nothing happened)", "Check the path."},
				{"the backup itself", restore(backup, backup, true), providerInvalid, "restore DIR/backup.db: it is the backup itself: name another file: invalid request", "Name the file that the services open."},
				{"a directory that does not exist", restore(backup, filepath.Join(dir, "none", "orders.db"), false), providerInvalid, "restore DIR/none/orders.db: the directory DIR/none must exist: invalid request", "Make the directory."},
				{"a store is there", restore(backup, used, false), providerInvalid, "restore DIR/orders.db: orders.db exists: invalid request: name a file that does not exist, or replace it", "Replace it, which keeps it under another name."},
				{"a store that is open", restore(backup, used, true), providerInvalid, "restore DIR/orders.db: it is in use: stop all processes that have it open: invalid request", "Stop the services first."},
			}
		},
	}
}
