package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
)

// A countdown is a context that is cancelled after a number of checks.
type countdown struct {
	context.Context

	left   int
	cancel context.CancelFunc
}

func countDown(ctx context.Context, left int) *countdown {
	ctx, cancel := context.WithCancel(ctx)
	return &countdown{Context: ctx, left: left, cancel: cancel}
}

func (c *countdown) Done() <-chan struct{} {
	if c.left--; c.left < 0 {
		c.cancel()
	}
	return c.Context.Done()
}

// If a caller gives up at any statement of a call, the call leaves nothing in its transaction, which can still be used.
func TestCallInsideATransactionIsCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for statements := 0; ; statements++ {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx := countDown(t.Context(), statements)
		_, called := p.CreateIn(ctx, InTx(tx), provider.CreateRequest{
			ID: "i", Key: newKey(), Commit: newToken(), Name: "x", Message: provider.NewMessage{Payload: payload},
		})
		ctx.cancel()
		var rows int
		err = errors.Join(tx.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM perdure_instance) + (SELECT count(*) FROM perdure_inbox)`).Scan(&rows), tx.Commit())
		if err != nil {
			t.Fatalf("cancelled after %d statements: the transaction is of no use any more: %v", statements, err)
		}
		if called == nil {
			return
		}
		if rows > 0 {
			t.Fatalf("cancelled after %d statements: %d rows are left of it", statements, rows)
		}
		if statements > 1000 {
			t.Fatal("it never succeeds")
		}
	}
}
