package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A trial is one run of one scenario.
type trial struct {
	mode

	ctx    context.Context //nolint:containedctx // it lives as long as the run
	store  *provider.Full
	other  provider.Provider // the store as another process sees it
	client *client.Client    // of store

	mu       sync.Mutex
	failures []string
	lacks    error // the store does not have an optional interface that the scenario needs; nil: it has them all
	nodes    []*runtime.Runtime
	attempts map[attempt]int // how often each ran
}

// An attempt of an activity.
type attempt struct {
	call   string // unique to the call
	name   string
	number int
}

func newTrial(ctx context.Context, m mode, store, other provider.Provider) *trial {
	t := &trial{mode: m, ctx: ctx, store: provider.FullOf(store), other: other, attempts: map[attempt]int{}}
	t.client = t.newClient(store)
	return t
}

func (t *trial) newClient(store provider.Provider) *client.Client {
	c, err := client.New(store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	t.ok(err)
	return c
}

// errorf records a failure with the line of the scenario that saw it.
func (t *trial) errorf(format string, args ...any) {
	where := ""
	for skip := 1; ; skip++ {
		_, file, line, ok := goruntime.Caller(skip)
		base := filepath.Base(file)
		if !ok || base == "run.go" { // no scenario called
			break
		}
		if base != "trial.go" && base != "moves.go" && base != "check.go" {
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
	goruntime.Goexit()
}

// ok ends the scenario if err is not nil. The end of the time is reported once, where it is
// measured.
func (t *trial) ok(err error) {
	if err != nil && t.ctx.Err() != nil {
		goruntime.Goexit()
	}
	if errors.Is(err, errors.ErrUnsupported) {
		t.skip(err)
	}
	if err != nil {
		t.fatalf("unexpected error: %v", err)
	}
}

// skip ends the goroutine. The scenario counts as skipped because of err.
func (t *trial) skip(err error) {
	t.mu.Lock()
	t.lacks = err
	t.mu.Unlock()
	goruntime.Goexit()
}

// need skips the scenario if the store does not have the optional interface T. A scenario calls it before it starts a node.
func need[T any](t *trial) {
	if _, ok := provider.As[T](t.store); !ok {
		t.skip(fmt.Errorf("%w: the store has no %v", errors.ErrUnsupported, reflect.TypeFor[T]()))
	}
}

// want records a failure if err is not the sentinel.
func (t *trial) want(err, sentinel error) {
	if t.ctx.Err() != nil {
		goruntime.Goexit()
	}
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

// seen returns the failures.
func (t *trial) seen() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures)
}

// parallel runs fn for 0 to n-1, at most width at once, and waits for all.
func (t *trial) parallel(n, width int, fn func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range width {
		group.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-t.ctx.Done():
		}
	}
	close(next)
	group.Wait()
}

// A gate is closed until somebody opens it.
type gate struct {
	once sync.Once
	way  chan struct{}
}

func newGate() *gate { return &gate{way: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.way) }) }

// wait returns why it was given up, or nil if the gate is open.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.way:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await ends the scenario if the gate does not open in time.
func (t *trial) await(gates ...*gate) {
	for _, g := range gates {
		t.ok(g.wait(t.ctx))
	}
}

// take returns what somebody sends.
func take[T any](t *trial, c <-chan T) T {
	select {
	case v := <-c:
		return v
	case <-t.ctx.Done():
		goruntime.Goexit()
		panic("not reached")
	}
}
