package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
)

// Ship sends an order.
func Ship(_ *orchestration.Context, order string) (string, error) {
	return order + " is on its way", nil
}

// An order of the program and the start of its orchestration are stored together, or neither is.
func ExampleProvider_BeginTx() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		log.Panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	store, err := sqlite.Open(filepath.Join(dir, "shop.db"))
	if err != nil {
		log.Panic(err)
	}
	defer store.Close() //nolint:errcheck // the program ends
	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}

	tx, err := store.BeginTx(ctx, nil)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	if _, err := tx.ExecContext(ctx, `CREATE TABLE orders (id TEXT)`); err != nil {
		log.Panic(err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES ('order-42')`); err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Ship, "order-42", client.WithID("order-42"), sqlite.InTx(tx))
	if err != nil {
		log.Panic(err)
	}
	if err := tx.Commit(); err != nil {
		log.Panic(err)
	}

	d, err := h.Describe(ctx)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(d.ID, d.Status)
	// Output: order-42 Running
}
