package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/examples/order"
)

// The lease of the demo's workers, and its bounds. Below the least the runtime refuses it.
const (
	demoLease    = 2 * time.Second
	minDemoLease = 500 * time.Millisecond
	maxDemoLease = time.Minute
)

// defaultOrder is used where the user gives none.
const defaultOrder = `{"id": "order-42", "customer": "Ann", "items": [
  {"sku": "lamp", "quantity": 2, "unit_cents": 4995}, {"sku": "bulb", "quantity": 10, "unit_cents": 498}]}`

const demoText = `Demo runs an order - reserve stock, pack, approve, charge, wait for the carrier, ship - in a worker process,
kills that process with SIGKILL while it packs, starts another one and lets it finish. It prints what happened
and checks that nothing was lost or doubled; if it was, the exit code is 1.

An order is JSON: {"id": "order-42", "customer": "Ann", "items": [{"sku": "lamp", "quantity": 2, "unit_cents": 4995}]}.
With "decline": true the bank refuses the charge, and with a total of 10000.00 or more the manager refuses the
order: what was done is then undone, last step first.`

func newDemo(a *app) *cobra.Command {
	var given string
	var lease time.Duration
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Kill a worker in the middle of an order and watch the order finish",
		Long:  demoText,
		Example: "  perdure demo\n  perdure demo --db demo.db\n" +
			"  perdure demo --order '{\"id\": \"o-1\", \"customer\": \"Bob\", \"decline\": true,\n" +
			"    \"items\": [{\"sku\": \"tv\", \"quantity\": 1, \"unit_cents\": 59900}]}'",
		Args: arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := readText(cmd, "order", given)
			if err != nil {
				return err
			}
			o, err := order.Parse(text)
			if err != nil {
				return badUsage("flag --order: %w", err)
			}
			if lease < minDemoLease || lease > maxDemoLease {
				return badUsage("flag --lease is %v: it must be %v to %v", lease, minDemoLease, maxDemoLease)
			}
			if a.output != outputTable {
				return badUsage("flag --output is %s: the demo prints text only; use --db and then 'perdure history -o json'", a.output)
			}
			return a.demonstrate(cmd, o, lease)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&given, "order", defaultOrder, "your own order as JSON, @file, or - for standard input")
	flags.DurationVar(&lease, "lease", demoLease, "how long work belongs to a worker that no longer renews it")
	cmd.Flag("order").DefValue = "an order of Ann's"
	return cmd
}

// demonstrate runs the demo on the database of the flag --db, which is kept, or on one
// that is removed. The environment's database is not touched: it may be a real one. So may be that of the flag, which is
// therefore refused unless it is empty or the demo has made it.
func (a *app) demonstrate(cmd *cobra.Command, o order.Order, lease time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "perdure-demo-")
	if err != nil {
		return fmt.Errorf("making a directory for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := databaseOf(cmp.Or(a.db, filepath.Join(dir, "demo.db")))
	if err != nil {
		return err
	}
	store, err := a.openForDemo(cmd.Context(), db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	d, err := newPlay(a, cmd, db, cmp.Or(db.ledger(), filepath.Join(dir, "ledger")), o, lease)
	if err != nil {
		return err
	}
	// The bound is for a machine on which nothing moves; the demo ends long before.
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), time.Minute+5*lease, errDemoTime)
	defer cancel()
	err = d.run(ctx, store)
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = cause
	}
	if a.db != "" {
		fmt.Fprintf(d.out, "\nThe database is kept. Look at it with\n  perdure list --db %s\n  perdure history %s --db %s\n",
			shellWord(db.String()), shellWord(d.id), shellWord(db.String()))
	}
	return err
}

var errDemoTime = errors.New("the demo did not end in its time: see the timeline for what did not happen")
