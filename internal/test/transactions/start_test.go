package transactions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func Echo(_ *orchestration.Context, n int) (int, error) { return n, nil }

func Await(ctx *orchestration.Context, _ struct{}) (string, error) {
	return orchestration.Events[string](ctx, "word").Receive(ctx)
}

// engineOn returns an engine that closes the store at the end.
func engineOn(t *testing.T, h *house) *enginetest.Engine {
	t.Helper()
	return enginetest.On(t, h.store, runtime.Options{Lease: 5 * time.Second})
}

// node runs all orchestrations of these tests on the house.
func node(t *testing.T, h *house, add ...func(*runtime.Registry)) *client.Client {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Echo), runtime.AddOrchestration(reg, Await)); err != nil {
		t.Fatal(err)
	}
	for _, fn := range add {
		fn(reg)
	}
	engineOn(t, h).Start(reg)
	return clienttest.New(t, h.store, client.Options{Errors: reg.Errors()})
}

// A start is stored with the row that it belongs to, or neither is.
func TestStartsWithItsRow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h)
		h.within(t, func(tx transaction) bool {
			_, err := client.Start(t.Context(), c, Echo, 1, client.WithID("undone"), tx.tx)
			if err := errors.Join(err, tx.exec(enter)); err != nil {
				t.Fatal(err)
			}
			return false
		})
		h.ledger(t, 0)
		if _, err := client.Lookup[int](t.Context(), c, "undone"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("the instance of a transaction that was rolled back: %v", err)
		}
		var handle client.Handle[int]
		h.within(t, func(tx transaction) (commit bool) {
			var err error
			handle, err = client.Start(t.Context(), c, Echo, 2, client.WithID("done"), tx.tx)
			if err := errors.Join(err, tx.exec(enter)); err != nil {
				t.Fatal(err)
			}
			return true
		})
		h.ledger(t, 1)
		if got, err := handle.Wait(t.Context()); err != nil || got != 2 {
			t.Errorf("the instance returned %d, %v", got, err)
		}
	})
}

// The first turn begins soon after the commit, although the store gets no notification. The limit is 50 ms; ten times
// that would mean a poll. A busy machine delays many of the turns, and a fault delays all. So the fifth fastest is judged.
func TestFirstTurnFollowsTheCommit(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond
	each(t, func(t *testing.T, h *house) {
		began := make(chan time.Time, 1)
		c := node(t, h, func(reg *runtime.Registry) {
			enginetest.Orchestration(t, reg, "stamp", func(*orchestration.Context, int) (int, error) {
				began <- time.Now()
				return 0, nil
			})
		})
		var waits []time.Duration
		for range 20 {
			h.within(t, func(tx transaction) bool {
				if _, err := client.StartNamed[int](t.Context(), c, "stamp", 1, tx.tx); err != nil {
					t.Fatal(err)
				}
				return true
			})
			committed := time.Now()
			waits = append(waits, (<-began).Sub(committed))
		}
		slices.Sort(waits)
		t.Logf("first turn after the commit: fifth fastest %v, p50 %v, longest %v", waits[4], waits[len(waits)/2], waits[len(waits)-1])
		if waits[4] > limit {
			t.Errorf("the fifth fastest of %d first turns began %v after its commit", len(waits), waits[4])
		}
	})
}

func TestRaisesWithItsRow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h)
		handle, err := client.Start(t.Context(), c, Await, struct{}{}, client.WithID("await"))
		if err != nil {
			t.Fatal(err)
		}
		raise := func(word string, commit bool) {
			h.within(t, func(tx transaction) bool {
				if err := errors.Join(tx.exec(enter), c.Raise(t.Context(), "await", "word", word, tx.tx)); err != nil {
					t.Fatal(err)
				}
				return commit
			})
		}
		raise("undone", false)
		raise("done", true)
		h.ledger(t, 1)
		if got, err := handle.Wait(t.Context()); err != nil || got != "done" {
			t.Errorf("it received %q, %v", got, err)
		}
		h.within(t, func(tx transaction) bool {
			if err := handle.Raise(t.Context(), "word", "late", tx.tx); !errors.Is(err, client.ErrEnded) {
				t.Errorf("raising to one that has ended: %v", err)
			}
			own, err := client.Start(t.Context(), c, Await, struct{}{}, tx.tx)
			if err := errors.Join(err, own.Raise(t.Context(), "word", "own", tx.tx)); err != nil {
				t.Fatal(err)
			}
			handle = own
			return true
		})
		if got, err := handle.Wait(t.Context()); err != nil || got != "own" {
			t.Errorf("it received %q, %v", got, err)
		}
	})
}

// A refused call leaves the transaction usable. That includes Postgres, where the error of a statement would end it.
func TestRefusalLeavesTheTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h)
		first, err := client.Start(t.Context(), c, Await, struct{}{}, client.WithID("taken"))
		if err != nil {
			t.Fatal(err)
		}
		h.within(t, func(tx transaction) bool {
			_, err := client.Start(t.Context(), c, Await, struct{}{}, client.WithID("taken"), tx.tx)
			if exists, ok := errors.AsType[*client.ExistsError](err); !ok || exists.Key != first.Key() {
				t.Errorf("a start under an ID that is in use: %v", err)
			}
			if err := tx.exec(enter); err != nil {
				t.Errorf("the transaction is of no use any more: %v", err)
			}
			return true
		})
		h.ledger(t, 1)
	})
}

// Many transactions run at once. Half of them are rolled back, and some have colliding IDs.
func TestManyTransactionsAtOnce(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h)
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				for i := range 20 {
					id := fmt.Sprint("instance-", i)
					tx, err := h.begin(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					end := tx.rollback
					_, err = client.Start(t.Context(), c, Echo, i, client.WithID(id), tx.tx)
					switch {
					case err == nil && i%2 == 0:
						err, end = tx.exec(enter), tx.commit
					case errors.Is(err, client.ErrExists):
						err = nil
					}
					if err := errors.Join(err, end()); err != nil {
						t.Errorf("worker %d, %s: %v", worker, id, err)
						return
					}
				}
			})
		}
		group.Wait()
		h.ledger(t, 10)
		for i := range 20 {
			handle, err := client.Lookup[int](t.Context(), c, fmt.Sprint("instance-", i))
			if i%2 == 1 {
				if !errors.Is(err, client.ErrNotFound) {
					t.Errorf("instance %d was rolled back each time: %v", i, err)
				}
				continue
			}
			if got, err := handle.Wait(t.Context()); err != nil || got != i {
				t.Errorf("instance %d returned %d, %v", i, got, err)
			}
		}
	})
}

// A transaction on another database is refused, and nothing is stored on either.
func TestForeignTransactions(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h)
		for name, other := range foreigners(t) {
			other.within(t, func(tx transaction) bool {
				if _, err := client.Start(t.Context(), c, Echo, 1, client.WithID("foreign"), tx.tx); !errors.Is(err, client.ErrForeignTx) {
					t.Errorf("a start inside a transaction on %s: %v", name, err)
				}
				if err := tx.exec(enter); err != nil {
					t.Errorf("the transaction on %s is of no use any more: %v", name, err)
				}
				return true
			})
		}
		if _, err := client.Lookup[int](t.Context(), c, "foreign"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("it was started all the same: %v", err)
		}
	})
}

// foreigners returns databases that belong to no other house.
func foreigners(t *testing.T) map[string]*house {
	t.Helper()
	file := onSQLite(t, filepath.Join(t.TempDir(), "other.db"))
	database := onPostgres(t, anotherDatabase(t), "perdure")
	t.Cleanup(func() {
		if err := errors.Join(file.store.Close(), database.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return map[string]*house{"another file": file, "another database": database}
}

// anotherDatabase creates a database on the shared server and returns its URL.
func anotherDatabase(t *testing.T) string {
	t.Helper()
	url := postgrestest.URL(t)
	name := postgrestest.Schema(t, url)
	run := func(statement string) {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(ctx, statement+pgx.Identifier{name}.Sanitize())
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			t.Error(err)
		}
	}
	run("CREATE DATABASE ")
	t.Cleanup(func() { run("DROP DATABASE ") })
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(url, "/"+config.Database+"?", "/"+name+"?", 1)
}

// Nothing is stored after the end of a transaction, however it ended.
func TestStartAfterTheEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		c := node(t, h)
		for how, end := range map[string]func(transaction) error{
			"commit": func(tx transaction) error { return tx.commit() }, "rollback": func(tx transaction) error { return tx.rollback() },
			"statement": func(tx transaction) error { return tx.exec("COMMIT") },
		} {
			tx, err := h.begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Start(t.Context(), c, Echo, 1, client.WithID("late"), tx.tx); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("a start after the end by %s: %v", how, err)
			}
			if err := c.Raise(t.Context(), "late", "word", "late", tx.tx); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("an event after the end by %s: %v", how, err)
			}
			_ = tx.rollback() // it releases the connection
		}
		if _, err := client.Lookup[int](t.Context(), c, "late"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("it was started all the same: %v", err)
		}
	})
}
