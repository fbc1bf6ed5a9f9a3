package postgres

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
)

// plan is a node of the result of EXPLAIN.
type plan struct {
	Type    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Removed float64 `json:"Rows Removed by Filter"`
	Apart   float64 `json:"Rows Removed by Join Filter"`
	Index   string  `json:"Index Name"`
	Cond    string  `json:"Index Cond"`
	Plans   []plan  `json:"Plans"`
}

// touched returns how many rows the busiest node handled, and which large table, or index for a column that is not its first, was read whole.
func (p *plan) touched() (rows float64, scan string) {
	rows = (p.Rows + p.Removed + p.Apart) * p.Loops
	if large := p.Table == "instance" || p.Table == "task" || p.Table == "inbox"; large && p.Type == "Seq Scan" {
		scan = p.Table
	}
	if p.Index == "instance_kind" && !strings.Contains(p.Cond, "status") {
		scan = p.Index
	}
	for i := range p.Plans {
		r, s := p.Plans[i].touched()
		rows = max(rows, r)
		if s != "" {
			scan = s
		}
	}
	return rows, scan
}

// String returns the nodes, each before the ones below it.
func (p *plan) String() string {
	text := fmt.Sprintf("%s %s %s (%v rows, %v dropped, %v times)", p.Type, p.Table, p.Index, p.Rows, p.Removed+p.Apart, p.Loops)
	for i := range p.Plans {
		text += "\n" + strings.ReplaceAll(p.Plans[i].String(), "\n", "\n  ")
	}
	return text
}

// TestClaimsAreIndexScans checks the plans in a store with 100,000 instances and tasks.
func TestClaimsAreIndexScans(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	_, c := step(t, p)
	c.Tasks = []provider.NewTask{{EventID: 2, Queue: "q", Name: "act"}}
	commit(t, p, c)
	// One in ten is ready, and the others sleep until later. So do the tasks. An inbox is full of timers.
	exec(t, p, `INSERT INTO perdure.instance (key, id, kind, status, execution, version, created_at, updated_at, ready_at, fetch_at, inbox_messages)
		SELECT md5(n::text)::uuid, n::text, (SELECT min(id) FROM perdure.kind), 1, 1, md5(n::text)::uuid, n, n, at, at, 1
		FROM generate_series(1, 100000) n, LATERAL (SELECT CASE WHEN n % 10 = 0 THEN n ELSE 9000000000000000 + n END AS at) a`)
	exec(t, p, `INSERT INTO perdure.task (key, execution, event_id, kind, state, scheduled_at, not_before_at, fetch_at)
		SELECT md5(n::text)::uuid, 1, 1, (SELECT min(id) FROM perdure.task_kind), 1, n, at, at
		FROM generate_series(1, 100000) n, LATERAL (SELECT CASE WHEN n % 10 = 0 THEN n ELSE 9000000000000000 + n END AS at) a`)
	exec(t, p, `INSERT INTO perdure.inbox (key, id, visible_at, kind, timer, execution, event_id)
		SELECT md5('10')::uuid, n, CASE WHEN n <= 5 THEN n ELSE 9000000000000000 + n END, 1, true, 1, n FROM generate_series(1, 20000) n`)
	exec(t, p, `ANALYZE perdure.instance`)
	exec(t, p, `ANALYZE perdure.task`)
	exec(t, p, `ANALYZE perdure.inbox`)
	exec(t, p, `UPDATE perdure.instance SET lease_token = $1, lease_until = 9000000000000000 WHERE key = md5('10')::uuid`, uuid(c.Lease))
	kinds := []int64{number(t, p, `SELECT min(id) FROM perdure.kind`)}
	tasks := []int64{number(t, p, `SELECT min(id) FROM perdure.task_kind`)}
	for _, q := range []struct {
		what, sql string
		args      []any
	}{
		{"claim turns", sqlClaimTurns, []any{kinds, 10, "node", uuid(unique()), int64(1e6), int64(5e4)}},
		{"messages", sqlTurnMessages, []any{uuid(c.Lease), 1000, 4 << 20, int64(5e4)}},
		{"next turn", sqlNextTurn, []any{kinds, "node", int64(25e3)}},
		{"claim tasks", sqlClaimTasks, []any{tasks, []int64{0}, 10, uuid(unique()), "node", true, int64(1e6), tasks}},
		{"claim tasks that may be in sessions", sqlClaimLate, []any{tasks, []int64{0}, 10, uuid(unique()), "node", true, int64(1e6), tasks}},
		{"next task", sqlNextTask, []any{tasks, true}},
		{"lock", sqlLock + sqlLocked, []any{uuids([]provider.UUID{c.Key})}},
		{"lock by ID", sqlLockIDs + sqlLocked, []any{uuids([]provider.UUID{c.Key}), []string{"5"}}},
	} {
		rows, scan := explain(t, p, q.sql, q.args)
		if scan != "" || rows > 1000 {
			t.Errorf("%s: a node handles %v rows, %q is read from end to end", q.what, rows, scan)
		}
	}
}

// TestTaskClaimsAmongAMillion checks the plans of statements that order tasks. Nine in ten sleep until later or are
// leased. Half of the others wait with ranks that fairness delayed, most of them by one key. Ten thousand share a rank.
func TestTaskClaimsAmongAMillion(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("make test-long runs it without the race detector")
	}
	p := store(t)
	_, c := step(t, p)
	c.Tasks = []provider.NewTask{{EventID: 2, Queue: "q", Name: "act", FairnessKey: "flood"}, {EventID: 3, Queue: "q", Name: "act", FairnessKey: "rare"}}
	commit(t, p, c)
	plain := number(t, p, `SELECT id FROM perdure.task_kind WHERE priority = 3`)
	ranked := number(t, p, `SELECT id FROM perdure.task_kind WHERE priority = 16 + 3`)
	const indexes = `SELECT string_agg(indexdef, ';') FROM pg_indexes WHERE schemaname = $1 AND tablename = 'task' AND indexname <> 'task_pkey'`
	var restore string
	if err := p.db.pool.QueryRow(t.Context(), indexes, p.db.opts.Schema).Scan(&restore); err != nil {
		t.Fatal(err)
	}
	exec(t, p, `DROP INDEX perdure.task_order, perdure.task_expire, perdure.task_fair, perdure.task_session, perdure.task_held, perdure.task_retrying`) // creating them last is faster
	exec(t, p, `INSERT INTO perdure.task (key, execution, event_id, kind, state, scheduled_at, not_before_at, start_by_at, fetch_at, rank_at,
		expire_at, fairness_key) SELECT lpad(to_hex(n / 1000), 32, '0')::uuid, 1, n % 1000, CASE WHEN n % 20 = 0 THEN $2 ELSE $1::bigint END, 1, n, n,
		CASE WHEN n % 7 = 0 THEN 8000000000000000 ELSE 0 END, CASE WHEN n % 10 = 0 AND n % 20 <> 0 THEN 1 + n / 200000 ELSE 9000000000000000 + n / 200000 END,
		CASE WHEN n % 20 = 0 THEN 9000000000000000 + n / 200000 ELSE 0 END, CASE WHEN n % 7 = 0 THEN 8000000000000000 ELSE 0 END,
		CASE WHEN n % 20 = 0 THEN 'flood' ELSE '' END FROM generate_series(1, 1000000) n`, plain, ranked)
	exec(t, p, restore)
	exec(t, p, `ANALYZE perdure.task`)
	kinds := []int64{plain, ranked}
	for _, q := range []struct {
		what, sql string
		args      []any
	}{
		{"claim", sqlClaimTasks, []any{kinds, []int64{0, 0}, 10, uuid(unique()), "node", true, int64(1e6), []int64{plain, plain}}},
		{"next", sqlNextTask, []any{kinds, true}},
		{"turns", sqlTurns, []any{[]string{"q", "q", "q"}, []string{"flood", "rare", "new"}}},
		{"gated", sqlCandidates, []any{kinds, []int64{0, 0}, []int64{plain, plain}, true, 10, "node", 3, 40}},
		{"leased", sqlLeased, []any{kinds, []string{"q", "q"}}},
		{"next gated", sqlNextGated, []any{kinds, true, int64(8e15), true}},
	} {
		if rows, scan := explain(t, p, q.sql, q.args); scan != "" || rows > 100 {
			t.Errorf("%s: a node handles %v rows, %q is read from end to end", q.what, rows, scan)
		}
	}
}

// explain runs a statement and rolls it back.
func explain(t *testing.T, p *Provider, sql string, args []any) (rows float64, scan string) {
	t.Helper()
	tx, err := p.db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var text []byte
	if _, err := tx.Exec(t.Context(), p.db.names.sql(sqlGateClock)); err != nil {
		t.Fatal(err)
	}
	args = append([]any{pgx.QueryExecModeCacheDescribe}, args...)
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+p.db.names.sql(sql), args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Plan plan `json:"Plan"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	rows, scan = list[0].Plan.touched()
	if scan != "" || rows > 1000 {
		t.Logf("%s", text)
	}
	return rows, scan
}
