// Package transactions shows a shop whose tables and orchestrations change in the same transaction, in one SQLite
// file.
package transactions

import (
	"context"
	"database/sql"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
)

// Order is a customer's order.
type Order struct {
	ID    string
	Cents int
}

// Shop has its own tables in the store's file.
type Shop struct {
	Store  *sqlite.Provider
	Client *client.Client
}

// Tables creates the shop's tables.
func (s *Shop) Tables(ctx context.Context) (err error) {
	tx, err := s.Store.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	_, err = tx.ExecContext(ctx, `CREATE TABLE orders (id TEXT PRIMARY KEY, cents INTEGER NOT NULL);
		CREATE TABLE ledger (entry TEXT PRIMARY KEY, cents INTEGER NOT NULL)`)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// Place stores an order and starts its checkout, or does neither.
func (s *Shop) Place(ctx context.Context, o Order) (err error) {
	tx, err := s.Store.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?, ?)`, o.ID, o.Cents); err != nil {
		return err
	}
	if _, err := client.Start(ctx, s.Client, Checkout, o, client.WithID("order/"+o.ID), sqlite.InTx(tx)); err != nil {
		return err
	}
	return tx.Commit()
}

// ignoreDone ignores the error of a rollback after the commit.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Checkout enters the order into the ledger.
func Checkout(ctx *orchestration.Context, o Order) (int, error) {
	return orchestration.CallActivity(ctx, Enter, o, orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Enter has an effect that happens exactly once, however often the activity runs: the commit that stores the result
// also stores the effect.
func Enter(ctx context.Context, o Order) (int, error) {
	entry := activity.IdempotencyKey(ctx)
	return o.Cents, sqlite.OnComplete(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO ledger VALUES (?, ?)`, entry, o.Cents)
		return err
	})
}
