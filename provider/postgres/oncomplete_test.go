package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// running creates an instance with a leased task, and returns the report that completes it.
func running(t *testing.T, p *Provider) provider.TaskReport {
	t.Helper()
	token := unique()
	in := instanceWith(t, p, "in", provider.NewTask{Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}})
	return provider.TaskReport{
		TaskRef: provider.TaskRef{Key: in.Key, Execution: 1, EventID: 1}, Token: token, Attempt: 1, Outcome: provider.TaskComplete, Message: text("done"),
	}
}

// ledger creates a table of the program's with one row, and returns the function that counts there.
func ledger(t *testing.T, p *Provider) func(ctx context.Context, tx pgx.Tx) error {
	t.Helper()
	exec(t, p, `CREATE TABLE perdure.ledger (n int)`)
	exec(t, p, `INSERT INTO perdure.ledger VALUES (0)`)
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, p.db.names.sql(`UPDATE perdure.ledger SET n = n + 1`))
		return err
	}
}

func inHook(fn func(pgx.Tx) error) func(provider.Tx) error {
	return func(tx provider.Tx) error { return fn(tx.Of.(userTx).Tx) }
}

// A process is paused in its function, and holds the row that the function of the next attempt wants. The next attempt
// does not fail: the server ends the transaction of the paused process, whose effect is not stored.
func TestPausedFunctionFailsNoOther(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	p := store(t)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	// The other one must meet the lock before the server ends the transaction.
	p.completions.idle, other.completions.lock = 10*time.Second, 100*time.Millisecond
	count := ledger(t, p)
	item := running(t, p)
	holds, paused := make(chan struct{}), make(chan error, 1)
	resumed := make(chan struct{})
	resume := sync.OnceFunc(func() { close(resumed) })
	defer resume()
	go func() {
		_, err := p.CompleteIn(context.WithoutCancel(t.Context()), item, inHook(func(tx pgx.Tx) error {
			err := count(t.Context(), tx)
			close(holds)
			<-resumed
			return err
		}))
		paused <- err
	}()
	<-holds
	ctx, cancel := context.WithTimeout(t.Context(), lease)
	defer cancel()
	waits := 0
	for {
		_, err := other.CompleteIn(ctx, item, inHook(func(tx pgx.Tx) error { return count(ctx, tx) }))
		if err == nil {
			break
		}
		if !provider.Retryable(err) || provider.OutcomeOf(err) != provider.OutcomeNothing {
			t.Fatalf("the function that waited for the row: %v", err)
		}
		waits++
	}
	resume()
	if err := <-paused; !provider.Retryable(err) { // the engine repeats it, and finds the task gone
		t.Errorf("the process that was paused: %v", err)
	}
	if n := number(t, p, `SELECT n FROM perdure.ledger`); n != 1 || waits == 0 {
		t.Errorf("the effect is stored %d times, after %d waits", n, waits)
	}
	checkConsistent(t, p)
}

// The time of a function is not the store's: it may be longer than the deadline of a database call.
func TestSlowFunctionIsStored(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	first := store(t)
	p := impatient(t, postgrestest.URL(t), Options{Schema: first.db.opts.Schema, Timeout: 2 * time.Second})
	count := ledger(t, first)
	item := running(t, first)
	complete := func() (provider.TaskReportResult, error) {
		return p.CompleteIn(t.Context(), item, inHook(func(tx pgx.Tx) error {
			for range 3 {
				if _, err := tx.Exec(t.Context(), `SELECT pg_sleep(0.8)`); err != nil {
					return err
				}
			}
			return count(t.Context(), tx)
		}))
	}
	res, err := complete()
	for began := time.Now(); provider.Retryable(err) && time.Since(began) < lease; { // on a slow machine
		res, err = complete()
	}
	if err != nil || res.Err != nil {
		t.Fatal(err, res.Err)
	}
	if n := number(t, p, `SELECT n FROM perdure.ledger`); n != 1 {
		t.Errorf("the effect is stored %d times", n)
	}
}

// Lower limits of a connection stay, and no statement timeout comes before the end of a wait for a lock.
func TestLimitsInsideFunctions(t *testing.T) {
	longtest.Skip(t)
	schema := postgrestest.Schema(t, postgrestest.URL(t))
	for settings, want := range map[string][2]string{
		"":                                       {"20s", "2500ms"},
		"&lock_timeout=1min&statement_timeout=0": {"20s", "2500ms"},
		"&lock_timeout=700":                      {"20s", "700ms"},
		"&statement_timeout=2s":                  {"20s", "1500ms"},
		"&idle_in_transaction_session_timeout=9999": {"9999ms", "2500ms"},
	} {
		p := opened(t, postgrestest.URL(t)+settings, Options{Schema: schema})
		var got [2]string
		stop := errors.New("stop")
		item := provider.TaskReport{TaskRef: provider.TaskRef{Key: unique(), Execution: 1, EventID: 1}, Token: unique(), Attempt: 1, Outcome: provider.TaskComplete}
		_, err := p.CompleteIn(t.Context(), item, inHook(func(tx pgx.Tx) error {
			const limits = `SELECT current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout')`
			return errors.Join(tx.QueryRow(t.Context(), limits).Scan(&got[0], &got[1]), stop)
		}))
		if !errors.Is(err, stop) || got != want {
			t.Errorf("%q: idle and lock timeouts %v, want %v; %v", settings, got, want, err)
		}
	}
}
