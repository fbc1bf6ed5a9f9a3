// Package resume copies a long table in one activity, which begins where its last attempt stopped. activity.Heartbeat stores how far it
// is, and activity.HeartbeatDetails tells the next attempt. WithHeartbeatTimeout ends an attempt that hangs.
package resume

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Table is copied in pages. Copy copies the page at a cursor and returns its number of rows and the cursor of the next page. The last page has
// no next one.
type Table struct {
	Page func(ctx context.Context, cursor string) (rows int, next string, err error)
}

// Progress is how far an attempt has come.
type Progress struct {
	Cursor string // of the next page
	Rows   int
}

// Copy returns the number of rows. A page is copied again if the attempt ends before its heartbeat is stored.
func (t *Table) Copy(ctx context.Context, _ activity.None) (int, error) {
	done, _, err := activity.HeartbeatDetails[Progress](ctx)
	if err != nil {
		return 0, err
	}
	for {
		rows, next, err := t.Page(ctx, done.Cursor)
		if err != nil {
			return 0, err
		}
		done = Progress{Cursor: next, Rows: done.Rows + rows}
		if next == "" {
			return done.Rows, nil
		}
		if err := activity.Heartbeat(ctx, done); err != nil {
			return 0, err // it was cancelled, took too long, or its node shuts down
		}
	}
}

// Migrate copies the table, in as many attempts as it takes.
func Migrate(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	var table *Table // never called here: it only names the activity
	return orchestration.CallActivity(ctx, table.Copy, activity.None{},
		orchestration.WithHeartbeatTimeout(5*time.Minute),
		orchestration.WithRetry(orchestration.RetryPolicy{}))
}
