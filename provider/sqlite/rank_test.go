package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// commitTasks stores tasks of a new instance.
func commitTasks(t *testing.T, p *Provider, tasks ...provider.NewTask) provider.Instance {
	t.Helper()
	in := create(t, p, newKey().String(), "x")
	req := provider.CommitTurnRequest{
		Key: in.Key, Execution: 1, Expected: in.Version, Commit: newToken(), Status: provider.StatusRunning, Consumed: []int64{1}, Tasks: tasks,
	}
	if _, err := p.CommitTurn(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return in
}

// fetchedTasks returns the payloads of the tasks that can be fetched, in order.
func fetchedTasks(t *testing.T, p *Provider, most int) string {
	t.Helper()
	req := tasksOf("q", "n", 0)
	req.Max = most
	res, err := p.FetchTasks(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range res.Tasks {
		names = append(names, string(task.Payload))
	}
	return strings.Join(names, " ")
}

// fair is a task of the queue of these tests.
func fair(event int64, key, payload string) provider.NewTask {
	return provider.NewTask{EventID: event, Queue: "q", Name: "n", FairnessKey: key, Payload: []byte(payload)}
}

func TestWhatWaitedLongGoesBeforeHigherPriorities(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	idle := provider.NewTask{EventID: 1, Queue: "q", Name: "n", Priority: provider.PriorityLowest}
	idle.Payload = []byte("waited")
	old := commitTasks(t, p, idle)
	idle.Payload = []byte("idle")
	commitTasks(t, p, idle)
	urgent := provider.NewTask{EventID: 1, Queue: "q", Name: "n", Priority: provider.PriorityHighest, Payload: []byte("urgent")}
	commitTasks(t, p, urgent)
	steps := provider.PriorityLowest - provider.PriorityHighest
	age := time.Duration(steps)*provider.PriorityStep + time.Minute
	corrupt(t, p, `UPDATE perdure_task SET not_before_at = not_before_at - ?1, fetch_at = fetch_at - ?1 WHERE key = ?2`, age.Microseconds(), old.Key)
	if got := fetchedTasks(t, p, 3); got != "waited urgent idle" {
		t.Errorf("fetched %q", got)
	}
}

// A release that knows no ranks leases and delays tasks as if they had none.
func TestOlderReleaseLeasesTasksWithRanks(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	in := commitTasks(t, p, fair(1, "a", "one"), fair(2, "a", "two"))
	clock := p.store.clock
	corrupt(t, p, `UPDATE perdure_task SET state = 2, token = ?, owner = 'old', lease_until = ?, deliveries = 1, fetch_at = NULL, expire_at = NULL
		WHERE key = ? AND event_id = 2`, newToken(), clock.elapsed()+time.Hour.Microseconds(), in.Key)
	if got := fetchedTasks(t, p, 2); got != "one" {
		t.Errorf("fetched %q, want the one that the other release left", got)
	}
	const putOff = `UPDATE perdure_task SET state = 1, token = NULL, owner = NULL, lease_until = 0, not_before_at = ?1, fetch_at = ?1
		WHERE key = ?2 AND event_id = 2`
	corrupt(t, p, putOff, clock.wall().Add(time.Hour), in.Key)
	if got := fetchedTasks(t, p, 2); got != "" {
		t.Errorf("fetched %q, which is put off", got)
	}
	corrupt(t, p, putOff, clock.wall(), in.Key)
	if got := fetchedTasks(t, p, 2); got != "two" {
		t.Errorf("fetched %q", got)
	}
}

// Nine in ten tasks are delayed. Half of the others wait with ranks that fairness has delayed, most of them by one key. Ten
// thousand share a rank.
func TestTaskClaimsAmongAMillion(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("a minute under the race detector; make test-long runs it without")
	}
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	commitTasks(t, p, fair(1, "flood", "first"), fair(2, "rare", "rare"))
	ids := make(map[int64]int64) // by the stored priority
	read := func(sql string, fn func(*row), args ...any) {
		t.Helper()
		err := p.read(t.Context(), "test", func(c *conn) error {
			return c.each(t.Context(), sql, func(r *row) error { fn(r); return nil }, args...)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read(`SELECT priority, id FROM perdure_task_kind`, func(r *row) { ids[r.int(0)] = r.int(1) })
	plain, ranked := ids[3], ids[16+3]
	corrupt(t, p, `INSERT INTO perdure_task (key, execution, event_id, kind, state, scheduled_at, not_before_at, start_by_at, fetch_at, rank_at,
		expire_at, fairness_key) WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000000)
		SELECT zeroblob(16), 1, n, iif(n % 20 = 0, ?2, ?1), 1, n, n, iif(n % 7 = 0, 8 << 50, NULL),
		iif(n % 10 = 0 AND n % 20 <> 0, 1 + n / 200000, (9 << 50) + n / 200000), iif(n % 20 = 0, (9 << 50) + n / 200000, NULL), iif(n % 7 = 0, 8 << 50, NULL),
		iif(n % 20 = 0, 'flood', NULL) FROM s`, plain, ranked)
	for _, q := range []struct {
		sql  string
		args []any
		uses []string
	}{
		{sqlFindTasks, []any{plain, p.store.clock.wall(), p.store.clock.wall(), 10}, []string{"perdure_task_fetch (kind=? AND fetch_at<?)"}},
		{sqlFindRanked, []any{ranked, p.store.clock.wall(), 10}, []string{"perdure_task_fetch (kind=? AND fetch_at>?)"}},
		{sqlGated, []any{plain, p.store.clock.wall(), p.store.clock.wall(), 1, 0, 0, []byte{}, 0, "node", true, int64(1), 10}, []string{
			"perdure_task_fetch (kind=? AND (fetch_at,scheduled_at,event_id,key,execution)>(?,?,?,?,?) AND fetch_at<?)",
		}},
		{sqlFindExpired, []any{p.store.clock.wall(), 10}, []string{"perdure_task_expire (expire_at<?)"}},
		{sqlNextTask, []any{plain, p.store.clock.wall()}, []string{"perdure_task_fetch (kind=? AND fetch_at>?)"}},
		{sqlLaneRanks, []any{"q", "flood"}, []string{
			"perdure_task_kind_1 (queue=?)", "perdure_task_fetch (kind=? AND fetch_at>?)",
			"perdure_task_fair (fairness_key=? AND kind=? AND fetch_at>?)",
		}},
	} {
		var plan []string
		read(`EXPLAIN QUERY PLAN `+q.sql, func(r *row) { plan = append(plan, r.text(3)) }, q.args...)
		text := strings.Join(plan, "\n")
		if strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s\nreads too much:\n%s", q.sql, text)
		}
		for _, use := range q.uses {
			if !strings.Contains(text, use) {
				t.Errorf("%s\ndoes not use %s:\n%s", q.sql, use, text)
			}
		}
	}
	if got := fetchedTasks(t, p, 500); strings.Contains(got, "rare") {
		t.Error("what was stored last came first")
	}
	of, err := write(t.Context(), p.handle, "turns", 0, func(t *tx, of *relational.LaneRanks) (err error) {
		*of, err = t.LaneRanks(relational.Lane{Queue: "q", Key: "flood"})
		return err
	})
	if err != nil || of.Last != 9<<50+1_000_000/200_000 || of.First >= 9<<50 {
		t.Errorf("turns %+v, %v", of, err)
	}
}
