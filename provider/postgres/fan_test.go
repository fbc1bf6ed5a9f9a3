package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// TestNoPlanReadsTheFanForEachRow plans the statements that change many rows while their tables are empty. Then it
// counts what they read when the instance has thousands of each. A plan that finds a row by its instance alone reads
// all of these for each changed row.
func TestNoPlanReadsTheFanForEachRow(t *testing.T) {
	longtest.Skip(t)
	p := plansOnce(t)
	for _, table := range []string{"task", "inbox", "value"} { // which would cause new plans
		exec(t, p, `ALTER TABLE perdure.`+table+` SET (autovacuum_enabled = false)`)
	}
	in := create(t, p, "fan")
	fanOut(t, p, in.Key)
	exec(t, p, `INSERT INTO perdure.task (key, execution, event_id, kind, state, scheduled_at, not_before_at)
		SELECT $1, 1, 100000 + n, 1, 3, n, n FROM generate_series(1, 5000) n`, uuid(in.Key))
	exec(t, p, `INSERT INTO perdure.inbox (key, id, visible_at, kind, timer, execution, event_id)
		SELECT $1, 100000 + n, 9000000000000000, 1, true, 1, n FROM generate_series(1, 5000) n`, uuid(in.Key))
	exec(t, p, `INSERT INTO perdure.value (key, name) SELECT $1, 'other' || n FROM generate_series(1, 5000) n`, uuid(in.Key))
	before := readRows(t, p)
	fanOut(t, p, in.Key)
	for name, rows := range readRows(t, p) {
		if rows -= before[name]; rows > 40*fan {
			t.Errorf("%d of each are changed, for which %d rows are read by %s", fan, rows, name)
		}
	}
}

// fan is how many of each fanOut changes at once.
const fan = 50

// fanOut makes an instance create, change and remove many rows of each kind by one statement.
func fanOut(t *testing.T, p *Provider, key provider.UUID) {
	t.Helper()
	for range fan {
		send(t, p, key, text("m"))
	}
	turns, tasks := turnsRequest(), tasksRequest()
	fetched := fetchTurns(t, p, turns)
	if len(fetched) != 1 || len(fetched[0].Messages) < fan {
		t.Fatalf("fetched %+v", fetched)
	}
	c := turn(&fetched[0].Instance)
	c.Lease = turns.Token
	for i := range fetched[0].Messages {
		c.Consumed = append(c.Consumed, fetched[0].Messages[i].ID)
	}
	of := func(i int) int64 { return c.Length + 1 + int64(i) }
	handed := provider.TaskLease{Token: unique(), Owner: "node", Duration: lease}
	for i := range 2 * fan {
		task := provider.NewTask{EventID: of(i), Queue: "q", Name: "act"}
		if i >= fan {
			task.Lease = &handed
		}
		c.Events, c.Tasks = append(c.Events, []byte("e")), append(c.Tasks, task)
	}
	for i := range fan {
		c.Values = append(c.Values, provider.KeyValue{Key: string(rune('a' + i)), Value: []byte("v")})
	}
	commit(t, p, c)
	in := get(t, p, key)
	next := turn(&in)
	for i := range fan {
		next.Completes = append(next.Completes, provider.TaskCompletion{EventID: of(fan + i), Token: handed.Token})
		next.Values = append(next.Values, provider.KeyValue{Key: c.Values[i].Key})
	}
	next.Events = [][]byte{[]byte("e")}
	commit(t, p, next)
	for _, outcome := range []provider.TaskOutcome{provider.TaskRetry, provider.TaskComplete} {
		tasks.Max, tasks.Token = fan, unique()
		report(t, p, tasks, outcome)
	}
}

// report fetches a fan of tasks and reports the same for all of them.
func report(t *testing.T, p *Provider, req provider.FetchTasksRequest, outcome provider.TaskOutcome) {
	t.Helper()
	leased, err := p.FetchTasks(t.Context(), req)
	if err != nil || len(leased.Tasks) != fan {
		t.Fatalf("fetched %d tasks, %v", len(leased.Tasks), err)
	}
	var all provider.ReportTasksRequest
	for i := range leased.Tasks {
		task := &leased.Tasks[i]
		token := provider.TaskToken(req.Token, task.TaskRef)
		all.Items = append(all.Items, provider.TaskReport{TaskRef: task.TaskRef, Token: token, Attempt: task.Attempt, Outcome: outcome})
		if outcome == provider.TaskComplete {
			all.Items[i].Message = text("done")
		}
	}
	res, err := p.ReportTasks(t.Context(), all)
	for i := range res.Items {
		if err == nil {
			err = res.Items[i].Err
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
