// Package progress shows what an orchestration does to people, dashboards and other programs.
package progress

import (
	"context"

	"github.com/perdure/perdure/orchestration"
)

// Progress is the status of an Import.
type Progress struct {
	Done, Of int
}

// Batch is the input of an Import.
type Batch struct {
	Region string
	Files  []string
}

// Import loads files, and shows how far it is.
func Import(ctx *orchestration.Context, in Batch) (int, error) {
	orchestration.SetAttribute(ctx, "region", in.Region)
	orchestration.SetAttribute(ctx, "state", "loading")
	rows := 0
	for i, file := range in.Files {
		ctx.SetStatus(Progress{Done: i, Of: len(in.Files)})
		n, err := orchestration.CallActivity(ctx, Load, file)
		if err != nil {
			orchestration.SetAttribute(ctx, "state", "failed")
			return 0, err
		}
		rows += n
		orchestration.SetValue(ctx, "rows of "+file, n)
	}
	ctx.SetStatus(Progress{Done: len(in.Files), Of: len(in.Files)})
	orchestration.SetAttribute(ctx, "state", "loaded")
	return rows, nil
}

// Load loads a file and returns how many rows it has.
func Load(_ context.Context, file string) (int, error) {
	return len(file), nil
}
