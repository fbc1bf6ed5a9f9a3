package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

const fileKind = "application/octet-stream"

// exportFields are the fields of an export.
func exportFields() []field {
	return []field{
		{name: "ids", kind: aList, help: "IDs of instances."},
		{name: "filter", help: "As the query of the list of instances, such as status=Completed. Without it and ids: all instances."},
		{name: "seal", kind: aBool, help: "Move running instances, too: they stop here for good."},
		{name: "again", kind: aBool, help: "Also what an earlier export has sealed whose file is lost. Never if it was imported elsewhere."},
	}
}

// moveEndpoints are the routes that move instances and copy the store. Their files have all payloads.
func moveEndpoints() []route {
	post := func(pattern string, right client.Act, serve func(*call) error, e endpoint) route {
		return route{method: http.MethodPost, pattern: apiPath + pattern, right: right, serve: serve, api: &e}
	}
	return []route{
		get("/sealed", "List instances that are sealed, because they move.", reflect.TypeFor[list[client.Sealed]](), (*call).apiSealed),
		post("/export", client.ActExport, (*call).apiExportAll, endpoint{
			summary: "Export instances, for an import into another store. A transfer that breaks off can be repeated with again.",
			body:    exportFields(), writes: true,
		}),
		post("/import", client.ActImport, (*call).apiImport, endpoint{
			summary: "Import the file of an export. A transfer that breaks off can be repeated.", answers: reflect.TypeFor[operate.ImportResult](), reads: true,
			query: []field{{name: "back", kind: aBool, help: "The instances come back to the store that they were exported from. They must run in no other."}},
		}),
		post("/unseal", client.ActImport, (*call).apiUnseal, endpoint{
			summary: "Let instances run here again that exports have sealed. If a file of them was imported elsewhere, they run twice.",
			answers: reflect.TypeFor[counted](),
		}),
		post("/backup", client.ActBackup, (*call).apiBackup, endpoint{
			summary: "Copy the whole store into a file, for SQLite. The copy needs its space in the dashboard's temporary directory.", writes: true,
		}),
		post("/compact", client.ActPrune, (*call).apiCompact, endpoint{
			summary: "Give free space inside the store back to the disk, for SQLite.", answers: reflect.TypeFor[operate.Space](),
			body: []field{{name: "limit", kind: anInt, help: "Bytes. Default: 64 MiB."}},
		}),
	}
}

// showsAll refuses a file with all payloads to a dashboard that hides or redacts them.
func (c *call) showsAll(command string) error {
	if !c.texts || c.s.o.HidePayloads || c.s.o.Redact != nil {
		return refuse(http.StatusForbidden, "payloads", "the file has all payloads, and the dashboard hides or redacts them: use %s", command)
	}
	return nil
}

func (c *call) apiSealed() error {
	sealed, err := operate.New(c.client).Sealed(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(list[client.Sealed]{sealed})
}

func (c *call) apiUnseal() error {
	if _, err := readInput(c, nil); err != nil {
		return err
	}
	n, err := operate.New(c.client).Unseal(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(counted{n})
}

// download sends a file whose writing may fail before its first byte, which is an error as any other, or later, which breaks the transfer off.
type download struct {
	c     *call
	name  string
	begun bool
}

// Write implements io.Writer.
func (d *download) Write(p []byte) (int, error) {
	if !d.begun {
		d.begun = true
		h := d.c.w.Header()
		h.Set("Content-Type", fileKind)
		h.Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	}
	return d.c.w.Write(p) //nolint:wrapcheck // the client says what it writes
}

// end returns the error of what has written the file, or breaks the transfer off.
func (d *download) end(err error) error {
	if err == nil || !d.begun {
		return err
	}
	d.c.s.logger.WarnContext(d.c.r.Context(), "a download of the dashboard broke off", "file", d.name, "error", err)
	panic(http.ErrAbortHandler)
}

func (c *call) apiExportAll() error {
	if err := c.showsAll("perdure export"); err != nil {
		return err
	}
	in, err := readInput(c, exportFields())
	if err != nil {
		return err
	}
	o := operate.ExportOptions{IDs: in.list("ids"), Seal: in.bool("seal"), Again: in.bool("again")}
	if in["filter"] != "" {
		f, err := c.parseFilter(in["filter"])
		if err != nil {
			return err
		}
		o.Filter = &f
	}
	d := &download{c: c, name: "perdure-export.jsonl"}
	_, err = operate.New(c.client).Export(c.r.Context(), d, o)
	return d.end(err)
}

func (c *call) apiImport() error {
	if c.r.Header.Get("Content-Type") != fileKind {
		return refuse(http.StatusUnsupportedMediaType, "content-type", "the content type is %q: send the file as %s", c.r.Header.Get("Content-Type"), fileKind)
	}
	c.timeFile()
	done, err := operate.New(c.client).Import(c.r.Context(), c.r.Body, operate.ImportOptions{Back: c.flag("back")})
	if err != nil {
		return err
	}
	return c.answer(done)
}

// apiBackup copies the store into a temporary file and sends that.
func (c *call) apiBackup() (err error) {
	if err := c.showsAll("perdure backup"); err != nil {
		return err
	}
	if _, err := readInput(c, nil); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "perdure-backup-")
	if err != nil {
		return err //nolint:wrapcheck // it names the directory
	}
	d := &download{c: c, name: "perdure-backup.db"}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, d.name)
	if err := operate.New(c.client).Backup(c.r.Context(), path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer file.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(d, file)
	return d.end(err)
}

// compactLimit is how much space a request gives back unless it says another: it bounds how long it takes.
const compactLimit = 64 << 20

func (c *call) apiCompact() error {
	in, err := readInput(c, []field{{name: "limit", kind: anInt}})
	if err != nil {
		return err
	}
	limit := in.int("limit")
	if limit == 0 {
		limit = compactLimit
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), longPoll)
	defer cancel()
	space, err := operate.New(c.client).Compact(ctx, operate.Compaction{Limit: limit})
	if err != nil {
		return err
	}
	return c.answer(space)
}
