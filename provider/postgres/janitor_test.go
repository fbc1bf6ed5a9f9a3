package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// TestJanitorReadsNoEndedInstances counts the rows that a sweep reads in a store with many ended instances.
func TestJanitorReadsNoEndedInstances(t *testing.T) {
	longtest.Skip(t)
	p := plansOnce(t)
	for range 5 {
		create(t, p, unique().String())
	}
	exec(t, p, `ALTER TABLE perdure.instance SET (autovacuum_enabled = false)`)
	sweepReads := func() (n int64) {
		t.Helper()
		before := readRows(t, p)
		p.janitor.sweep()
		for name, rows := range readRows(t, p) {
			n += rows - before[name]
		}
		return n
	}
	few := sweepReads()
	exec(t, p, `INSERT INTO perdure.instance (key, id, kind, status, execution, version, created_at, updated_at, ended_at)
		SELECT md5(n::text)::uuid, n::text, 1, $1, 1, md5(n::text)::uuid, n, n, n FROM generate_series(1, 20000) n`, provider.StatusCompleted)
	exec(t, p, `ANALYZE perdure.instance`)
	many := sweepReads()
	t.Logf("a sweep reads %d rows, and %d with 20,000 ended instances", few, many)
	if many > few {
		t.Errorf("a sweep reads %d rows with 20,000 ended instances, %d without them", many, few)
	}
}

// A ready time that is missing, or later than the first message, is mended wherever the instance is, and waiting
// fetches are woken.
func TestHazard05_JanitorMendsReadyTimes(t *testing.T) {
	p := store(t)
	in := create(t, p, "in")
	waits := create(t, p, "waits for a message")
	commit(t, p, turn(&waits, 1))
	paused := create(t, p, "paused")
	steer := provider.SteerRequest{Key: paused.Key, Commit: unique(), Action: provider.SteerSuspend}
	if _, err := p.Steer(t.Context(), steer); err != nil {
		t.Fatal(err)
	}
	exec(t, p, `INSERT INTO perdure.instance (key, id, kind, status, execution, version, created_at, updated_at, ready_at, fetch_at,
		inbox_messages, next_message) SELECT md5(n::text)::uuid, n::text, 1, 1, 1, md5(n::text)::uuid, n, n, 9e15, 9e15, 1, 2
		FROM generate_series(1, $1) n`, 2*janitorBatch)
	exec(t, p, `INSERT INTO perdure.inbox (key, id, visible_at, kind, timer, execution, event_id)
		SELECT md5(n::text)::uuid, 1, 9e15, 1, true, 1, 1 FROM generate_series(1, $1) n`, 2*janitorBatch)
	p.janitor.sweep()
	if n := p.janitor.mended.Load(); n != 0 {
		t.Fatalf("the janitor mended %d instances of a sound store", n)
	}
	fetchTurns(t, p, turnsRequest()) // the one that is ready
	exec(t, p, `UPDATE perdure.instance SET lease_token = NULL, lease_owner = '', lease_until = 0`)
	exec(t, p, `UPDATE perdure.instance SET ready_at = 0, fetch_at = 0 WHERE key = ANY($1)`, uuids([]provider.UUID{in.Key, paused.Key}))
	exec(t, p, `UPDATE perdure.instance SET ready_at = 0, fetch_at = 0 WHERE key >= 'f0000000-0000-0000-0000-000000000000'`)
	wrongs := number(t, p, `SELECT count(*) FROM perdure.instance i WHERE ready_at = 0 AND inbox_messages > 0`)
	fetched := fetchLater(t, p)
	p.janitor.sweep()
	if turns := <-fetched; len(turns) != 1 || turns[0].Instance.Key != in.Key {
		t.Errorf("fetched %+v", turns)
	}
	if n := p.janitor.mended.Load(); n != wrongs || wrongs < 3 {
		t.Errorf("the janitor mended %d instances of %d", n, wrongs)
	}
	if n := number(t, p, `SELECT count(*) FROM perdure.instance WHERE key = $1 AND ready_at > 0 AND fetch_at = 0`, uuid(paused.Key)); n != 1 {
		t.Error("the suspended instance is ready, or its ready time is missing")
	}
	for _, what := range []string{"ready times that are not those of the inbox", "fetch times that do not follow from the row"} {
		if n := number(t, p, wrong[what]); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}
