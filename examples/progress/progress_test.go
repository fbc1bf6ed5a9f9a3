package progress_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/progress"
	"github.com/perdure/perdure/orchestrationtest"
)

// batch is an import of two files.
func batch() progress.Batch { return progress.Batch{Region: "eu", Files: []string{"a.csv", "bb.csv"}} }

// look returns how far an import is, and the rows of a file.
func look(ctx context.Context, h client.Handle[int]) (p progress.Progress, rows int, err error) {
	// Both read what the last stored turn has set, while the orchestration runs and after its end.
	p, err = client.StatusOf[progress.Progress](ctx, h)
	if err == nil {
		rows, err = client.Value[int](ctx, h, "rows of bb.csv")
	}
	return p, rows, err
}

// customers returns by ID for whom imports have run.
func customers(ctx context.Context, c *client.Client) (map[string]any, error) {
	all := map[string]any{}
	// All imports of two regions that are not loading any more.
	filter := client.Filter{Orchestration: "Import", Attributes: []client.AttributeFilter{
		client.AttributeIs("region", "eu", "us"), client.AttributeIs("state", "loaded", "failed"),
	}}
	for d, err := range c.All(ctx, filter) {
		if err != nil {
			return nil, err
		}
		all[d.ID] = d.Attributes["customer"]
	}
	return all, nil
}

func TestProgress(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		ctx := e.Context()
		orchestrationtest.Replace(e, progress.Load, progress.Load, orchestrationtest.Delay(time.Hour))
		h := orchestrationtest.Start(e, progress.Import, batch(), client.WithID("import-7"), client.WithAttribute("customer", "acme"))
		e.Sleep(90 * time.Minute)
		if p, _, err := look(ctx, h.Handle); p != (progress.Progress{Done: 1, Of: 2}) || !errors.Is(err, client.ErrNotSet) {
			t.Errorf("halfway: %+v, %v", p, err)
		}
		if found, err := customers(ctx, e.Client()); len(found) != 0 || err != nil {
			t.Errorf("halfway: %v, %v", found, err)
		}
		if _, err := h.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if p, rows, err := look(ctx, h.Handle); p != (progress.Progress{Done: 2, Of: 2}) || rows != 6 || err != nil {
			t.Errorf("%+v, %d rows, %v", p, rows, err)
		}
		if found, err := customers(ctx, e.Client()); !maps.Equal(found, map[string]any{"import-7": "acme"}) || err != nil {
			t.Errorf("%v, %v", found, err)
		}
	})
}
