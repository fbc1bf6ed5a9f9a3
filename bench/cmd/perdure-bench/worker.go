package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/runtime"
)

// workerVariable makes a process of this program a worker on the database that it names. A command line would be visible to
// other users of the machine, and the name may contain a password.
const workerVariable = "PERDURE_BENCH_WORKER"

// exitAfter is how long a worker may take to shut down.
const exitAfter = time.Minute

// notice is a line of JSON that a worker writes to its standard output for the process that started it.
type notice struct {
	Ready  bool    `json:"ready,omitempty"`  // it now takes work
	Totals *totals `json:"totals,omitempty"` // at its end
}

// worker is a process that works on a store.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	ready  chan struct{} // closed when it takes work
	exited chan struct{} // closed when it has exited, after err and used are set
	used   totals
	err    error
}

// startWorker starts this program as a worker. It shuts down when this process dies.
func startWorker(db string, stderr io.Writer) (*worker, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to start as a worker: %w", err)
	}
	//nolint:noctx,gosec // stop ends the worker, which is this program; a context would end it without its figures
	w := &worker{cmd: exec.Command(binary), ready: make(chan struct{}), exited: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), workerVariable+"="+db)
	w.cmd.Stderr = stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	go w.listen(stdout)
	return w, nil
}

// listen reads notices until the process exits.
func (w *worker) listen(stdout io.Reader) {
	defer close(w.exited)
	for lines := json.NewDecoder(stdout); ; {
		var n notice
		if lines.Decode(&n) != nil {
			break
		}
		if n.Ready {
			close(w.ready)
		}
		if n.Totals != nil {
			w.used = *n.Totals
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	w.err = w.cmd.Wait()
}

// await waits until the worker takes work.
func (w *worker) await(ctx context.Context) error {
	select {
	case <-w.ready:
		return nil
	case <-w.exited:
		return fmt.Errorf("worker %d ended before it was ready: %w", w.cmd.Process.Pid, w.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop lets the worker shut down in phases.
func (w *worker) stop() error {
	_ = w.stdin.Close()
	<-w.exited
	if w.err != nil {
		return fmt.Errorf("worker %d: %w", w.cmd.Process.Pid, w.err)
	}
	return nil
}

// runWorker works on a database until its input ends, and then says what it used.
func runWorker(ctx context.Context, db string, in io.Reader, out, errs io.Writer) (err error) {
	logger, err := newLogger(errs, "warn")
	if err != nil {
		return err
	}
	store, err := openStore(ctx, db, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	reg := runtime.NewRegistry()
	if err := workload.Register(reg); err != nil { //nolint:contextcheck // registering needs no context
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: logger})
	if err != nil {
		return err
	}
	go func() { // the input ends when the starting process dies
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	lines := json.NewEncoder(out)
	_ = lines.Encode(notice{Ready: true}) //nolint:errchkjson // there is no one else to report the error to
	<-ctx.Done()
	forced := time.AfterFunc(exitAfter, func() {
		fmt.Fprintf(errs, "perdure-bench: worker: shutdown took longer than %v: exiting\n", exitAfter)
		os.Exit(int(exitFailure))
	})
	defer forced.Stop()
	if err := rt.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	used := readTotals(store)
	return lines.Encode(notice{Totals: &used})
}
