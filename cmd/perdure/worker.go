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

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// workerVariable makes a process of this program a worker of the process that started it. No command starts a worker,
// since a worker takes the work of a whole database and its results are made up.
const workerVariable = "PERDURE_STARTED_WORKER"

// workloadDemo is the value of workerOptions.Workload. Tests add others.
const workloadDemo = "demo"

// stepsPerLease makes packing take longer than a lease, so that it is in flight when the worker is killed, and leases
// and heartbeats matter.
const stepsPerLease = 6

// exitAfter is the timeout of a worker's shutdown.
const exitAfter = time.Minute

// workerOptions is passed to a worker as JSON in workerVariable. A command line would be visible to other users of the
// machine, and the name of the database may contain a password.
type workerOptions struct {
	DB          string        `json:"db"`
	Workload    string        `json:"workload"`
	Ledger      string        `json:"ledger,omitempty"` // path at which activities record their effects
	Lease       time.Duration `json:"lease"`
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`
	ExitAfter   time.Duration `json:"exitAfter,omitempty"` // 0: exitAfter
	LogLevel    string        `json:"logLevel,omitempty"`
}

// workerCode returns the orchestrations and activities of a workload.
type workerCode func(workerOptions, *notifier) (*runtime.Registry, error)

// notice is a line of JSON that a worker writes to its standard output for the process that started it.
type notice struct {
	At       time.Time       `json:"at"`
	PID      int             `json:"pid"`
	Ready    bool            `json:"ready,omitempty"` // it now takes work
	Owner    string          `json:"owner,omitempty"` // with Ready: the name under which it holds leases
	Progress *order.Progress `json:"progress,omitempty"`
}

// runWorker runs a worker process from start to exit.
func runWorker(ctx context.Context, options string, code workerCode, in io.Reader, out, errs io.Writer) exitCode {
	var o workerOptions
	err := json.Unmarshal([]byte(options), &o)
	if err == nil {
		err = o.work(ctx, code, in, out, errs)
	}
	if err != nil {
		fmt.Fprintf(errs, "perdure: worker: %s\n", lines(dbname.Mask(err.Error())))
	}
	return codeOf(err)
}

func (o workerOptions) work(ctx context.Context, code workerCode, in io.Reader, out, errs io.Writer) (err error) {
	a := &app{}
	if a.logger, err = newLogger(errs, cmp.Or(o.LogLevel, "warn")); err != nil {
		return err
	}
	db, err := databaseOf(o.DB)
	if err != nil {
		return err
	}
	notices := &notifier{w: out}
	reg, err := code(o, notices)
	if err != nil {
		return err
	}
	store, err := db.open(ctx, a.logger)
	if err != nil {
		return err
	}
	ended := func() {}
	defer func() { ended() }()
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := o.admit(ctx, db, store); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{
		Lease: o.Lease, Leaks: runtime.LeakOptions{GracePeriod: o.GracePeriod, OnFatal: func(error) { cancel() }}, Logger: a.logger,
		Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: o.Lease / stepsPerLease}, // each step is stored
	})
	if err != nil {
		return err
	}
	go func() { // the input ends when the starting process dies
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	notices.notify(notice{Ready: true, Owner: rt.Owner()})
	<-ctx.Done()
	ended = forceExit(cmp.Or(o.ExitAfter, exitAfter), errs)
	// A phased shutdown waits, so it must not see the cancelled context.
	ctx = context.WithoutCancel(ctx)
	return rt.Shutdown(ctx)
}

// admit returns an error for a worker of the demo on a database that the demo has not made.
func (o workerOptions) admit(ctx context.Context, db database, store provider.Provider) error {
	if o.Workload != workloadDemo {
		return nil
	}
	c, err := client.New(store, client.Options{})
	if err != nil {
		return err
	}
	marked, err := hasDemoMark(ctx, c)
	if err == nil && !marked {
		err = refusal(db)
	}
	return err
}

// productCode returns the workloads of the program's own commands.
func productCode(o workerOptions, notices *notifier) (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	if o.Workload != workloadDemo {
		return nil, badUsage("there is no workload %q", o.Workload)
	}
	ledger, err := order.OpenLedger(o.Ledger)
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	shop := &order.Shop{
		Ledger: ledger, StepTime: o.Lease / stepsPerLease,
		Watch: func(p order.Progress) { notices.notify(notice{Progress: &p}) },
	}
	return reg, errors.Join(runtime.AddOrchestration(reg, mark), order.Register(reg, shop))
}

// notifier writes notices, one line each. It ignores errors: a worker continues when no process listens any more.
type notifier struct {
	mu sync.Mutex
	w  io.Writer
}

func (n *notifier) notify(line notice) {
	line.At, line.PID = time.Now().UTC(), os.Getpid()
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = json.NewEncoder(n.w).Encode(line) //nolint:errchkjson // there is no one else to report the error to
}
