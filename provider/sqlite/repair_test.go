package sqlite

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// corrupt changes the file behind the back of the heads.
func corrupt(t *testing.T, p *Provider, sql string, args ...any) {
	t.Helper()
	_, err := write(t.Context(), p.handle, "corrupt", 0, func(t *tx, _ *struct{}) error {
		_, err := t.exec(sql, args...)
		p.store.writer.committer.forget()
		t.schedule.stale = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHazard05_JanitorMendsReadyTimes(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	in := create(t, p, "one", "x")
	p.store.janitor.sweep()
	if n := p.store.janitor.repaired.Load(); n != 0 {
		t.Fatalf("repaired %d of a sound store", n)
	}
	corrupt(t, p, `UPDATE perdure_instance SET ready_at = 0, fetch_at = NULL WHERE key = ?`, in.Key)
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	p.store.janitor.sweep()
	if f := <-got; f.err != nil || len(f.res.Turns) != 1 {
		t.Fatalf("fetched %+v", f)
	}
	if n := p.Counters().ReadyMended; n != 1 {
		t.Errorf("repaired %d: want 1", n)
	}
}

func TestUnreadableRowConcernsItsInstanceOnly(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Logger: slog.New(slog.DiscardHandler)})
	bad := create(t, p, "bad", "x")
	create(t, p, "good", "x")
	corrupt(t, p, `UPDATE perdure_instance SET version = X'0102' WHERE key = ?`, bad.Key)
	res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), time.Minute))
	if err != nil || len(res.Turns) != 1 || res.Turns[0].Instance.ID != "good" {
		t.Fatalf("fetched %+v, %v: want the good one", res, err)
	}
	_, err = p.Get(t.Context(), provider.GetRequest{Key: bad.Key})
	if !errors.Is(err, errRow) {
		t.Errorf("error %v: want one about the row", err)
	}
	list, err := p.Count(t.Context(), provider.CountRequest{Filter: provider.Filter{Blocked: true}})
	if err != nil || list.Count != 1 {
		t.Errorf("%d blocked, %v: the bad one must show", list.Count, err)
	}
}

func TestHazard26_LeasesEndWithTheBoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	if res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), 0)); err != nil || len(res.Turns) != 1 {
		t.Fatal(res, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	// Another process has the file, and the lease's process is unknown.
	execSQL(t, path, `UPDATE perdure_meta SET value = 'another boot' WHERE name = 'boot'`, `DELETE FROM perdure_owner`)
	other, err := openPresence(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	p = openTest(t, path, Options{})
	if res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), 0)); err != nil || len(res.Turns) != 1 {
		t.Fatal("the lease of another boot holds:", res, err)
	}
}

func TestUnreadableInstanceDoesNotStopSweeps(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Logger: slog.New(slog.DiscardHandler)})
	c := startChain(t, p, "bad")
	corrupt(t, p, `UPDATE perdure_task SET lease_until = 1`)
	corrupt(t, p, `UPDATE perdure_instance SET version = X'0102', lease_until = 1 WHERE key = ?`, c.key)
	create(t, p, "good", "x")
	res, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), time.Minute))
	if err != nil || len(res.Turns) != 1 {
		t.Fatalf("fetched %+v, %v", res, err)
	}
	if _, err := p.FetchTasks(t.Context(), tasksOf("default", "charge", 0)); err != nil {
		t.Fatal(err)
	}
}

// A sweep of a million waiting instances takes seconds. The next one comes so much later that they cost at most a fifth of a
// percent of a core.
func TestJanitorRestsAfterALongSweep(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: time.Minute, 100 * time.Millisecond: time.Minute, 6 * time.Second: 50 * time.Minute} {
		if got := restAfter(took); got != want {
			t.Errorf("after %v it rests %v, want %v", took, got, want)
		}
	}
}
