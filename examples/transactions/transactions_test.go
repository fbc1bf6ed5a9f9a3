package transactions_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/transactions"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider/sqlite"
)

// An order, its checkout and its entry in the ledger are there once, however often the order is placed.
func TestOrderIsEnteredOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test is over
	// The program opens the same file read-only. It must not create a file that has been moved away.
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it was only read

	orchestrationtest.RunRealTime(t, store, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, transactions.Checkout)
		orchestrationtest.AddActivity(e, transactions.Enter)
		shop := &transactions.Shop{Store: store, Client: e.Client()}
		order := transactions.Order{ID: "42", Cents: 1250}
		if err := errors.Join(shop.Tables(e.Context()), shop.Place(e.Context(), order)); err != nil {
			t.Fatal(err)
		}
		checkout, err := client.Lookup[int](e.Context(), shop.Client, "order/42")
		if err != nil {
			t.Fatal(err)
		}
		if cents, err := checkout.Wait(e.Context()); cents != 1250 || err != nil {
			t.Errorf("%d, %v", cents, err)
		}
		if err := shop.Place(e.Context(), order); err == nil {
			t.Error("the order was placed twice")
		}
		var entries, cents int
		err = db.QueryRowContext(e.Context(), `SELECT count(*), sum(cents) FROM ledger`).Scan(&entries, &cents)
		if entries != 1 || cents != 1250 || err != nil {
			t.Errorf("%d entries of %d cents in the ledger, %v", entries, cents, err)
		}
	})
}
