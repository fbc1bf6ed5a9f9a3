package orchestrationtest

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// Run runs a test of orchestrations: the function test, in a bubble of testing/synctest. It returns when test has returned, the node has shut
// down and all goroutines of the bubble have ended. A bubble has its own clock, which begins at midnight UTC on 1 January 2000.
//
// The function may use t of the outer test for all but T.Run, T.Parallel and T.Cleanup of what belongs to the bubble. Give calls
// [Env.Context], and not the context of t. T.FailNow and T.Fatal of t end the test function. An option that is refused fails the test.
//
// An activity that does not return although its context has ended fails the test. Run must not be called in a bubble.
func Run(t *testing.T, test func(e *Env), opts ...Option) {
	t.Helper()
	var s settings
	if err := s.apply(opts); err != nil {
		t.Fatal(err)
	}
	runWith(t, s, noProgress, test)
}

// RunRealTime runs a test of orchestrations outside of a bubble, in real time, with the timers of production: for activities that use sockets or
// files, and for any store. It differs from [Run]:
//   - Durations of [Env.After], [Env.Sleep] and [Delay] are real. After and Sleep do not wait until all else has come to rest, so other goroutines
//     may still be at work. Variables of the test that activities write need a mutex.
//   - Nothing tells that nothing can happen any more. What never ends fails half a minute before the end of the time that the test binary has. If
//     that has less than a minute left when the test begins, it fails after half of that.
//   - An activity of a node that was killed fails nothing if it does not return.
//
// The store should be empty: the node works on what it holds. The caller closes the store, after RunRealTime.
func RunRealTime(t *testing.T, store provider.Provider, test func(e *Env), opts ...Option) {
	t.Helper()
	s := settings{timers: true, store: store}
	if err := s.apply(opts); err != nil {
		t.Fatal(err)
	}
	if check.IsNil(store) {
		t.Fatal("running a test of orchestrations: there is no store: open one first")
	}
	r := &oneRun{t: t, settings: s, test: test, passed: true}
	r.main(t)
	r.judge()
}

// runWith is Run with settings, and a limit for the watch.
func runWith(t *testing.T, s settings, limit time.Duration, test func(e *Env)) {
	t.Helper()
	_ = t.Context().Done() // its channel must not belong to the bubble
	r := &oneRun{t: t, settings: s, test: test, done: make(chan struct{})}
	go r.run()
	deadline, _ := t.Deadline()
	if report, stuck := r.watch.wait(r.done, limit, deadline); stuck {
		t.Error(report)
		r.watch.alarm.abandon()
		select { // code that was only slow ends with its test
		case <-r.done:
		case <-time.After(limit / 2):
		}
		t.FailNow()
	}
	r.judge()
}

// oneRun is one call of Run.
type oneRun struct {
	t        *testing.T
	settings settings
	test     func(e *Env)
	watch    watch
	done     chan struct{} // closed when the fields below are set

	passed   bool   // the bubble ended without a failure
	returned bool   // the test function did
	deadlock string // why the bubble could not end
}

// judge ends the test as its function has ended.
func (r *oneRun) judge() {
	r.t.Helper()
	switch {
	case r.deadlock != "":
		r.t.Fatal(r.deadlock)
	case !r.passed:
		r.t.FailNow()
	case !r.returned && r.t.Skipped() && !r.t.Failed():
		r.t.SkipNow()
	case !r.returned:
		r.t.FailNow()
	}
}

// run runs the bubble.
func (r *oneRun) run() {
	defer close(r.done)
	defer func() {
		failure := recover()
		if failure == nil || r.watch.alarm.abandoned() {
			return
		}
		err, ok := failure.(error)
		if !ok || !strings.HasPrefix(err.Error(), "deadlock: ") { // of package runtime, which has no name for it
			panic(failure)
		}
		r.deadlock = "The test is over, and code in it has not ended: an activity must return when its context ends, and no goroutine may be left." +
			r.watch.goroutines(true)
	}()
	synctest.Test(r.t, r.main)
	r.passed = true
}

const (
	// ending is how long, in virtual time, the test function has to return after a failure.
	ending = time.Minute
	// realEnding is that in real time. Functions given to After and the nodes then have as long: what a test shows is lost if the time of the
	// binary is over before the test ends.
	realEnding = 2 * time.Second
)

// main is the first goroutine of the bubble, or that of the outer test.
func (r *oneRun) main(t *testing.T) {
	t.Helper()
	r.watch.enter()
	e, err := newEnv(t, &r.watch.alarm, r.settings)
	if err != nil {
		t.Error(err)
		return
	}
	over := make(chan struct{})
	returned, panicked := false, ""
	go func() { // apart, so that T.FailNow of the outer test ends only this
		defer close(over)
		defer func() {
			if failure := recover(); failure != nil {
				panicked = fmt.Sprintf("%s: %v\n\n%s", t.Name(), failure, debug.Stack())
			}
		}()
		r.test(e)
		returned = true
	}()
	select {
	case <-over:
	case <-e.outcome.failed:
		limit := ending
		if e.real {
			limit = realEnding
		}
		select {
		case <-over:
		case <-time.After(limit):
			e.close(false)
			return
		}
	}
	e.close(returned)
	if panicked != "" && !r.watch.alarm.abandoned() {
		panic(panicked)
	}
	r.returned = returned
}
