package resume_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/examples/ports/resume"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// The second page hangs in the first attempt and fails in the second one.
func TestCopyGoesOnWhereItStopped(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		var cursors []string
		next := map[string]string{"": "b", "b": "c", "c": ""}
		table := &resume.Table{Page: func(ctx context.Context, cursor string) (int, string, error) {
			cursors = append(cursors, cursor)
			switch attempt := activity.GetInfo(ctx).Attempt; {
			case cursor == "b" && attempt == 1:
				<-ctx.Done()
				return 0, "", context.Cause(ctx)
			case cursor == "b" && attempt == 2:
				return 0, "", errors.New("the database restarts")
			}
			return 100, next[cursor], nil
		}}
		orchestrationtest.AddActivity(e, table.Copy)
		rows, err := orchestrationtest.Start(e, resume.Migrate, orchestration.None{}).Wait(e.Context())
		if want := []string{"", "b", "b", "b", "c"}; rows != 300 || err != nil || !slices.Equal(cursors, want) {
			t.Errorf("%d rows, %v; it copied the pages %q, want %q", rows, err, cursors, want)
		}
	})
}
