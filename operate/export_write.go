package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/moving"
	"github.com/perdure/perdure/provider"
)

// countingWriter counts what is written.
type countingWriter struct {
	io.Writer

	n int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.n += int64(n)
	return n, err //nolint:wrapcheck // the caller's own writer
}

// write writes the file.
func (e *exporting) write(ctx context.Context, to io.Writer) error {
	count := &countingWriter{Writer: to}
	w := moving.NewWriter(count)
	if err := w.Begin(moving.Header{Transfer: e.transfer, Sealed: e.opts.Seal}); err != nil {
		return fmt.Errorf("%s: %w", e.op, err)
	}
	for n, m := range e.list {
		e.reportProgress("writing", n, len(e.list))
		switch err := e.carry(ctx, w, m); {
		case errors.Is(err, provider.ErrNotFound) && m.ended: // it was removed meanwhile
		case err != nil:
			return fmt.Errorf("%s: instance %q: %w", e.op, m.id, err)
		case m.ended:
			e.res.Copied++
		default:
			e.res.Moved++
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", e.op, err)
	}
	e.res.Bytes = count.n
	return nil
}

// carry writes the pages of one instance. An ended one may change, by a reset; then the file cannot be finished.
func (e *exporting) carry(ctx context.Context, w *moving.Writer, m *member) error {
	req := provider.ExportRequest{Key: m.key}
	if !m.ended {
		req.Transfer = e.transfer
	}
	var version provider.UUID
	for number := 0; ; number++ {
		page, err := access.Read(ctx, e.caller.Store, e.op, e.mover.Export, req)
		if err != nil {
			return err
		}
		if number > 0 && page.Version != version {
			return fmt.Errorf("%w: it was changed during the export: repeat the export", client.ErrConflict)
		}
		version, req.Cursor = page.Version, page.Cursor
		err = w.Page(moving.Page{
			ID: m.id, Key: m.key, Number: number, Last: page.Cursor == "", At: page.Now, View: viewOf(&page.Parcel), Parcel: page.Parcel,
		})
		if err != nil || page.Cursor == "" {
			return err
		}
	}
}

// viewOf describes the events of a page for people who read the file.
func viewOf(p *provider.Parcel) (view []string) {
	for i := range p.History {
		run := &p.History[i]
		for n, data := range run.Events {
			text := "not readable by this release"
			if event, _, err := history.DecodeShown(run.First+int64(n), data); err == nil {
				text = event.Body.Kind().String()
			}
			view = append(view, fmt.Sprintf("execution %d, event %d: %s", run.Execution, run.First+int64(n), text))
		}
	}
	return view
}
