package doors_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
)

// moving has the doors of exports, imports and backups.
func moving() section {
	damaged, newer := kind{"operate.ErrDamagedFile", operate.ErrDamagedFile}, kind{"operate.ErrNewerFile", operate.ErrNewerFile}
	running := kind{"client.ErrRunning", client.ErrRunning}
	return section{
		title: "Export, Import and Backup",
		intro: "Nothing is stored, and nothing is sealed. Instance `open` is running.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			export := func(w io.Writer, opts operate.ExportOptions) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := operate.New(c).Export(ctx, w, opts)
					return err
				}
			}
			imports := func(r io.Reader) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := operate.New(c).Import(ctx, r, operate.ImportOptions{})
					return err
				}
			}
			backup := func(path string) func(context.Context) error {
				return func(ctx context.Context) error { return operate.New(c).Backup(ctx, path) }
			}
			return []row{
				{"`Export` to a nil writer", export(nil, operate.ExportOptions{}), clientInvalid, `exporting instances: invalid request: the writer is nil: give a file`, ""},
				{"`Export` of an unknown ID", export(io.Discard, operate.ExportOptions{IDs: []string{"nobody"}}), clientNotFound, `exporting instances: not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check the ID."},
				{"`Export` of a running instance without `Seal`", export(io.Discard, operate.ExportOptions{IDs: []string{"open"}}), running, `exporting instances: instance "open": instance is running: seal it, so that it moves and does not run twice`, ""},
				{"`Export` with a bad filter", export(io.Discard, operate.ExportOptions{Filter: &client.Filter{Statuses: []client.Status{"Gone"}}}), clientInvalid, `exporting instances: invalid request: status "Gone" is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated`, ""},
				{"`Import` from a nil reader", imports(nil), clientInvalid, `importing instances: invalid request: the reader is nil: give a file of Export`, ""},
				{"`Import` of an empty file", imports(strings.NewReader("")), damaged, `importing instances: the file is damaged: line 1: the file ends before its last line`, "Take the whole file, or export again."},
				{"`Import` of another file", imports(strings.NewReader("{}\n")), damaged, `importing instances: the file is damaged: line 1: it does not begin with the header of an export`, "Take a file of `Export`."},
				{"`Import` of a file of a newer release", imports(strings.NewReader(`{"header":{"perdure":"export","format":3}}` + "\n")), newer, `importing instances: the file has a newer format: 3; this release reads up to 2: import it with a newer release`, ""},
				{"`Backup` without a path", backup(""), clientInvalid, `backing up the store: invalid request: the path is empty: name a file that does not exist`, ""},
			}
		},
	}
}
