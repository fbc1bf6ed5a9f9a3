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
	"github.com/perdure/perdure/internal/shell"
)

// The lease of the demo's workers and its bounds. The runtime refuses a shorter lease.
const (
	demoLease    = 2 * time.Second
	minDemoLease = 500 * time.Millisecond
	maxDemoLease = time.Minute
)

// ledgerVariable names the folder in which the activities record their effects, for a program that judges the demo.
const ledgerVariable = "PERDURE_DEMO_LEDGER"

// defaultOrder is the order of a demo without --order.
const defaultOrder = `{"id": "order-42", "customer": "Ann", "items": [
  {"sku": "lamp", "quantity": 2, "unit_cents": 4995}, {"sku": "bulb", "quantity": 10, "unit_cents": 498}]}`

const demoText = `Demo runs an order in a worker process: reserve stock, pack, approve, charge, wait for the carrier, ship.
It kills the worker with SIGKILL during packing, starts another one and lets that one finish. It prints a timeline
and how the order ended.

An order is JSON: {"id": "order-42", "customer": "Ann", "items": [{"sku": "lamp", "quantity": 2, "unit_cents": 4995}]}.
With "decline": true the bank declines the charge. With a total of 10000.00 or more the manager refuses the order.
In both cases the finished steps are undone, last step first.`

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
	flags.StringVar(&given, "order", defaultOrder, "order as JSON, @file, or - for standard input")
	flags.DurationVar(&lease, "lease", demoLease, "how long a worker keeps its work without renewing the lease")
	cmd.Flag("order").DefValue = "a sample order"
	return cmd
}

// demonstrate runs the demo on the database of the flag --db, which is kept, or on a temporary one. It ignores the
// environment's database, which may be a real one. It refuses the flag's database unless that is empty or was made
// by the demo.
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
	d, err := newDemoRun(a, cmd, db, cmp.Or(os.Getenv(ledgerVariable), db.ledger(), filepath.Join(dir, "ledger")), o, lease)
	if err != nil {
		return err
	}
	// The timeout is for a machine that makes no progress; the demo takes much less.
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), time.Minute+5*lease, errDemoTime)
	defer cancel()
	err = d.run(ctx, store)
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = cause
	}
	if a.db != "" {
		fmt.Fprintf(d.out, "\nThe database is kept. Inspect it with\n  perdure list --db %s\n  perdure history %s --db %s\n",
			shell.Word(db.String()), shell.Word(d.id), shell.Word(db.String()))
	}
	return err
}

var errDemoTime = errors.New("demo timed out: see the timeline for the missing step")
