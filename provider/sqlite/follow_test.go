package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// A call that follows an instance sees what another process writes, also what leaves the version as it is.
func TestFollowersSeeOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	in := create(t, p, "one", "x")
	execSQL(t, path, `INSERT INTO perdure_task_kind VALUES (1, 'q', 'act', 50)`)
	for _, c := range []struct {
		sql string
		req provider.GetRequest
	}{
		{`UPDATE perdure_instance SET deliveries = deliveries + 1`, provider.GetRequest{WithMark: true}},
		{
			`INSERT INTO perdure_task (key, execution, event_id, kind, state, scheduled_at, not_before_at) SELECT key, 1, 1, 1, 1, 0, 0 FROM perdure_instance`,
			provider.GetRequest{WithMark: true, WithTasks: true},
		},
		{`UPDATE perdure_task SET details = x'00', lease_until = 7`, provider.GetRequest{WithMark: true, WithTasks: true}},
		{`INSERT INTO perdure_value SELECT key, 'v', x'00' FROM perdure_instance`, provider.GetRequest{WaitValue: true, Value: "v"}},
	} {
		req := c.req
		req.Key = in.Key
		before, err := p.Get(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if req.WithMark {
			req.Mark = before.Mark
		}
		req.Wait = 20 * time.Second
		changed := make(chan time.Time, 1)
		go func() {
			<-time.After(600 * time.Millisecond) // the first poll is over
			execSQL(t, path, c.sql)
			changed <- time.Now()
		}()
		after, err := p.Get(t.Context(), req)
		if err != nil || !req.Ends(&after) {
			t.Fatalf("%s: %+v, %v", c.sql, after, err)
		}
		if late := time.Since(<-changed); late > 7*time.Second { // half of the slow recheck
			t.Errorf("%s is seen after %v", c.sql, late)
		}
	}
}
