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

// A trial is one run of one case. It embeds the provider under test and traces its calls.
type trial struct {
	*provider.Full

	store    *provider.Full   // the same without a trace, for looking at the effects of a call
	handles  []*provider.Full // further handles of the store
	spread   bool             // each call draws its handle
	trace    *tracer
	beginTx  beginTx
	ctx      context.Context //nolint:containedctx // it lives as long as the case
	times    int             // how much longer short durations become at the pace of the provider; 0: they stay
	inTurn   bool            // parallel callers run one after the other, to find cases that fail without a race
	lacks    string          // an optional interface that a call needed and the provider does not have
	mu       sync.Mutex
	failures []string
}

// errorf records a failure with the line of the case and the last call. A case that misses an optional interface has none after
// that: its other goroutines see the effects of the calls that were left out.
func (t *trial) errorf(format string, args ...any) {
	if t.trace.ended.Load() {
		return
	}
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
	t.failures = append(t.failures, where+t.trace.after()+fmt.Sprintf(format, readable(args)...))
}

// fatalf records a failure and ends the goroutine.
func (t *trial) fatalf(format string, args ...any) {
	t.errorf(format, args...)
	runtime.Goexit()
}

// ok ends the case if err is not nil.
func (t *trial) ok(err error) {
	if err != nil {
		t.fatalf("got error %v, want none", err)
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

// is records a failure if got is not want.
func is[T comparable](t *trial, name string, got, want T) {
	if got != want {
		t.errorf("%s: got %v, want %v", name, got, want)
	}
}

// checkBytes checks that bytes came back unchanged.
func checkBytes(t *trial, what string, got []byte, want string) {
	t.checkf(string(got) == want, "%s: got %d bytes, %.20q, want %d bytes, %.20q", what, len(got), got, len(want), want)
}

// mustf is checkf for a condition without which the case cannot continue.
func (t *trial) mustf(holds bool, format string, args ...any) {
	if !holds {
		t.fatalf(format, args...)
	}
}

// callers returns how many callers stand for n at the pace of the provider: n calls on the few connections to a store far away would
// take longer than their waits.
func (t *trial) callers(n int) int { return max(n/max(1, t.times), min(n, 100)) }

// parallel runs fn n times concurrently and waits for all of them.
func (t *trial) parallel(n int, fn func(i int)) {
	var group sync.WaitGroup
	if t.inTurn {
		for i := range n {
			group.Go(func() { fn(i) }) // fn may end its goroutine
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

// parked runs fn on its own goroutine and gives it time to block in the provider. It returns a function that waits for the
// result, which must come before patience is over.
func parked[T any](t *trial, fn func() T) func() T {
	result, started := make(chan T, 1), make(chan struct{})
	var took time.Duration
	go func() {
		defer close(result) // fn may end its goroutine
		began := time.Now()
		close(started)
		value := fn()
		took = time.Since(began)
		result <- value
	}()
	<-started // which can take long on a busy machine
	t.pass(short)
	return func() T {
		value := <-result
		t.checkf(took < patience, "the blocked call returned only after %v, want it to wake up before its Wait of %v is over", took, patience)
		return value
	}
}

// pass lets time pass on the storage's clock by a fetch that finds nothing.
func (t *trial) pass(d time.Duration) {
	call := "FetchAsks"
	_, err := t.store.FetchAsks(t.ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: d})
	if errors.Is(err, errors.ErrUnsupported) {
		call = "FetchTurns"
		_, err = t.store.FetchTurns(t.ctx, provider.FetchTurnsRequest{Owner: node, Token: unique(), Lease: long, Max: 1, Wait: d})
	}
	t.mustf(err == nil, "%s with a Wait returned error %v, want none", call, err)
}

// newKey makes the key of an instance. It is in the slot of its ID, as a store over several databases demands. It does not sort by
// age, so that a store that sorts by keys is seen.
func newKey(id string) provider.UUID {
	key, random := provider.NewKey(id), unique()
	copy(key[:6], random[:])
	return key
}

// askID makes the ID of a question to an instance.
func askID(to provider.UUID) provider.UUID { return provider.NewKeyIn(provider.SlotOf(to)) }

// unique makes a new UUID.
func unique() provider.UUID {
	var u provider.UUID
	_, _ = rand.Read(u[:]) // it never fails
	return u
}
