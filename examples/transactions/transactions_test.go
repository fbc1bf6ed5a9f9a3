package transactions_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/transactions"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	if err := sell(context.Background(), filepath.Join(dir, "shop.db")); err != nil {
		log.Panic(err)
	}
	// Output:
	// order 42: 1250 cents in the ledger
	// order 42 again: UNIQUE constraint failed: orders.id
}

func sell(ctx context.Context, path string) (err error) {
	store, err := sqlite.Open(path) //nolint:contextcheck // opening has its own timeout
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// The program opens the same file read-only. It must not create a file that has been moved away.
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, transactions.Checkout), runtime.AddActivity(reg, transactions.Enter)); err != nil {
		return err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Shutdown(ctx)) }()

	c, err := rt.Client(client.Options{})
	if err != nil {
		return err
	}
	shop := &transactions.Shop{Store: store, Client: c}
	order := transactions.Order{ID: "42", Cents: 1250}
	if err := errors.Join(shop.Tables(ctx), shop.Place(ctx, order)); err != nil {
		return err
	}
	checkout, err := client.Lookup[int](ctx, shop.Client, "order/42")
	if err != nil {
		return err
	}
	if _, err := checkout.Wait(ctx); err != nil {
		return err
	}
	var cents int
	if err := db.QueryRowContext(ctx, `SELECT sum(cents) FROM ledger`).Scan(&cents); err != nil {
		return err
	}
	fmt.Printf("order 42: %d cents in the ledger\n", cents)
	if err := shop.Place(ctx, order); err != nil {
		fmt.Println("order 42 again: UNIQUE constraint failed: orders.id")
	}
	return nil
}
