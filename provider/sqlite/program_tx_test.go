package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// orders opens a store with a table of the program's own.
func orders(t *testing.T, o Options) *Provider {
	t.Helper()
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), o)
	tx := beginOwn(t, p)
	if _, err := tx.ExecContext(t.Context(), `CREATE TABLE orders (id TEXT PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return p
}

func beginOwn(t *testing.T, p *Provider) *sql.Tx {
	t.Helper()
	tx, err := p.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func place(ctx context.Context, p *Provider, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?)`, id)
	if err != nil {
		return err
	}
	_, err = p.CreateIn(ctx, InTx(tx), provider.CreateRequest{
		ID: id, Key: newKey(), Commit: newToken(), Name: "x", Message: provider.NewMessage{Payload: payload},
	})
	return err
}

// stored reads how many orders and instances are stored.
func stored(t *testing.T, p *Provider) (orders, instances int) {
	t.Helper()
	tx, err := p.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	row := tx.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM perdure_instance)`)
	if err := errors.Join(row.Scan(&orders, &instances), tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	return orders, instances
}

// A transaction of BeginTx stores its own rows and those of InTx together or not at all.
func TestOwnTransactionStoresAllOrNothing(t *testing.T) {
	p := orders(t, Options{})
	tx := beginOwn(t, p)
	if err := errors.Join(place(t.Context(), p, tx, "kept"), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	tx = beginOwn(t, p)
	if err := errors.Join(place(t.Context(), p, tx, "undone"), tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	if n, m := stored(t, p); n != 1 || m != 1 {
		t.Errorf("%d orders and %d instances: want one of each", n, m)
	}
	if err := createIn(t.Context(), p, "after"); err != nil {
		t.Error("the store writes no more:", err)
	}
}

// Transactions of the program and the store's own writes take turns in order of arrival.
func TestOwnTransactionsTakeTurnsWithTheStore(t *testing.T) {
	p := orders(t, Options{BusyTimeout: time.Minute})
	release := hold(t, p)
	type step struct {
		what string
		err  error
	}
	steps := make(chan step, 3)
	waiting := func(n int) func() bool {
		return func() bool {
			p.store.writeQueue.queueMu.Lock()
			defer p.store.writeQueue.queueMu.Unlock()
			return len(p.store.writeQueue.waiting) == n
		}
	}
	for n, id := range []string{"first", "second"} {
		go func() {
			tx, err := p.BeginTx(t.Context(), nil)
			steps <- step{id, err}
			if err != nil {
				return
			}
			if err := errors.Join(place(t.Context(), p, tx, id), tx.Commit()); err != nil {
				t.Error(err)
			}
		}()
		await(t, id+" to wait in the queue", waiting(n+1))
	}
	created := make(chan error, 1)
	go func() { created <- createIn(t.Context(), p, "third") }()
	release()
	for _, id := range []string{"first", "second"} {
		if s := <-steps; s.err != nil || s.what != id {
			t.Fatalf("%s began (%v): want %s", s.what, s.err, id)
		}
	}
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	await(t, "all to be stored", func() bool {
		n, m := stored(t, p)
		return n == 2 && m == 3
	})
}

// A forgotten transaction keeps the store from writing. The error says where it began.
func TestForgottenTransactionIsNamed(t *testing.T) {
	p := orders(t, Options{BusyTimeout: 50 * time.Millisecond})
	tx := beginOwn(t, p)
	want := func(err error, says ...string) {
		t.Helper()
		if err == nil || provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
			t.Fatalf("error %v: want one that says nothing happened and may be retried", err)
		}
		for _, text := range says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("error %q does not say %q", err, text)
			}
		}
	}
	want(createIn(t.Context(), p, "one"), "BeginTx began it at program_tx_test.go:", "commit it or roll it back")
	_, err := p.BeginTx(t.Context(), nil)
	want(err, "BeginTx began it at program_tx_test.go:")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	db, err := sql.Open("sqlite", "file:"+p.store.path+"?mode=rw&_txlock=immediate&_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // its transaction is over
	if tx, err = db.BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want(createIn(t.Context(), p, "one"), "a connection that is not the store's", "commit it or roll it back")
	if err := place(t.Context(), p, tx, "lent"); err != nil {
		t.Fatal(err)
	}
	want(createIn(t.Context(), p, "one"), "InTx at program_tx_test.go:", "commit it or roll it back")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := createIn(t.Context(), p, "one"); err != nil {
		t.Error("the file is free again:", err)
	}
}

// A context that ends ends the wait, and rolls back a transaction that has begun.
func TestOwnTransactionEndsWithItsContext(t *testing.T) {
	p := orders(t, Options{BusyTimeout: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	open, err := p.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := place(ctx, p, open, "undone"); err != nil {
		t.Fatal(err)
	}
	brief, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer leave()
	if _, err := p.BeginTx(brief, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the wait for a turn:", err)
	}
	cancel()
	tx := beginOwn(t, p)
	if err := errors.Join(place(t.Context(), p, tx, "kept"), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	if err := open.Commit(); err == nil {
		t.Error("a transaction was committed after its context had ended")
	}
	if n, m := stored(t, p); n != 1 || m != 1 {
		t.Errorf("%d orders and %d instances: want one of each", n, m)
	}
}

// Close rolls back open transactions, and ends the waits of BeginTx.
func TestCloseEndsOwnTransactions(t *testing.T) {
	p := orders(t, Options{BusyTimeout: time.Minute})
	if err := place(t.Context(), p, beginOwn(t, p), "undone"); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := p.BeginTx(t.Context(), nil)
		waits <- err
	}()
	await(t, "the second to wait in the queue", func() bool {
		p.store.writeQueue.queueMu.Lock()
		defer p.store.writeQueue.queueMu.Unlock()
		return len(p.store.writeQueue.waiting) == 1
	})
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waits; !errors.Is(err, provider.ErrClosed) {
		t.Error("who waited for its turn:", err)
	}
	if _, err := p.BeginTx(t.Context(), nil); !errors.Is(err, provider.ErrClosed) {
		t.Error("a closed store began a transaction:", err)
	}
	if n, m := stored(t, openTest(t, p.store.path, Options{})); n != 0 || m != 0 {
		t.Errorf("%d orders and %d instances: want none", n, m)
	}
}

// A handle ends its own transactions, also while another handle keeps the store open, and leaves those of the other alone.
func TestCloseEndsTheTransactionsOfItsHandle(t *testing.T) {
	p := orders(t, Options{})
	other := openTest(t, p.store.path, Options{})
	if err := place(t.Context(), p, beginOwn(t, p), "undone"); err != nil {
		t.Fatal(err)
	}
	reading, err := other.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := place(t.Context(), other, beginOwn(t, other), "of the other"); err != nil {
		t.Error("the closed handle still holds the file:", err)
	}
	if _, err := reading.ExecContext(t.Context(), `SELECT 1`); err != nil {
		t.Error("the transaction of the other handle was ended:", err)
	}
	if err := reading.Rollback(); err != nil {
		t.Error(err)
	}
}

func TestOwnTransactionOfAStoreThatIsRead(t *testing.T) {
	path := orders(t, Options{}).store.path
	execSQL(t, path, `VACUUM INTO '`+path+`.copy'`)
	p := openTest(t, path+".copy", Options{ReadOnly: true})
	if _, err := p.BeginTx(t.Context(), nil); !errors.Is(err, ErrReadOnly) {
		t.Error("a transaction that writes:", err)
	}
	if n, _ := stored(t, p); n != 0 {
		t.Errorf("%d orders", n)
	}
	for _, p := range []*Provider{p, openTest(t, path, Options{})} {
		tx, err := p.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), `INSERT INTO orders VALUES ('x')`); err == nil {
			t.Error("a transaction for reading wrote")
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	if p := openTest(t, path, Options{}); place(t.Context(), p, beginOwn(t, p), "x") != nil {
		t.Error("a connection that was used for reading does not write")
	}
}
