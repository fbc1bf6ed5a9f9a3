package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

func TestConformance(t *testing.T) {
	empty := emptyStore(t)
	again := func(t *testing.T, first provider.Provider) provider.Provider {
		t.Helper()
		own, _ := provider.As[*Provider](first)
		return openTest(t, own.store.path, Options{})
	}
	opts := []validations.Option{validations.Transactions(beginTx), validations.Handles(again, again)}
	if testing.Short() { // the memory store runs all cases
		opts = append(opts, validations.Part(0, 8))
	}
	if racedetector.On {
		for _, name := range []string{
			"send/inbox-full", "send/inbox-full-of-bytes", "clean/prune-default", "create/messages-to-a-full-inbox", "create/messages-remembered",
			"deliver/reply-of-a-full-inbox", "opener/prefix-messages-in-a-full-inbox", "limits/rows-of-a-commit",
		} {
			opts = append(opts, validations.Skip(name, "make test-long runs it without the race detector, and that of the memory store with it"))
		}
	}
	validations.Run(t, func(t *testing.T) provider.Provider {
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		return openTest(t, path, Options{})
	}, opts...)
}

// beginTx begins a transaction on a store's file, as a program with tables of its own would.
func beginTx(ctx context.Context, p provider.Provider) (validations.Transaction, error) {
	own, _ := provider.As[*Provider](p)
	db, err := sql.Open("sqlite", "file:"+own.store.path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		return validations.Transaction{}, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return validations.Transaction{}, errors.Join(err, db.Close())
	}
	return validations.Transaction{
		Tx: InTx(tx), Commit: tx.Commit, Rollback: func() error { return errors.Join(tx.Rollback(), db.Close()) },
	}, nil
}

// emptyStore returns the file of a fresh store. A copy costs each case less than the migrations, which are slow under the race
// detector.
func emptyStore(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// openTest opens a store that is closed with the test.
func openTest(tb testing.TB, path string, o Options) *Provider {
	tb.Helper()
	p, err := OpenWith(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}
