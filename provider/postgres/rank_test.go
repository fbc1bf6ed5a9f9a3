package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// commitTasks stores tasks of a new instance.
func commitTasks(t *testing.T, p *Provider, tasks ...provider.NewTask) provider.Instance {
	t.Helper()
	in := create(t, p, unique().String())
	req := turn(&in, 1)
	req.Tasks = tasks
	commit(t, p, req)
	return in
}

// fetchedTasks returns the payloads of the tasks that can be fetched, in order.
func fetchedTasks(t *testing.T, p *Provider) string {
	t.Helper()
	res, err := p.FetchTasks(t.Context(), tasksRequest())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range res.Tasks {
		names = append(names, string(task.Payload))
	}
	return strings.Join(names, " ")
}

func TestWhatWaitedLongGoesBeforeHigherPriorities(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	task := func(priority int, payload string) provider.NewTask {
		return provider.NewTask{EventID: 1, Queue: "q", Name: "act", Priority: priority, Payload: []byte(payload)}
	}
	old := commitTasks(t, p, task(provider.PriorityLowest, "waited"))
	commitTasks(t, p, task(provider.PriorityLowest, "idle"))
	commitTasks(t, p, task(provider.PriorityHighest, "urgent"))
	age := time.Duration(provider.PriorityLowest-provider.PriorityHighest)*provider.PriorityStep + time.Minute
	exec(t, p, `UPDATE perdure.task SET not_before_at = not_before_at - $1, fetch_at = fetch_at - $1 WHERE key = $2`, age.Microseconds(), uuid(old.Key))
	if got := fetchedTasks(t, p); got != "waited urgent idle" {
		t.Errorf("fetched %q", got)
	}
}

// A release that knows no ranks leases tasks, and delays them, as if they had none.
func TestOlderReleaseLeasesTasksWithRanks(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	task := func(event int64, payload string) provider.NewTask {
		return provider.NewTask{EventID: event, Queue: "q", Name: "act", FairnessKey: "a", Payload: []byte(payload)}
	}
	in := commitTasks(t, p, task(1, "one"), task(2, "two"))
	exec(t, p, `UPDATE perdure.task SET state = 2, token = $1, owner = 'old', lease_until = 9000000000000000, fetch_at = 9000000000000000,
		deliveries = 1 WHERE key = $2 AND event_id = 2`, uuid(unique()), uuid(in.Key))
	if got := fetchedTasks(t, p); got != "one" {
		t.Errorf("fetched %q, want the one that the other release left", got)
	}
	const putOff = `UPDATE perdure.task SET state = 1, token = NULL, owner = '', lease_until = 0, not_before_at = $1, fetch_at = $1
		WHERE key = $2 AND event_id = 2`
	exec(t, p, putOff, int64(9000000000000000), uuid(in.Key))
	if got := fetchedTasks(t, p); got != "" {
		t.Errorf("fetched %q, which is put off", got)
	}
	exec(t, p, putOff, int64(1), uuid(in.Key))
	if got := fetchedTasks(t, p); got != "two" {
		t.Errorf("fetched %q", got)
	}
}

// Calls of one group get successive ranks, too. A refused call gets none.
func TestTurnsInAGroup(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	commitTasks(t, p, provider.NewTask{EventID: 1, Queue: "q", Name: "act", FairnessKey: "a", Payload: []byte("a0")})
	member := func(names ...string) *relational.Member {
		in := create(t, p, unique().String())
		req := turn(&in, 1)
		for n, name := range names {
			event := int64(n + 1)
			if name == "twice" {
				event = 1
			}
			req.Tasks = append(req.Tasks, provider.NewTask{EventID: event, Queue: "q", Name: "act", FairnessKey: name[:1], Payload: []byte(name)})
		}
		return memberCommit(req)
	}
	errs := grouped(p, member("a1"), member("a2", "twice"), member("a3"), member("b1", "b2", "b3"))
	wantErrors(t, errs, nil, provider.ErrInvalid, nil, nil)
	if got := fetchedTasks(t, p); got != "a0 b1 a1 b2 a3 b3" {
		t.Errorf("fetched %q", got)
	}
}
