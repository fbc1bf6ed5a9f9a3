package main

import (
	"io"
	"reflect"
	"testing"
	"time"
)

// lease is the lease of the workers.
const lease = time.Second

// fleet is the workers of the kill test.
type fleet struct {
	t       *testing.T
	worker  workerOptions
	stderr  io.Writer
	workers []*workerProcess

	kills  int // kills of workers that were ready
	hits   int // kills with work in flight
	early  int // kills while opening the store
	pauses int
}

func newFleet(t *testing.T, db, ledger string, stderr io.Writer) *fleet {
	t.Helper()
	return &fleet{t: t, worker: workerOptions{DB: db, Workload: workloadChurn, Ledger: ledger, Lease: lease}, stderr: stderr}
}

// man starts n workers.
func (f *fleet) man(n int) {
	f.t.Helper()
	f.workers = make([]*workerProcess, n)
	for i := range f.workers {
		f.spawn(i)
	}
}

func (f *fleet) spawn(i int) {
	f.t.Helper()
	f.workers[i] = startWorker(f.t, f.worker, f.stderr, func(notice) {})
}

// ready waits until a worker takes work.
func (f *fleet) ready(i int) {
	f.t.Helper()
	select {
	case <-f.workers[i].ready:
	case <-f.workers[i].exited:
		f.t.Fatalf("%v\n%s", f.workers[i].unexpected("before it was ready"), f.stderr)
	}
}

// pass sleeps. No worker may exit meanwhile.
func (f *fleet) pass(d time.Duration) {
	f.t.Helper()
	moment := time.NewTimer(d)
	defer moment.Stop()
	ends := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(moment.C)}}
	for _, w := range f.workers {
		ends = append(ends, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w.exited)})
	}
	if first, _, _ := reflect.Select(ends); first > 0 {
		f.t.Fatalf("%v\n%s", f.workers[first-1].unexpected("before it was killed"), f.stderr)
	}
}

func (f *fleet) kill(i int) {
	f.t.Helper()
	if err := f.workers[i].kill(); err != nil {
		f.t.Fatal(err)
	}
}

// pause stops a worker at a random point. When it continues, others have taken over its work, and the fence must
// reject its commits.
func (f *fleet) pause(i int, d time.Duration) {
	f.t.Helper()
	f.ready(i)
	if !freeze(f.t, f.workers[i]) {
		return
	}
	f.pass(d)
	thaw(f.t, f.workers[i])
	f.pauses++
}

// dismiss shuts down all workers.
func (f *fleet) dismiss() {
	f.t.Helper()
	for i, w := range f.workers {
		f.ready(i)
		if err := w.stop(); err != nil {
			f.t.Error(err)
		}
	}
}
