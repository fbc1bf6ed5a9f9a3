package sqlite

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/testkit/costs"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/workload"
)

// These are the writer's statements for each orchestration of five activities when many wait in the store, so that a node always finds more.
func TestCostsAtBacklog(t *testing.T) {
	longtest.Skip(t)
	const waiting = 1_000
	p := openTest(t, filepath.Join(t.TempDir(), "backlog.db"), Options{})
	n := count(t, p)
	const runs = 3 // groups differ from run to run, so the median counts
	var statements, queued []float64
	for range runs {
		b, err := workload.NewBacklog(t.Context(), p, waiting)
		if err != nil {
			t.Fatal(err)
		}
		before := n.Load()
		stats, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, float64(n.Load()-before)/waiting)
		queued = append(queued, float64(stats.TasksFetched)/waiting)
	}
	t.Logf("statements %.2f, tasks from the queue %.2f", statements, queued)
	slices.Sort(statements)
	slices.Sort(queued)
	costs.Check(t, "sqlite-backlog", []costs.Figure{
		{Name: "statements of an orchestration", Value: statements[runs/2], Slack: 0.1},
		{Name: "tasks of an orchestration from the queue, at least 1", Value: max(1, queued[runs/2])}, // of five; some go there on a busy machine
	})
}
