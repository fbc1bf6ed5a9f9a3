package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

const (
	maxSampled = 10_000 // histories of one file
	looked     = 10_000 // instances among which history --sample chooses
)

// sampled is the output of history --sample.
type sampled struct {
	Histories int    `json:"histories"`
	Events    int    `json:"events"`
	File      string `json:"file"`
}

// exportSample writes histories of different instances to one file. It leaves out an instance that is deleted meanwhile.
func (a *app) exportSample(ctx context.Context, cmd *cobra.Command, c *client.Client, f *historyFlags) error {
	list, err := listUpTo(ctx, c, &selection{filter: client.Filter{Orchestration: f.name}}, "", looked, func(int) {})
	if err != nil {
		return err
	}
	out, p := sampled{File: f.export}, a.newProgress(cmd, "history")
	err = writeFile(f.export, func(w io.Writer) error {
		for _, d := range diverse(list.Instances, f.sample) {
			h, err := client.HandleOf[json.RawMessage](c, "", d.Key).ExportHistory(ctx, 0)
			if errors.Is(err, client.ErrNotFound) {
				continue
			}
			if err == nil {
				h, err = redact(ctx, h, f.redact)
			}
			if err == nil {
				err = client.WriteHistory(w, h)
			}
			if err != nil {
				return err
			}
			out.Histories, out.Events = out.Histories+1, out.Events+len(h.Events)
			p.set(int64(out.Histories), int64(f.sample))
		}
		if out.Histories == 0 {
			return fmt.Errorf("%w: no instance matches", client.ErrNotFound)
		}
		return nil
	})
	p.end()
	if err != nil {
		return fmt.Errorf("exporting histories: %w", err)
	}
	return a.show(cmd, out, func(w *grid) {
		row(w, fmt.Sprintf("%s with %s written to %s", amount.Of(out.Histories, "history"), amount.Of(out.Events, "event"), out.File))
	})
}

// diverse returns up to n instances, in turn of each orchestration, version and status, and of those that are blocked or continued.
func diverse(all []client.Description, n int) (out []client.Description) {
	type kind struct {
		name, version      string
		status             client.Status
		blocked, continued bool
	}
	var order []kind
	of := make(map[kind][]client.Description)
	for i := range all {
		d := &all[i]
		k := kind{d.Orchestration, d.CodeVersion, d.Status, d.Blocked != nil, d.Execution > 1}
		if len(of[k]) == 0 {
			order = append(order, k)
		}
		of[k] = append(of[k], *d)
	}
	for round := 0; len(out) < min(n, len(all)); round++ {
		for _, k := range order {
			if round < len(of[k]) && len(out) < n {
				out = append(out, of[k][round])
			}
		}
	}
	return out
}
