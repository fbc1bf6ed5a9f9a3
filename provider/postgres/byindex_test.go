package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// TestPlansOfSmallTablesStayGood plans all statements of an orchestration while its tables hold one page, often enough
// that the plans are kept. Then it lets the tables grow without new plans and counts what is read.
func TestPlansOfSmallTablesStayGood(t *testing.T) {
	longtest.Skip(t)
	p := plansOnce(t)
	tables := []string{"instance", "task", "inbox", "history", "outcome", "execution", "attribute", "value"}
	for _, table := range tables { // which would cause new plans
		exec(t, p, `ALTER TABLE perdure.`+table+` SET (autovacuum_enabled = false)`)
	}
	life(t, p)
	for _, table := range tables {
		exec(t, p, `VACUUM (ANALYZE) perdure.`+table)
	}
	const untilKept = 8
	for range untilKept {
		life(t, p)
	}
	exec(t, p, `INSERT INTO perdure.instance (key, id, kind, status, execution, version, created_at, updated_at)
		SELECT md5(n::text)::uuid, n::text, 1, 1, 1, md5(n::text)::uuid, n, n FROM generate_series(1, 20000) n`)
	exec(t, p, `INSERT INTO perdure.task (key, execution, event_id, kind, state, scheduled_at, not_before_at)
		SELECT md5(n::text)::uuid, 1, 1, 1, 3, n, n FROM generate_series(1, 20000) n`)
	exec(t, p, `INSERT INTO perdure.inbox (key, id, visible_at, kind, timer, execution, event_id)
		SELECT md5(n::text)::uuid, 1, n, 1, true, 1, 1 FROM generate_series(1, 20000) n`)
	exec(t, p, `INSERT INTO perdure.history (key, execution, first_id, events, data)
		SELECT md5(n::text)::uuid, 1, 1, 1, '' FROM generate_series(1, 20000) n`)
	exec(t, p, `INSERT INTO perdure.outcome (key) SELECT md5(n::text)::uuid FROM generate_series(1, 20000) n`)
	exec(t, p, `INSERT INTO perdure.attribute (key, name, kind, text, number)
		SELECT md5(n::text)::uuid, 'a', 1, '', 1 FROM generate_series(1, 20000) n`)
	before := readRows(t, p)
	life(t, p)
	for name, rows := range readRows(t, p) {
		if rows -= before[name]; rows > 1000 {
			t.Errorf("one life reads %d rows by %s", rows, name)
		}
	}
}

// plansOnce opens a store of one connection, which keeps its plans and counts what it reads.
func plansOnce(t *testing.T) *Provider {
	t.Helper()
	url := postgrestest.URL(t)
	made := pool(t, url, func(c *pgxpool.Config) { c.MaxConns = 1 })
	p, err := NewWith(t.Context(), made, Options{Schema: postgrestest.Schema(t, url), ListenURL: url, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	if number(t, p, `SELECT current_setting('server_version_num')::bigint`) < 150_000 {
		t.Skip("before Postgres 15 a session cannot be made to tell what it read")
	}
	return p
}

// readRows counts the rows read so far from whole tables and by each index.
func readRows(t *testing.T, p *Provider) map[string]int64 {
	t.Helper()
	for _, pool := range []*pgxpool.Pool{p.db.pool, p.db.reserve} { // a session reports what it read at its next statement
		for range 2 {
			if _, err := pool.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows, err := p.db.pool.Query(t.Context(), `SELECT relname::text, seq_tup_read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname <> 'kind'
		UNION ALL SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = $1`, p.db.opts.Schema)
	if err != nil {
		t.Fatal(err)
	}
	read := make(map[string]int64)
	var name string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		read[name] = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return read
}

// life takes an instance through a typical orchestration.
func life(t *testing.T, p *Provider) {
	t.Helper()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	fetch := func() provider.CommitTurnRequest {
		t.Helper()
		req := turnsRequest()
		turns := fetchTurns(t, p, req)
		if len(turns) != 1 {
			t.Fatalf("fetched %d turns", len(turns))
		}
		c := turn(&turns[0].Instance, turns[0].Messages[0].ID)
		c.Lease, c.Events = req.Token, [][]byte{[]byte("e"), []byte("f")}
		return c
	}
	_, err := p.Create(t.Context(), provider.CreateRequest{
		ID: unique().String(), Key: unique(), Commit: unique(), Name: "orc", CodeVersion: "v1", Message: text("start"),
		Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}},
	})
	check("create", err)
	c := fetch()
	c.Tasks = []provider.NewTask{{EventID: 2, Queue: "q", Name: "act"}}
	c.Timers = []provider.Timer{{EventID: 1, Due: 9e15}}
	c.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}}
	commit(t, p, c)
	req := tasksRequest()
	tasks, err := p.FetchTasks(t.Context(), req)
	check("fetch tasks", err)
	if len(tasks.Tasks) != 1 {
		t.Fatalf("fetched %d tasks", len(tasks.Tasks))
	}
	ref := tasks.Tasks[0].TaskRef
	token := provider.TaskToken(req.Token, ref)
	_, err = p.RenewTasks(t.Context(), provider.RenewTasksRequest{Lease: lease, Items: []provider.TaskRenewal{{TaskRef: ref, Token: token}}})
	check("renew", err)
	_, err = p.ReportTasks(t.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{
		{TaskRef: ref, Token: token, Attempt: 1, Outcome: provider.TaskComplete, Message: text("done")},
	}})
	check("report", err)
	c = fetch()
	c.CancelTimers, c.Values = []int64{1}, []provider.KeyValue{{Key: "k"}}
	handed := &provider.TaskLease{Token: unique(), Owner: "node", Duration: lease}
	c.Tasks = []provider.NewTask{{EventID: 4, Queue: "q", Name: "act", Lease: handed}}
	commit(t, p, c)
	in := get(t, p, c.Key)
	c = turn(&in)
	c.Completes, c.Events = []provider.TaskCompletion{{EventID: 4, Token: handed.Token}}, [][]byte{[]byte("e")}
	commit(t, p, c)
	send(t, p, c.Key, text("m"))
	in = get(t, p, c.Key)
	_, err = p.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: c.Key, From: 1})
	check("read history", err)
	tx := begin(t, p.db.pool, pgx.TxOptions{})
	_, err = p.SendIn(t.Context(), InTx(tx), provider.SendRequest{ID: in.ID, Message: text("m")})
	check("send in a transaction", err)
	check("commit", tx.Commit(t.Context()))
	_, err = p.Get(t.Context(), provider.GetRequest{ID: in.ID})
	check("get by ID", err)
	fetch()
	c = turn(&in)
	c.Status, c.Result, c.CloseInbox = provider.StatusCompleted, []byte("r"), "closed"
	commit(t, p, c)
}
