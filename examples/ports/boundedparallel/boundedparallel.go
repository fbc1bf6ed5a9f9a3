// Package boundedparallel imports many files, a few at a time. orchestration.Map calls a function for each file and returns the results in the
// order of the files. The first file that fails ends the import of the others.
package boundedparallel

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// AtOnce is how many files are imported at a time.
const AtOnce = 5

// Import returns how many rows each file has.
func Import(ctx *orchestration.Context, files []string) ([]int, error) {
	return orchestration.Map(ctx, files, AtOnce, func(ctx *orchestration.Context, file string) (int, error) {
		table, err := orchestration.CallActivity(ctx, Upload, file, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
		if err != nil {
			return 0, fmt.Errorf("file %s: %w", file, err)
		}
		return orchestration.CallActivity(ctx, Check, table)
	})
}

// Upload writes the rows of a file into a table and returns the name of the table.
func Upload(ctx context.Context, file string) (string, error) {
	activity.Logger(ctx).InfoContext(ctx, "upload", "file", file)
	return "table_of_" + file, nil
}

// Check counts the rows of a table.
func Check(_ context.Context, table string) (int, error) { return len(table), nil }
