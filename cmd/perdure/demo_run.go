package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/provider"
)

// packActivity is the activity in flight when the worker is killed.
const packActivity = order.PackName

// The worker is killed once it has done killAfterStep steps of packing and killAfterStored of them are stored.
const (
	killAfterStep   = order.PackSteps / 2
	killAfterStored = 2
)

// demoRun is one run of the demo.
type demoRun struct {
	out, errs io.Writer
	logger    *slog.Logger
	worker    workerOptions
	binary    string
	order     order.Order
	id        string // of its instance
	lease     time.Duration
	timeline  *journal
	handle    client.Handle[order.Receipt]
	progress  chan notice // about this order
}

func newDemoRun(a *app, cmd *cobra.Command, db database, ledgerPath string, o order.Order, lease time.Duration) (*demoRun, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to start as a worker: %w", err)
	}
	return &demoRun{
		out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), logger: a.logger, order: o, lease: lease,
		id:     o.ID + "-" + uuid.NewString()[:8], // so that an order can run twice on a database
		binary: binary, worker: workerOptions{DB: db.name(), Workload: workloadDemo, Ledger: ledgerPath, Lease: lease, LogLevel: a.logLevel},
		// A worker sends some 30 notices about an order.
		timeline: newJournal(cmd.OutOrStdout()), progress: make(chan notice, 1_000),
	}, nil
}

// run runs the demo.
func (p *demoRun) run(ctx context.Context, store provider.Provider) error {
	p.introduce()
	first, err := p.spawn()
	if err != nil {
		return err
	}
	defer first.kill() //nolint:errcheck // it is dead already unless the demo failed
	c, err := client.New(store, client.Options{Logger: p.logger})
	if err != nil {
		return err
	}
	if p.handle, err = client.Start(ctx, c, order.Process, p.order, client.WithID(p.id)); err != nil {
		return fmt.Errorf("starting the order: %w", err)
	}
	p.timeline.addf(time.Now(), fromClient, "started %s", p.id)
	stop := p.follow(ctx)
	receipt, err := p.killAndRestart(ctx, first)
	err = errors.Join(err, stop())
	if err != nil {
		return err
	}
	p.printReceipt(receipt)
	return nil
}

func (p *demoRun) introduce() {
	o := p.order
	fmt.Fprintf(p.out, "perdure demo: order %s of %s, total %s\n", plain(o.ID), plain(o.Customer), money(o.Total()))
	fmt.Fprintf(p.out, "The lease is %v, so another worker takes over soon after a kill (the runtime's default is 30s).\n\n", p.lease)
}

// spawn starts a worker process.
func (p *demoRun) spawn() (*workerProcess, error) {
	w, err := startProcess(p.binary, p.worker, p.errs, p.watch)
	if err == nil {
		p.timeline.addf(time.Now(), fromProcess, "worker %d started", w.pid())
	}
	return w, err
}

// watch handles a worker's notice.
func (p *demoRun) watch(n notice) {
	if n.Ready {
		p.timeline.addf(n.At, fromProcess, "worker %d is ready", n.PID)
		return
	}
	if n.Progress == nil || n.Progress.Instance != p.id {
		return // about an order of an earlier demo
	}
	p.timeline.activity(n.At, n.Progress.Event, progressText(n.Progress))
	select {
	case p.progress <- n:
	default: // no receiver is left
	}
}

func progressText(s *order.Progress) string {
	switch {
	case s.Fails != "":
		return fmt.Sprintf("%s attempt %d fails: %s", s.Activity, s.Attempt, s.Fails)
	case s.Resumed:
		return fmt.Sprintf("%s resumes after step %d of %d, from the last stored heartbeat (attempt %d, delivery %d)",
			s.Activity, s.Step, s.Total, s.Attempt, s.Delivery)
	case s.Started && s.Delivery > 1:
		return fmt.Sprintf("%s attempt %d begins again (delivery %d)", s.Activity, s.Attempt, s.Delivery)
	case s.Started:
		return fmt.Sprintf("%s attempt %d begins", s.Activity, s.Attempt)
	default:
		return fmt.Sprintf("%s did step %d of %d", s.Activity, s.Step, s.Total)
	}
}

// follow prints the timeline as it grows, until stop.
func (p *demoRun) follow(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		seen := int64(0)
		for {
			n, err := p.readHistory(context.WithoutCancel(ctx), seen)
			seen = n
			p.timeline.settled()
			select {
			case <-ticker.C:
				if err == nil {
					continue
				}
			case <-ctx.Done():
			}
			if err == nil {
				_, err = p.readHistory(context.WithoutCancel(ctx), seen)
			}
			p.timeline.finish()
			done <- err
			return
		}
	}()
	return func() error {
		cancel()
		return <-done
	}
}

// readHistory adds the events after seen to the timeline.
func (p *demoRun) readHistory(ctx context.Context, seen int64) (int64, error) {
	for e, err := range p.handle.History(ctx, 0) {
		if err != nil {
			return seen, fmt.Errorf("following the order: %w", err)
		}
		if e.ID > seen {
			seen = e.ID
			p.timeline.event(&e)
		}
	}
	return seen, nil
}

// killAndRestart is the middle of the demo.
func (p *demoRun) killAndRestart(ctx context.Context, first *workerProcess) (order.Receipt, error) {
	if err := p.awaitMidst(ctx, first); err != nil {
		return order.Receipt{}, err
	}
	if err := first.kill(); err != nil {
		return order.Receipt{}, err
	}
	p.timeline.addf(time.Now(), fromProcess, "worker %d killed with SIGKILL", first.pid())
	second, err := p.spawn()
	if err != nil {
		return order.Receipt{}, err
	}
	defer second.kill() //nolint:errcheck // it is gone already unless the demo failed
	decision := decide(p.order)
	if err := p.handle.Raise(ctx, order.ApprovalEvent, decision); err != nil {
		return order.Receipt{}, fmt.Errorf("deciding on the order: %w", err)
	}
	p.timeline.addf(time.Now(), fromClient, "raised %s: %s", order.ApprovalEvent, decisionText(decision))
	receipt, err := p.awaitEnd(ctx, second)
	if err != nil {
		return receipt, err
	}
	p.timeline.addf(time.Now(), fromClient, "the order has ended")
	err = second.stop()
	p.timeline.addf(time.Now(), fromProcess, "worker %d shut down", second.pid())
	return receipt, err
}

// awaitMidst waits until packing is half done and some of its heartbeats are stored.
func (p *demoRun) awaitMidst(ctx context.Context, w *workerProcess) error {
	for {
		select {
		case n := <-p.progress:
			if n.Progress.Activity != packActivity || n.Progress.Step < killAfterStep {
				continue
			}
			stored, err := p.storedStep(ctx)
			if err != nil {
				return err
			}
			if stored >= killAfterStored {
				return nil
			}
			if n.Progress.Step == order.PackSteps {
				return fmt.Errorf("packing ended before %d heartbeats were stored: the worker could not be killed in time", killAfterStored)
			}
		case <-w.exited:
			return w.unexpected("before it was killed")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// storedStep returns the step of the stored heartbeat.
func (p *demoRun) storedStep(ctx context.Context) (step int, err error) {
	d, err := p.handle.Describe(ctx)
	if err != nil {
		return 0, fmt.Errorf("looking at the order: %w", err)
	}
	for _, pending := range d.Activities {
		if pending.Name == packActivity && len(pending.Heartbeat) > 0 {
			err = json.Unmarshal(pending.Heartbeat, &step)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("reading a heartbeat: %w", err)
	}
	return step, nil
}

// awaitEnd waits for the order's receipt. It fails if the worker exits first.
func (p *demoRun) awaitEnd(ctx context.Context, w *workerProcess) (order.Receipt, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-w.exited:
			cancel(w.unexpected("before the order"))
		case <-ctx.Done():
		}
	}()
	receipt, err := p.handle.Wait(ctx, client.OrBlocked())
	if err != nil {
		return receipt, fmt.Errorf("waiting for the order: %w", err)
	}
	return receipt, nil
}

func (p *demoRun) printReceipt(r order.Receipt) {
	fmt.Fprintf(p.out, "\nThe order was %s", r.Status)
	for _, part := range []struct{ name, value string }{
		{"", r.Reason}, {"payment ", r.Payment}, {"tracking ", r.Tracking}, {"undone: ", strings.Join(r.Undone, ", then ")},
	} {
		if part.value != "" {
			fmt.Fprintf(p.out, "; %s%s", part.name, plain(part.value))
		}
	}
	fmt.Fprintln(p.out, ".")
}

// decide returns the manager's decision on an order.
func decide(o order.Order) order.Approval {
	if o.Total() >= order.ApprovalLimit {
		return order.Approval{By: "manager", Reason: fmt.Sprintf("the total of %s is not below %s", money(o.Total()), money(order.ApprovalLimit))}
	}
	return order.Approval{By: "manager", Approved: true}
}

func decisionText(a order.Approval) string {
	if a.Approved {
		return "the " + a.By + " approves"
	}
	return "the " + a.By + " refuses, " + a.Reason
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
