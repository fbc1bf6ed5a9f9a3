package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/raced"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// stage has the handles of one store through which the calls of a case go: one that has cached the instance, that of another process, and
// one that caches nothing.
type stage struct {
	t                    *testing.T
	first, another, cold *Provider
	last                 raced.Scene
	sequences            map[[3]string]ending
	cached, locked       int // calls that another one came between, by how they had read
}

func newStage(t *testing.T) *stage {
	t.Helper()
	url := postgrestest.URL(t)
	shared := pool(t, url, func(c *pgxpool.Config) { c.MaxConns = 16 })
	o := Options{Schema: postgrestest.Schema(t, url), unprimed: true}
	return &stage{
		t: t, first: anotherHandle(t, shared, o), another: anotherHandle(t, shared, o), cold: anotherHandle(t, shared, o),
		sequences: make(map[[3]string]ending),
	}
}

// empty removes all rows but those of the kinds, which every handle has cached.
func (s *stage) empty() {
	s.t.Helper()
	b := &pgx.Batch{}
	for _, table := range []string{
		"instance", "outcome", "execution", "history", "inbox", "task", "session", "attribute", "value", "request", "listener", "seal", "dead_letter",
	} {
		b.Queue(s.cold.db.names.sql(`DELETE FROM perdure.` + table))
	}
	if err := s.cold.db.pool.SendBatch(s.t.Context(), b).Close(); err != nil {
		s.t.Fatal(err)
	}
}

// ending is what callers heard, and all rows.
type ending struct {
	heard [2]string
	rows  []string
}

// scene makes a scene in an empty store.
func (s *stage) scene(p *Provider, state raced.State) (raced.Scene, provider.Time) {
	s.t.Helper()
	s.empty()
	s.last++
	began, err := s.last.Build(s.t.Context(), provider.FullOf(p), state)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.last, began
}

// sequence returns the ending after two calls, or one, that came one after the other.
func (s *stage) sequence(state raced.State, calls ...raced.Call) ending {
	s.t.Helper()
	name := [3]string{state.String()}
	for i, c := range calls {
		name[i+1] = c.Name
	}
	if e, ok := s.sequences[name]; ok {
		return e
	}
	scene, began := s.scene(s.cold, state)
	var e ending
	for i, c := range calls {
		forgetRows(s.cold)
		e.heard[i] = c.Do(s.t.Context(), provider.FullOf(s.cold), scene)
	}
	e.rows = scene.Plain(s.rows(), began)
	s.sequences[name] = e
	return e
}

// forgetRows makes a handle forget all rows.
func forgetRows(p *Provider) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	clear(p.cache.heads)
	clear(p.cache.ids)
	clear(p.cache.tasks)
}

// interleaved returns the ending after a call of the first handle, when the act comes between what the call has read and what it
// writes. An act that waits for the call ends after it.
func (s *stage) interleaved(state raced.State, call, act raced.Call) ending {
	s.t.Helper()
	scene, began := s.scene(s.first, state)
	var e ending
	over, acting := make(chan struct{}), false
	begin := func() {
		acting = true
		go func() {
			defer close(over)
			e.heard[1] = act.Do(s.t.Context(), provider.FullOf(s.another), scene)
		}()
	}
	enqueue := s.first.calls.Enqueue
	s.first.calls.Enqueue = func(ctx context.Context, m *relational.Member, urgent bool) error {
		run := m.Run
		m.Run = func(t *relational.Tx) error {
			err := run(t)
			if err == nil && !acting {
				begin()
				s.await(unitOf(t), over)
			}
			return err
		}
		return enqueue(ctx, m, urgent)
	}
	e.heard[0] = call.Do(s.t.Context(), provider.FullOf(s.first), scene)
	s.first.calls.Enqueue = enqueue
	if !acting { // the call was refused
		begin()
	}
	<-over
	e.rows = scene.Plain(s.rows(), began)
	return e
}

// await waits until an act has ended, or waits for what the unit has locked. A call that goes by what is cached then has its time anew: else
// the time alone would show that something took long.
func (s *stage) await(u *unit, over <-chan struct{}) {
	const waits = `SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))`
	cached := u.missing != nil
	if cached {
		s.cached++
	} else {
		s.locked++
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for patience := time.After(100 * time.Millisecond); ; {
		select {
		case <-over:
			if cached {
				u.now = max(u.now, s.first.cache.clock.now())
			}
			return
		case <-tick.C:
			var n int64
			if err := s.cold.db.pool.QueryRow(u.ctx, waits, int64(u.conn.PgConn().PID())).Scan(&n); err != nil {
				s.t.Error(err)
			}
			if n > 0 {
				return
			}
		case <-patience: // it looks again and again, without a lock that it waits for
			return
		}
	}
}

const sqlAllRows = `SELECT 'instance ' || (to_jsonb(x) || jsonb_build_object('kind', to_jsonb(k) - 'id'))::text FROM perdure.instance x LEFT JOIN perdure.kind k ON k.id = x.kind
	UNION ALL SELECT 'task ' || (to_jsonb(x) || jsonb_build_object('kind', to_jsonb(k) - 'id'))::text FROM perdure.task x LEFT JOIN perdure.task_kind k ON k.id = x.kind
	UNION ALL SELECT 'outcome ' || to_jsonb(x)::text FROM perdure.outcome x UNION ALL SELECT 'execution ' || to_jsonb(x)::text FROM perdure.execution x
	UNION ALL SELECT 'history ' || to_jsonb(x)::text FROM perdure.history x UNION ALL SELECT 'inbox ' || to_jsonb(x)::text FROM perdure.inbox x
	UNION ALL SELECT 'session ' || to_jsonb(x)::text FROM perdure.session x UNION ALL SELECT 'attribute ' || to_jsonb(x)::text FROM perdure.attribute x
	UNION ALL SELECT 'value ' || to_jsonb(x)::text FROM perdure.value x UNION ALL SELECT 'request ' || to_jsonb(x)::text FROM perdure.request x
	UNION ALL SELECT 'listener ' || to_jsonb(x)::text FROM perdure.listener x UNION ALL SELECT 'seal ' || to_jsonb(x)::text FROM perdure.seal x
	UNION ALL SELECT 'dead letter ' || (to_jsonb(x) - 'id')::text FROM perdure.dead_letter x`

// rows returns all rows that calls write.
func (s *stage) rows() []string {
	s.t.Helper()
	rows, err := s.cold.db.pool.Query(s.t.Context(), s.cold.db.names.sql(sqlAllRows))
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// check demands that a call and an act between its steps end as if one had come after the other.
func (s *stage) check(state raced.State, call, act raced.Call) {
	s.t.Helper()
	if call.Name == "lane" && act.Fetches { // a rank may be that of a moment before: it says who comes first, and nothing else
		return
	}
	got := s.interleaved(state, call, act)
	after, before := s.sequence(state, call, act), s.sequence(state, act, call)
	before.heard[0], before.heard[1] = before.heard[1], before.heard[0]
	if same(got, after) || same(got, before) {
		return
	}
	if act.Fetches { // it passes over what is locked
		alone := s.sequence(state, call)
		if slices.Equal(got.rows, alone.rows) && got.heard[0] == alone.heard[0] {
			return
		}
	}
	s.t.Errorf("%s: the call %q, and meanwhile %q:\nunlike the act after it (-sequence +interleaved):\n%s\nunlike the act before it:\n%s", state, call.Name, act.Name,
		cmp.Diff(after, got, cmp.AllowUnexported(ending{})), cmp.Diff(before, got, cmp.AllowUnexported(ending{})))
}

func same(a, b ending) bool { return a.heard == b.heard && slices.Equal(a.rows, b.rows) }

// members are the calls that groups carry out.
func members() (list []raced.Call) {
	for _, c := range raced.Calls() {
		if !c.Fetches && c.Name != "deletion" {
			list = append(list, c)
		}
	}
	return list
}

// Whatever another process changes between what a call has read and what it writes, all ends as if one of them had come after the other.
func TestHazard98_ChangesBetweenLoadAndSave(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	acts, mine := raced.Calls(), raced.Share(t, 12)
	if testing.Short() {
		for i, call := range members() {
			if i%5 == 0 {
				s.check(raced.State(i%2), call, acts[(7*i+11)%len(acts)])
			}
		}
	} else {
		for i, call := range members() {
			for j, act := range acts {
				if !mine(i, j) {
					continue
				}
				s.check(raced.States()[(i+j)%len(raced.States())], call, act)
				if state := raced.State((i + j) % 2); state != raced.States()[(i+j)%len(raced.States())] {
					s.check(state, call, act)
				}
			}
		}
	}
	t.Logf("another call came between %d times where rows were cached, and %d times where they were locked", s.cached, s.locked)
	if s.cached == 0 || s.locked == 0 {
		t.Error("one of the ways to read was not tried")
	}
	checkConsistent(t, s.cold)
}

// unchanged are the columns that no call changes in a row that stays. A deletion removes the row.
var unchanged = map[string]string{
	"instance": "created_at deleting id key listened parent_close parent_event parent_execution parent_id parent_key request_id",
	"task":     "deadline_at event_id execution fairness_key key limit_key payload scheduled_at session",
	"inbox":    "event_id execution id key kind payload timer visible_at",
	"session":  "id key owner", // another owner gets it only when it has expired
}

// The calls that come between others change each column of each row that others read.
func TestHazard98_CallsChangeEachColumn(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	s := newStage(t)
	changed, columns := map[string]map[string]bool{}, map[string]map[string]bool{}
	for table := range unchanged {
		changed[table], columns[table] = map[string]bool{}, map[string]bool{}
	}
	for _, state := range raced.States() {
		for _, call := range raced.Calls() {
			scene, _ := s.scene(s.cold, state)
			before := s.named(columns)
			call.Do(t.Context(), provider.FullOf(s.cold), scene)
			for row, now := range s.named(columns) {
				for column, value := range before[row] {
					if value != now[column] {
						table, _, _ := strings.Cut(row, " ")
						changed[table][column] = true
					}
				}
			}
		}
	}
	for table, fixed := range unchanged {
		for column := range changed[table] {
			delete(columns[table], column)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(columns[table])), " "); got != fixed {
			t.Errorf("no call changes the columns %q of table %s, want only %q", got, table, fixed)
		}
	}
}

// named returns the columns of each row by its table and name, and adds them to columns.
func (s *stage) named(columns map[string]map[string]bool) map[string]map[string]string {
	s.t.Helper()
	list := make(map[string]map[string]string)
	for _, text := range s.rows() {
		table, object, _ := strings.Cut(text, " ")
		if columns[table] == nil {
			continue
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal([]byte(object), &raw); err != nil {
			s.t.Fatal(err)
		}
		row := make(map[string]string, len(raw))
		for column, value := range raw {
			row[column], columns[table][column] = string(value), true
		}
		name := []string{table, row["key"]}
		if table != "instance" {
			name = append(name, row["id"], row["execution"], row["event_id"])
		}
		list[strings.Join(name, " ")] = row
	}
	return list
}
