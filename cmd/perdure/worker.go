package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/bench/workload"
	"github.com/perdure/perdure/cmd/perdure/internal/churn"
	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/runtime"
)

// The values of the worker's flag --workload.
const (
	workloadOrder = "order" // of the demo
	workloadChurn = "churn" // of the test that kills workers
	workloadHang  = "hang"  // of the test of leaked work
	workloadBench = "bench" // of the command bench
)

// stepsPerLease makes packing last longer than a lease, so that it is still going on
// when the worker is killed, and its leases and heartbeats matter.
const stepsPerLease = 6

// notice is a line of JSON that a worker writes to its standard output for whoever started it.
type notice struct {
	At       time.Time       `json:"at"`
	PID      int             `json:"pid"`
	Ready    bool            `json:"ready,omitempty"` // it takes work from here on
	Owner    string          `json:"owner,omitempty"` // with Ready: the name under which it holds leases
	Progress *order.Progress `json:"progress,omitempty"`
	Totals   *totals         `json:"totals,omitempty"` // with the workload bench, at the end
}

type workerOptions struct {
	lease    time.Duration
	workload string
	ledger   string
	attached bool
	grace    time.Duration
	exit     time.Duration
}

// newWorker is the process that the demo and the kill test start and kill.
func newWorker(a *app) *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "Run the demo's orchestrations on a database",
		Hidden: true,
		Args:   arguments,
		RunE:   func(cmd *cobra.Command, _ []string) error { return a.work(cmd, o) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&o.lease, "lease", demoLease, "lease of the runtime")
	flags.StringVar(&o.workload, "workload", workloadOrder, "order, churn, hang or bench")
	flags.StringVar(&o.ledger, "ledger", "", "where activities keep their effects (default: beside the database's file)")
	flags.BoolVar(&o.attached, "attached", false, "shut down when standard input ends, as it does when the starter dies")
	flags.DurationVar(&o.grace, "grace-period", 0, "grace period of the runtime (default: the runtime's own)")
	flags.DurationVar(&o.exit, "exit-after", time.Minute, "end with code 1 when shutting down takes longer; 0: wait without end")
	return cmd
}

func (a *app) work(cmd *cobra.Command, o workerOptions) (err error) {
	db, err := a.database()
	if err != nil {
		return err
	}
	if o.ledger = cmp.Or(o.ledger, db.ledger()); o.ledger == "" && o.workload != workloadBench {
		return badUsage("flag --ledger is missing: a Postgres has no place beside it where activities could keep their effects")
	}
	notices := &notifier{w: cmd.OutOrStdout()}
	reg, err := registry(o, notices)
	if err != nil {
		return err
	}
	store, err := db.create(cmd.Context(), a.logger)
	if err != nil {
		return err
	}
	ended := func() {}
	defer func() { ended() }()
	defer func() { err = errors.Join(err, store.Close()) }()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{
		Lease: o.lease, GracePeriod: o.grace, Logger: a.logger, OnFatal: func(error) { cancel() },
		DefaultHeartbeatThrottle: o.lease / stepsPerLease, // each step is stored
	})
	if err != nil {
		return err
	}
	if o.attached {
		go func() {
			_, _ = io.Copy(io.Discard, cmd.InOrStdin())
			cancel()
		}()
	}
	notices.tell(notice{Ready: true, Owner: rt.Owner()})
	<-ctx.Done()
	ended = forceExit(o.exit, cmd.ErrOrStderr())
	// The waits of a phased shutdown begin now: they must not see the finished context.
	ctx = context.WithoutCancel(ctx)
	err = rt.Shutdown(ctx)
	if o.workload == workloadBench && err == nil {
		used, err := readTotals(ctx, store)
		notices.tell(notice{Totals: &used})
		return err
	}
	return err
}

// registry holds what the worker runs.
func registry(o workerOptions, notices *notifier) (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	switch o.workload {
	case workloadHang:
		return reg, registerHang(reg)
	case workloadChurn:
		return reg, churn.Register(reg, churn.Log(o.ledger))
	case workloadBench:
		return reg, workload.Register(reg)
	case workloadOrder:
	default:
		return nil, badUsage("flag --workload is %q: it must be %s, %s, %s or %s", o.workload, workloadOrder, workloadChurn, workloadHang, workloadBench)
	}
	ledger, err := order.OpenLedger(o.ledger)
	if err != nil {
		return nil, fmt.Errorf("starting worker: %w", err)
	}
	shop := &order.Shop{
		Ledger: ledger, StepTime: o.lease / stepsPerLease,
		Watch: func(p order.Progress) { notices.tell(notice{Progress: &p}) },
	}
	return reg, order.Register(reg, shop)
}

// notifier writes notices, one line each. Nobody may be listening any more; that is no
// reason to stop working.
type notifier struct {
	mu sync.Mutex
	w  io.Writer
}

func (n *notifier) tell(line notice) {
	line.At, line.PID = time.Now().UTC(), os.Getpid()
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = json.NewEncoder(n.w).Encode(line) //nolint:errchkjson // there is nobody else to tell
}
