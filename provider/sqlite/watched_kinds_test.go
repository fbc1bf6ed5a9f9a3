package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// addKinds stores kinds of turns and of tasks that no call waits for.
func addKinds(t *testing.T, p *Provider, n int) {
	t.Helper()
	_, err := write(t.Context(), p.handle, "kinds", 0, func(x *tx, _ *struct{}) error {
		if _, err := x.Kinds(); err != nil {
			return err
		}
		for i := range n {
			name := fmt.Sprint("idle-", i)
			if _, err := x.NewTurnKind(relational.TurnKind{Capability: provider.Capability{Name: name}}); err != nil {
				return err
			}
			if _, err := x.NewTaskKind(relational.TaskKind{TaskFilter: relational.TaskFilter{Queue: name, Name: name}, Priority: 5}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A testClock is a store's clock that a test sets.
type testClock struct{ now atomic.Int64 }

func (h *testClock) options() Options {
	h.now.Store(time.Now().UnixMicro())
	return Options{Clock: func() time.Time { return time.UnixMicro(h.now.Load()) }}
}

// createLater stores an instance that becomes ready after a delay.
func createLater(t *testing.T, p *Provider, name string, delay time.Duration) {
	t.Helper()
	_, err := p.Create(t.Context(), provider.CreateRequest{
		ID: name, Key: newKey(), Commit: newToken(), Name: name, Message: provider.NewMessage{Delay: delay},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The turn of a timer costs the same statements however many kinds the store has.
func TestKindsThatNobodyWaitsForCostTimersNothing(t *testing.T) {
	// statements returns the median of what some turns cost. The janitor may write in between, and a turn may share what another call reads.
	statements := func(kinds int) int64 {
		var h testClock
		p := openTest(t, filepath.Join(t.TempDir(), "kinds.db"), h.options())
		addKinds(t, p, kinds)
		fetchAsNodesDo(t, p)
		var counts []int64
		for i := range 11 {
			name := fmt.Sprint("timer-", i)
			createLater(t, p, name, time.Second)
			got := fetchTurns(t.Context(), p, fetchOf(name, newToken(), time.Minute))
			awaitWaiting(t, p.store.writer, 2)
			awaitIdle(t, p)
			n := count(t, p)
			h.now.Add(2 * time.Second.Microseconds())
			p.store.writer.queue.Wake()
			wantTurn(t, got)
			awaitIdle(t, p)
			counts = append(counts, n.Load())
		}
		t.Logf("%d kinds: statements of each turn: %v", kinds, counts)
		slices.Sort(counts)
		return counts[len(counts)/2]
	}
	few, many := statements(0), statements(500)
	if many > few+1 { // a look at each kind would be hundreds
		t.Errorf("%d statements beside 500 kinds of turns and of tasks that nobody waits for, %d without them", many, few)
	}
}

// A commit of another process makes a process read only the kinds that are new.
func TestForeignCommitsCostNoReadOfKnownKinds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kinds.db")
	p := openTest(t, path, Options{})
	addKinds(t, p, 10)
	kinds := func() (rows int, names map[provider.Capability][]int64) {
		_, err := write(t.Context(), p.handle, "kinds", 0, func(x *tx, _ *struct{}) error {
			plain := x.db
			x.db = countedRows{plain, &rows}
			k, err := x.Kinds()
			x.db, names = plain, k.ByCap
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return rows, names
	}
	kinds()
	execSQL(t, path, `INSERT INTO perdure_kind (name, code_version, engine_level) VALUES ('other', '', 1)`)
	if rows, names := kinds(); rows != 1 || len(names[provider.Capability{Name: "other"}]) != 1 {
		t.Errorf("read %d rows to learn of one kind, and know %v", rows, names)
	}
	// A kind that was never committed is forgotten, and another kind gets its number.
	_, err := write(t.Context(), p.handle, "kinds", 0, func(x *tx, _ *struct{}) error {
		if _, err := x.NewTurnKind(relational.TurnKind{Capability: provider.Capability{Name: "gone"}}); err != nil {
			return err
		}
		return provider.ErrConflict
	})
	if err == nil {
		t.Fatal("the call that fails did not")
	}
	create(t, p, "one", "another")
	if _, names := kinds(); len(names[provider.Capability{Name: "gone"}]) != 0 || len(names[provider.Capability{Name: "another"}]) != 1 {
		t.Errorf("after a rollback know %v", names)
	}
	if f := <-fetchTurns(t.Context(), p, fetchOf("another", newToken(), time.Minute)); f.err != nil || len(f.res.Turns) != 1 {
		t.Errorf("fetched %+v", f)
	}
}

// countedRows counts the rows that are read.
type countedRows struct {
	statements

	n *int
}

func (c countedRows) each(sql string, fn func(*row) error, args ...any) error {
	return c.statements.each(sql, func(r *row) error { *c.n++; return fn(r) }, args...)
}

// A kind that a fetch watches only after the due moments were read wakes it, too.
func TestDueTimesCoverAKindFromItsFirstFetch(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *Provider) chan fetched{
		"a waiting fetch": func(ctx context.Context, p *Provider) chan fetched {
			return fetchTurns(ctx, p, fetchOf("late", newToken(), time.Minute))
		},
		"one that did not wait before": func(ctx context.Context, p *Provider) chan fetched {
			_, _ = p.FetchTurns(ctx, fetchOf("late", newToken(), 0)) // the second one counts
			return fetchTurns(ctx, p, fetchOf("late", newToken(), time.Minute))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h testClock
			p := openTest(t, filepath.Join(t.TempDir(), "late.db"), h.options())
			createLater(t, p, "late", time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			other := fetchTurns(ctx, p, fetchOf("other", newToken(), time.Minute))
			defer func() { cancel(); <-other }()
			awaitWaiting(t, p.store.writer, 1)
			rereadDue(t, p)
			got := ask(ctx, p)
			awaitWaiting(t, p.store.writer, 2)
			h.now.Add(2 * time.Hour.Microseconds())
			p.store.writer.queue.Wake()
			wantTurn(t, got)
		})
	}
}

// A kind whose next due moment is unknown does not count as empty.
func TestKindThatNobodyWaitsForIsSearchedAgain(t *testing.T) {
	var h testClock
	p := openTest(t, filepath.Join(t.TempDir(), "again.db"), h.options())
	createLater(t, p, "late", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	other := fetchTurns(ctx, p, fetchOf("other", newToken(), time.Minute))
	defer func() { cancel(); <-other }()
	awaitWaiting(t, p.store.writer, 1)
	fetch := func() int {
		res, err := p.FetchTurns(ctx, fetchOf("late", newToken(), 0))
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Turns)
	}
	fetch()
	for range 3 { // each drops the kinds that were not watched lately
		h.now.Add(2 * time.Minute.Microseconds())
		rereadDue(t, p)
	}
	if n := fetch(); n != 0 {
		t.Fatalf("fetched %d turns early", n)
	}
	h.now.Add(2 * time.Hour.Microseconds())
	if n := fetch(); n != 1 {
		t.Errorf("fetched %d turns when it was due", n)
	}
}

// rereadDue makes the writer read the due moments for the calls that wait now.
func rereadDue(t *testing.T, p *Provider) {
	t.Helper()
	_, err := write(t.Context(), p.handle, "remeasure", 0, func(x *tx, _ *struct{}) error {
		x.schedule.stale = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitIdle(t, p)
}
