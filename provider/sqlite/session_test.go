package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// addSessions makes an instance with a task of each session.
func addSessions(t *testing.T, p *Provider, sessions ...string) {
	t.Helper()
	in := create(t, p, "sessions", "x")
	req := provider.CommitTurnRequest{
		Key: in.Key, Execution: 1, Expected: in.Version, Commit: newToken(), Status: provider.StatusRunning,
	}
	for n, session := range sessions {
		req.Tasks = append(req.Tasks, provider.NewTask{EventID: int64(n + 1), Queue: "q", Name: "a", Session: session})
	}
	if _, err := p.CommitTurn(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// sessionFetch asks for a task of a session, for an owner that may hold many.
func sessionFetch(owner string, lease time.Duration) provider.FetchTasksRequest {
	return provider.FetchTasksRequest{
		Owner: owner, Token: newToken(), Lease: lease, Max: 1, Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"a"}}},
		Sessions: provider.SessionClaim{Max: 10, Lease: lease, Idle: lease},
	}
}

func countSessions(t *testing.T, p *Provider) (n int64) {
	t.Helper()
	err := p.read(t.Context(), "test", func(c *conn) (err error) {
		n, err = c.integer(t.Context(), `SELECT count(*) FROM perdure_session`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Sessions that are no longer held are removed. Held sessions stay.
func TestSessionsAreSwept(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	addSessions(t, p, "s1", "s2")
	for _, lease := range []time.Duration{time.Microsecond, time.Minute} {
		if res, err := p.FetchTasks(t.Context(), sessionFetch(lease.String(), lease)); err != nil || len(res.Tasks) != 1 {
			t.Fatal(res, err)
		}
	}
	if n := countSessions(t, p); n == 0 {
		t.Fatal("no session is stored")
	}
	p.store.janitor.sweep()
	if n := countSessions(t, p); n != 1 {
		t.Errorf("%d sessions are left, want the one that is held", n)
	}
}
