package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// addSessions creates an instance with a task of each session.
func addSessions(t *testing.T, p *Provider, sessions ...string) {
	t.Helper()
	in := create(t, p, unique().String())
	req := provider.CommitTurnRequest{
		Key: in.Key, Execution: 1, Expected: in.Version, Commit: unique(), Status: provider.StatusRunning,
	}
	for n, session := range sessions {
		req.Tasks = append(req.Tasks, provider.NewTask{EventID: int64(n + 1), Queue: "q", Name: "a", Session: session})
	}
	if _, err := p.CommitTurn(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// sessionFetch requests a task of a session, for an owner that may hold many.
func sessionFetch(owner string, lease time.Duration) provider.FetchTasksRequest {
	return provider.FetchTasksRequest{
		Owner: owner, Token: unique(), Lease: lease, Max: 1, Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"a"}}},
		Sessions: provider.SessionClaim{Max: 10, Lease: lease, Idle: lease},
	}
}

// Sessions that nobody holds are removed, and held ones are not.
func TestSessionsAreSwept(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	p := opened(t, url, Options{Schema: postgrestest.Schema(t, url)})
	addSessions(t, p, "s1", "s2")
	for _, lease := range []time.Duration{time.Microsecond, time.Minute} {
		if res, err := p.FetchTasks(t.Context(), sessionFetch(lease.String(), lease)); err != nil || len(res.Tasks) != 1 {
			t.Fatal(res, err)
		}
	}
	if n := number(t, p, `SELECT count(*) FROM perdure.session`); n == 0 {
		t.Fatal("no session is stored")
	}
	p.janitor.sweep()
	if n := number(t, p, `SELECT count(*) FROM perdure.session`); n != 1 {
		t.Errorf("%d sessions are left, want the one that is held", n)
	}
}

// A fetch that waits for a place in a queue learns at once of one that another process frees.
func TestPlacesAreFreedAcrossProcesses(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	p, other := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
	listening(t, other)
	inSomeRound(t, func() error {
		addSessions(t, p, "", "")
		req := sessionFetch("a", time.Minute)
		req.Sessions, req.Queues[0].MaxLeased = provider.SessionClaim{}, 1
		first, err := p.FetchTasks(t.Context(), req)
		if err != nil || len(first.Tasks) != 1 {
			t.Fatal(first, err)
		}
		waits := req
		waits.Owner, waits.Token, waits.Wait = "b", unique(), 30*time.Second
		var second provider.FetchTasksResult
		got := make(chan time.Time, 1)
		go func() {
			defer close(got)
			if second, err = other.FetchTasks(t.Context(), waits); err == nil && len(second.Tasks) == 1 {
				got <- time.Now()
			}
		}()
		awaitWaiting(t, other)
		begin := time.Now()
		parkTask(t, p, req.Token, first.Tasks[0].TaskRef)
		at, ok := <-got
		if !ok {
			t.Fatal("nothing came", err)
		}
		parkTask(t, other, waits.Token, second.Tasks[0].TaskRef) // the next round needs the place
		if d := at.Sub(begin); d > time.Second {                 // a lost notification costs nearly four
			return fmt.Errorf("the place was had after %v", d)
		}
		return nil
	})
}

// parkTask parks a fetched task, which frees its place in the queue.
func parkTask(t *testing.T, p *Provider, fetch provider.UUID, ref provider.TaskRef) {
	t.Helper()
	item := provider.TaskReport{TaskRef: ref, Token: provider.TaskToken(fetch, ref), Attempt: 1, Outcome: provider.TaskPark}
	res, err := p.ReportTasks(t.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
	if err != nil || res.Items[0].Err != nil {
		t.Fatal(res, err)
	}
}
