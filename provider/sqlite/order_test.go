package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// A release before migration 10 names the index that was replaced, and finds all in the new one.
func TestOlderStatementsFindTheirIndex(t *testing.T) {
	t.Parallel()
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	for _, sql := range []string{
		`SELECT key, execution, event_id, fetch_at FROM perdure_task INDEXED BY perdure_task_fetch
			WHERE kind = 1 AND fetch_at <= 9 AND (expire_at IS NULL OR expire_at > 9) ORDER BY fetch_at LIMIT 10`,
		`SELECT key, execution, event_id, fetch_at FROM perdure_task INDEXED BY perdure_task_fetch
			WHERE kind = 1 AND fetch_at <= 9 ORDER BY fetch_at`,
	} {
		var plan []string
		err := p.read(t.Context(), "test", func(c *conn) error {
			return c.each(t.Context(), `EXPLAIN QUERY PLAN `+sql, func(r *row) error {
				plan = append(plan, r.text(3))
				return nil
			})
		})
		text := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(text, "perdure_task_fetch (kind=? AND fetch_at<?)") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s\n%s, %v", sql, text, err)
		}
	}
}
