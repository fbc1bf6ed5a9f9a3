package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

// exported is the output of history --export.
type exported struct {
	ID        string `json:"id"`
	Execution int64  `json:"execution"`
	Events    int    `json:"events"`
	File      string `json:"file"`
}

func (a *app) exportHistory(ctx context.Context, cmd *cobra.Command, of client.Handle[json.RawMessage], f *historyFlags) error {
	h, err := of.ExportHistory(ctx, f.historyRange.Execution)
	if err == nil {
		h, err = redact(ctx, h, f.redact)
	}
	if err != nil {
		return err
	}
	if err := writeFile(f.export, func(w io.Writer) error { return client.WriteHistory(w, h) }); err != nil {
		return fmt.Errorf("exporting the history of %q: %w", of.ID(), err)
	}
	out := exported{ID: h.InstanceID, Execution: h.Execution, Events: len(h.Events), File: f.export}
	return a.show(cmd, out, func(w *grid) {
		row(w, fmt.Sprintf("%s of %s, execution %d, written to %s", amount.Of(out.Events, "event"), out.ID, out.Execution, out.File))
	})
}

// writeFile replaces a file by what write writes, or leaves it as it is.
func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // only its owner may read it
	if err != nil {
		return err
	}
	text := bufio.NewWriter(f)
	err = write(text)
	if err == nil {
		err = text.Flush()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
