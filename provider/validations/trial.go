package validations

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A trial is one run of one case. It embeds the provider under test.
type trial struct {
	provider.Provider

	beginTx  beginTx
	begins   bool            // the provider stores the first turns of starts
	ctx      context.Context //nolint:containedctx // it lives as long as the case
	inTurn   bool            // parallel callers come one after the other, to tell what only a race shows
	mu       sync.Mutex
	failures []string
}

// errorf records a failure with the line of the case that saw it.
func (t *trial) errorf(format string, args ...any) {
	where := ""
	for skip := 1; ; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		base := filepath.Base(file)
		if !ok {
			break
		}
		if base != "trial.go" && base != "moves.go" {
			where = fmt.Sprintf("%s:%d: ", base, line)
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, where+fmt.Sprintf(format, args...))
}

// fatalf records a failure and ends the goroutine.
func (t *trial) fatalf(format string, args ...any) {
	t.errorf(format, args...)
	runtime.Goexit()
}

// ok ends the case if err is not nil.
func (t *trial) ok(err error) {
	if err != nil {
		t.fatalf("unexpected error: %v", err)
	}
}

// want records a failure if err is not the sentinel.
func (t *trial) want(err, sentinel error) {
	if !errors.Is(err, sentinel) {
		t.errorf("got error %v, want %v", err, sentinel)
	}
}

// checkf records a failure if the condition does not hold.
func (t *trial) checkf(holds bool, format string, args ...any) {
	if !holds {
		t.errorf(format, args...)
	}
}

// mustf is checkf for conditions without which the case cannot go on.
func (t *trial) mustf(holds bool, format string, args ...any) {
	if !holds {
		t.fatalf(format, args...)
	}
}

// parallel runs fn n times at once and waits for all.
func (t *trial) parallel(n int, fn func(i int)) {
	var group sync.WaitGroup
	if t.inTurn {
		for i := range n {
			group.Go(func() { fn(i) }) // it may end its goroutine
			group.Wait()
		}
		return
	}
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	group.Wait()
}

// parked runs fn on a goroutine of its own, gives it time to block in the provider, and
// answers how to wait for its result, which must come before a wait is over.
func parked[T any](t *trial, fn func() T) func() T {
	result := make(chan T, 1)
	var took time.Duration
	go func() {
		defer close(result) // fn may end its goroutine
		began := time.Now()
		value := fn()
		took = time.Since(began)
		result <- value
	}()
	t.pass(short)
	return func() T {
		value := <-result
		t.checkf(took < patience, "it came back after %v, when the wait was over", took)
		return value
	}
}

// pass lets time pass on the storage's clock, in a call that finds nothing.
func (t *trial) pass(d time.Duration) {
	_, err := t.FetchAsks(t.ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: d})
	t.ok(err)
}

// unique makes a new UUID.
func unique() provider.UUID {
	var u provider.UUID
	_, _ = rand.Read(u[:]) // never fails, it says
	return u
}
