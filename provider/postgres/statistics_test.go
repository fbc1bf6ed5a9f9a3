package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// failedRows are more than one call looks at.
const failedRows = provider.MaxGrouped + 100

// grown returns the statements that store failed instances, and running ones with a task that is tried again and nine that are not.
func grown(from, to int) []string {
	n := fmt.Sprintf("FROM generate_series(%d, %d) n", from, to)
	return []string{
		`INSERT INTO perdure.kind (id, name, code_version, engine_level) OVERRIDING SYSTEM VALUE VALUES (1, 'orc', 'v1', 1) ON CONFLICT DO NOTHING`,
		`INSERT INTO perdure.task_kind (id, queue, name, priority) OVERRIDING SYSTEM VALUE VALUES (1, 'q', 'act', 3) ON CONFLICT DO NOTHING`,
		`INSERT INTO perdure.instance (key, id, kind, status, execution, version, created_at, updated_at, ended_at)
			SELECT md5(n::text)::uuid, n::text, 1, 4, 1, md5(n::text)::uuid, n, n, n ` + n,
		`INSERT INTO perdure.outcome (key, result, failure_group, excerpt, failed_at)
			SELECT md5(n::text)::uuid, 'error', CASE WHEN n % 50 = 0 THEN 'rare' ELSE 'new' END, 'error', n ` + n,
		`INSERT INTO perdure.instance (key, id, kind, status, execution, version, created_at, updated_at)
			SELECT md5('r' || n)::uuid, 'r' || n, 1, 1, 1, md5(n::text)::uuid, n, n ` + n + ` WHERE n % 10 = 0`,
		`INSERT INTO perdure.task (key, execution, event_id, kind, state, scheduled_at, not_before_at, attempt)
			SELECT md5('r' || n / 10 * 10)::uuid, 1, n % 10, 1, 1, n, n, CASE WHEN n % 10 = 0 THEN 2 ELSE 1 END ` + n + ` WHERE n >= 10`,
	}
}

// analysed returns the statements that make statistics of tables.
func analysed(tables ...string) (list []string) {
	for _, table := range tables {
		list = append(list, `ANALYZE perdure.`+table)
	}
	return list
}

// TestHazard160_PlansWithOldStatistics checks what statements do, for lists and groups, whatever the server knows of the tables.
func TestHazard160_PlansWithOldStatistics(t *testing.T) {
	tables := []string{"instance", "outcome", "kind", "task", "task_kind"}
	var own, dead []string
	for _, table := range tables {
		own = append(own, `ALTER TABLE perdure.`+table+` SET (autovacuum_enabled = false)`)
		dead = append(dead, `DELETE FROM perdure.`+table)
	}
	dead = slices.Concat(grown(1, 2_000), dead)
	few, rest, all := grown(1, 30), grown(31, failedRows), grown(1, failedRows)
	for _, s := range []struct {
		name  string
		steps [][]string
		short bool // in the quick form of the test, too
	}{
		{"never", [][]string{all}, false},
		{"always", [][]string{all, analysed(tables...)}, false},
		{"while empty", [][]string{analysed(tables...), all}, false},
		{"with few rows", [][]string{few, analysed(tables...), rest}, true},
		{"instances only", [][]string{all, analysed("instance")}, false},
		{"outcomes and tasks only", [][]string{all, analysed("outcome", "task")}, false},
		{"kinds only", [][]string{all, analysed("kind", "task_kind")}, true},
		{"few instances", [][]string{few, analysed("instance"), rest, analysed("outcome", "task")}, false},
		{"few outcomes and tasks", [][]string{few, analysed("outcome", "task"), rest, analysed("instance")}, false},
		{"never, on dead rows", [][]string{dead, all}, false},
		{"only dead rows", [][]string{dead, analysed(tables...), all}, true},
		{"only dead instances", [][]string{dead, analysed("instance"), all, analysed("outcome", "task")}, false},
		{"only dead outcomes and tasks", [][]string{dead, analysed("outcome", "task"), all, analysed("instance")}, false},
		{"only dead kinds", [][]string{dead, analysed("kind", "task_kind"), all}, false},
	} {
		t.Run(s.name, func(t *testing.T) {
			if !s.short {
				longtest.Skip(t)
			}
			p := plansOnce(t) // no statement removes what ANALYZE found
			for _, sql := range slices.Concat(own, slices.Concat(s.steps...)) {
				exec(t, p, sql)
			}
			checkPlans(t, p)
		})
	}
}

// checkPlans makes all calls that look at many failed instances or many tasks.
func checkPlans(t *testing.T, p *Provider) {
	t.Helper()
	const rare, retrying = failedRows / 50, failedRows / 10
	for _, c := range []struct {
		groups provider.FailureGroupsRequest
		most   float64
	}{
		{most: provider.MaxGrouped + 1},
		{provider.FailureGroupsRequest{EndedAfter: failedRows - rare}, rare + 1},
		{provider.FailureGroupsRequest{Group: "new"}, provider.MaxGrouped + 1},
		{provider.FailureGroupsRequest{Group: "rare"}, rare},
	} {
		if _, err := checkedQueries(t, p, c.most).FailureGroups(t.Context(), c.groups); err != nil {
			t.Errorf("%+v: %v", c.groups, err)
		}
	}
	for _, req := range []provider.ListTasksRequest{{}, {Retrying: true}} {
		most := float64(provider.MinRows)
		if req.Retrying {
			most = retrying
		}
		if _, err := checkedQueries(t, p, most).ListTasks(t.Context(), req); err != nil {
			t.Errorf("%+v: %v", req, err)
		}
	}
	for _, c := range []struct {
		filter provider.Filter
		most   float64
	}{
		{provider.Filter{FailureGroup: "new"}, failedRows},
		{provider.Filter{FailureGroup: "rare"}, rare},
		{provider.Filter{FailureGroup: "rare", Name: "orc"}, rare},
		{provider.Filter{Retrying: true}, retrying},
		{provider.Filter{Retrying: true, Name: "orc"}, retrying},
	} {
		if err := checkLists(t, p, c.filter, c.most); err != nil {
			t.Errorf("%+v: %v", c.filter, err)
		}
	}
}

func checkedQueries(t *testing.T, p *Provider, most float64) relational.Queries {
	t.Helper()
	return relational.NewQueries(planned{storage{p.db, &p.cache.clock}, t, most}, nil, nil, nil, 1)
}

// checkLists checks the plans of a list and of counts. A count without a maximum may read whole tables.
func checkLists(t *testing.T, p *Provider, f provider.Filter, most float64) error {
	t.Helper()
	err := p.reader.listing(t.Context(), "list", func(ctx context.Context, l lookup) error {
		checked := plannedLookup{l, t, most}
		if _, _, err := dialect.Find(checked, &provider.ListRequest{Filter: f, Max: 10}); err != nil {
			return err
		}
		if _, err := dialect.Count(checked, &provider.CountRequest{Filter: f, Max: 10}); err != nil {
			return err
		}
		places, err := l.Places(`SELECT created_at, key FROM perdure.instance LIMIT 1000`)
		if err != nil {
			return err
		}
		keys := make([]provider.UUID, len(places))
		for i := range places {
			keys[i] = places[i].Key
		}
		sql := p.db.names.sql(listStatement(&provider.ListRequest{}))
		return checkPlan(ctx, t, provider.MaxPage, l.tx, sql, pgx.QueryExecModeExec, uuids(keys), int64(provider.MaxFetchBytes))
	})
	if err != nil || f.Retrying { // any count of tasks that are tried again is like the one with a maximum
		return err
	}
	return p.db.snapshot(t.Context(), "count", func(ctx context.Context, tx pgx.Tx) error {
		_, err := dialect.Count(plannedLookup{lookup{ctx, p.db, tx}, t, 2 * failedRows}, &provider.CountRequest{Filter: f})
		return err
	})
}

// checkPlan runs a statement and checks that no step of its plan handles more rows, also of those that it drops.
func checkPlan(ctx context.Context, t *testing.T, most float64, tx querier, sql string, args ...any) error {
	t.Helper()
	var text []byte
	if err := tx.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+sql, args...).Scan(&text); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	var list []struct {
		Plan plan `json:"Plan"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("reading a plan: %w", err)
	}
	if rows, scan := list[0].Plan.touched(); rows > most || scan == "instance_kind" {
		t.Errorf("a step handles %v rows, want at most %v, and %q is read whole: %s\n%s", rows, most, scan, sql, list[0].Plan.String())
	}
	return nil
}

// planned is a storage that checks the plans of its reads, both for their parameters and for any.
type planned struct {
	storage

	t    *testing.T
	most float64 // rows of a step
}

// Read implements [relational.Storage].
func (s planned) Read(ctx context.Context, how relational.Reading, fn func(relational.Queryer) error) error {
	return s.db.snapshot(ctx, how.Op, func(ctx context.Context, tx pgx.Tx) error {
		send := func(b *pgx.Batch) error { return tx.SendBatch(ctx, b).Close() }
		if err := send(s.db.byIndex()); err != nil {
			return err
		}
		return fn(plannedQueries{queries{s.db, s.db.byIndex, send}, s, ctx, tx})
	})
}

type plannedQueries struct {
	queries
	planned

	ctx context.Context
	tx  pgx.Tx
}

// Query implements [relational.Queryer].
func (q plannedQueries) Query(list ...relational.Query) error {
	for i, query := range list[:min(len(list), 3)] { // the settings, the clock or a long read, and one of many like it
		if !strings.Contains(query.SQL, " FROM perdure.") {
			if err := q.queries.Query(list[i]); err != nil {
				return err
			}
			continue
		}
		if err := q.check(query); err != nil {
			return err
		}
	}
	return q.queries.Query(list...)
}

// check checks the plans of one statement.
func (q plannedQueries) check(query relational.Query) error {
	args := make([]string, len(query.Args))
	for i, a := range query.Args {
		args[i] = fmt.Sprintf("'%v'", a)
		if key, ok := a.(relational.RawKey); ok {
			args[i] = fmt.Sprintf("'%032x'", append(make([]byte, 16-len(key)), key...))
		}
	}
	call := "EXECUTE checked"
	if len(args) > 0 {
		call += "(" + strings.Join(args, ", ") + ")"
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		prepare := "SET LOCAL plan_cache_mode TO " + mode + "; PREPARE checked AS " + q.queries.db.names.sql(query.SQL)
		if _, err := q.tx.Exec(q.ctx, prepare, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", query.SQL, err)
		}
		if err := checkPlan(q.ctx, q.t, q.most, q.tx, call, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if _, err := q.tx.Exec(q.ctx, "DEALLOCATE checked", pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// plannedLookup is a lookup that checks the plans of its statements.
type plannedLookup struct {
	lookup

	t    *testing.T
	most float64 // rows of a step
}

// Numbers implements [relational.Lookup].
func (l plannedLookup) Numbers(sql string, args ...any) ([]int64, error) {
	if err := l.check(sql, args); err != nil {
		return nil, err
	}
	return l.lookup.Numbers(sql, args...)
}

// Places implements [relational.Lookup].
func (l plannedLookup) Places(sql string, args ...any) ([]relational.Position, error) {
	if err := l.check(sql, args); err != nil {
		return nil, err
	}
	return l.lookup.Places(sql, args...)
}

// Tally implements [relational.Lookup].
func (l plannedLookup) Tally(sql string, args ...any) (scanned, matched int64, err error) {
	if err := l.check(sql, args); err != nil {
		return 0, 0, err
	}
	return l.lookup.Tally(sql, args...)
}

func (l plannedLookup) check(sql string, args []any) error {
	return checkPlan(l.ctx, l.t, l.most, l.tx, l.db.names.inSchema(sql), append([]any{pgx.QueryExecModeExec}, args...)...)
}
