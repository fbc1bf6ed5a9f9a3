package transactions

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// once registers an orchestration "once" that calls an activity with a single attempt.
func once(t *testing.T, work func(context.Context, int) (int, error)) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "work", work)
	enginetest.Orchestration(t, reg, "once", func(ctx *orchestration.Context, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n)
	})
	return reg
}

// fails runs an activity whose function fails and returns the error of the instance. The function must have run once: a
// storage error would be retried until it succeeds.
func fails(t *testing.T, h *house, fn func(ctx context.Context) error) error {
	t.Helper()
	reg := once(t, func(ctx context.Context, n int) (int, error) { return n, fn(ctx) })
	c := clienttest.New(t, h.store, client.Options{})
	engineOn(t, h).Start(reg)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	handle, err := client.StartNamed[int](ctx, c, "once", 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = handle.Wait(ctx)
	if err == nil || ctx.Err() != nil {
		t.Errorf("the instance ended with %v, want the function's error", err)
	}
	return err
}

// A stopping node cancels the context of the function. That is no failure of the activity, which runs again on another
// node.
func TestFunctionIsCancelledByShutdown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		began := make(chan struct{})
		var attempts atomic.Int64
		reg := once(t, func(ctx context.Context, n int) (int, error) {
			if attempts.Add(1) == 1 {
				close(began)
				<-ctx.Done()
			}
			return n, h.onComplete(ctx, func(tx transaction) error { return tx.exec(enter) })
		})
		e := enginetest.On(t, h.store, runtime.Options{Lease: 5 * time.Second, Shutdown: runtime.ShutdownOptions{DrainTimeout: time.Millisecond}, Leaks: runtime.LeakOptions{GracePeriod: 10 * time.Second}})
		first := e.Start(reg)
		handle, err := client.StartNamed[int](t.Context(), clienttest.New(t, h.store, client.Options{}), "once", 7)
		if err != nil {
			t.Fatal(err)
		}
		<-began
		e.Stop(first)
		h.ledger(t, 0)
		e.Start(reg)
		if got, err := handle.Wait(t.Context()); err != nil || got != 7 {
			t.Errorf("the instance returned %d, %v", got, err)
		}
		h.ledger(t, 1)
	})
}

// A function that breaks a deferred constraint fails at the commit. That is a failure of the function, too.
func TestFunctionBreaksADeferredConstraint(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.within(t, func(tx transaction) bool {
			err := errors.Join(tx.exec(`CREATE TABLE account (id int PRIMARY KEY)`),
				tx.exec(`CREATE TABLE transfer (account int REFERENCES account (id) DEFERRABLE INITIALLY DEFERRED)`))
			if err != nil {
				t.Fatal(err)
			}
			return true
		})
		err := fails(t, h, func(ctx context.Context) error {
			return h.onComplete(ctx, func(tx transaction) error { return tx.exec(`INSERT INTO transfer VALUES (1)`) })
		})
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "foreign key") {
			t.Errorf("the instance ended with %v", err)
		}
	})
}

// A function that ends the transaction by a statement has failed, whatever it returns and whatever it called on tx.
func TestFunctionEndsAllByStatement(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		err := fails(t, h, func(ctx context.Context) error {
			return h.onComplete(ctx, func(tx transaction) error {
				err := errors.Join(tx.exec(enter), tx.exec(`ROLLBACK`))
				_ = tx.commit() // there is nothing left to commit
				return err
			})
		})
		if err == nil || !strings.Contains(err.Error(), "by a statement") {
			t.Errorf("the instance ended with %v", err)
		}
		h.ledger(t, 0)
	})
}

// An error that a function on Postgres causes is its own, even if it looks like trouble of the server.
func TestFunctionMeetsTrouble(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	troubles := map[string]func(context.Context, pgx.Tx) error{
		"statement timeout": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 10`)
			if err == nil {
				_, err = tx.Exec(ctx, `SELECT pg_sleep(10)`)
			}
			return err
		},
		"its own deadline": func(ctx context.Context, tx pgx.Tx) error {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			_, err := tx.Exec(ctx, `SELECT pg_sleep(10)`)
			return err
		},
		"a row that is locked": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SELECT entry FROM ledger FOR UPDATE NOWAIT`)
			return err
		},
	}
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.URL(t)
			h := onPostgres(t, url, postgrestest.Schema(t, url))
			h.within(t, func(tx transaction) bool {
				if err := tx.exec(enter); err != nil {
					t.Fatal(err)
				}
				return true
			})
			h.within(t, func(tx transaction) bool {
				if err := tx.exec(`SELECT entry FROM ledger FOR UPDATE`); err != nil {
					t.Fatal(err)
				}
				var runs atomic.Int64
				err := fails(t, h, func(ctx context.Context) error {
					return postgres.OnComplete(ctx, func(tx pgx.Tx) error {
						runs.Add(1)
						return trouble(ctx, tx)
					})
				})
				if runs.Load() != 1 {
					t.Errorf("the function ran %d times until %v", runs.Load(), err)
				}
				return false
			})
		})
	}
}

// A function that waits for a row locked by another transaction has not failed. It runs again until it gets the row,
// although the activity has a single attempt.
func TestFunctionWaitsForARow(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	h := onPostgres(t, url+"&lock_timeout=200", postgrestest.Schema(t, url))
	h.within(t, func(tx transaction) bool {
		if err := tx.exec(enter); err != nil {
			t.Fatal(err)
		}
		return true
	})
	var runs atomic.Int64
	again := make(chan struct{})
	reg := once(t, func(ctx context.Context, n int) (int, error) {
		return n, postgres.OnComplete(ctx, func(tx pgx.Tx) error {
			if runs.Add(1) == 3 {
				close(again)
			}
			_, err := tx.Exec(ctx, `UPDATE ledger SET entry = entry || '.'`)
			return err
		})
	})
	engineOn(t, h).Start(reg)
	var handle client.Handle[int]
	h.within(t, func(tx transaction) bool {
		err := tx.exec(`SELECT entry FROM ledger FOR UPDATE`)
		if err == nil {
			handle, err = client.StartNamed[int](t.Context(), clienttest.New(t, h.store, client.Options{}), "once", 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-again:
		case <-time.After(time.Minute):
			t.Error("the function did not run again")
		}
		return false
	})
	if got, err := handle.Wait(t.Context()); err != nil || got != 7 {
		t.Errorf("the instance ended with %d, %v", got, err)
	}
}

// A function that writes to the file outside its transaction waits for itself, which fails the attempt.
func TestFunctionWritesPastItsTransaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	h := onSQLite(t, path)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	var runs atomic.Int64
	err = fails(t, h, func(ctx context.Context) error {
		return sqlite.OnComplete(ctx, func(*sql.Tx) error {
			runs.Add(1)
			_, err := db.ExecContext(ctx, enter)
			return err
		})
	})
	if runs.Load() != 1 {
		t.Errorf("the function ran %d times until %v", runs.Load(), err)
	}
}

// A function that calls the store outside its transaction would block itself and all writers. The call fails.
func TestFunctionCallsPastItsTransaction(t *testing.T) {
	t.Parallel()
	h := onSQLite(t, filepath.Join(t.TempDir(), "store.db"))
	c := clienttest.New(t, h.store, client.Options{})
	var runs atomic.Int64
	err := fails(t, h, func(ctx context.Context) error {
		return h.onComplete(ctx, func(transaction) error {
			runs.Add(1)
			_, err := client.Start(ctx, c, Echo, 1)
			return err
		})
	})
	if runs.Load() != 1 || err == nil || !strings.Contains(err.Error(), "pass InTx") {
		t.Errorf("the function ran %d times until %v", runs.Load(), err)
	}
}

// A node can shut down and its store can close while a function hangs.
func TestShutdownWhileAFunctionHangs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		began, hanging, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		reg := once(t, func(ctx context.Context, n int) (int, error) {
			return n, h.onComplete(ctx, func(transaction) error {
				defer close(ended)
				close(began)
				<-hanging
				return nil
			})
		})
		rt, err := runtime.Start(t.Context(), h.store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.StartNamed[int](t.Context(), clienttest.New(t, h.store, client.Options{}), "once", 7); err != nil {
			t.Fatal(err)
		}
		<-began
		hurried, cancel := context.WithCancel(t.Context())
		cancel()
		closed := make(chan error, 1)
		go func() {
			err := rt.Shutdown(hurried)
			if errors.Is(err, runtime.ErrLeaked) {
				err = nil
			}
			closed <- errors.Join(err, h.store.Close())
		}()
		select {
		case err = <-closed:
		case <-time.After(14500 * time.Millisecond): // less than the time limit of a function
			err = errors.New("not within 14.5 s")
		}
		if err != nil {
			t.Errorf("shutting down and closing: %v", err)
		}
		close(hanging)
		<-ended
	})
}
