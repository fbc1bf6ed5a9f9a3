package validations

import (
	"context"
	"fmt"
	"runtime"

	"github.com/perdure/perdure/provider"
)

// busyRows is how many rows a write has that keeps the store busy for about a millisecond.
const busyRows = 200

// meetings is how often a race behind a bustle is repeated. It is rarely needed: most acts of a round read before the first of them writes.
const meetings = 8

// A bustle is two instances whose commits keep a store with one writer busy.
type bustle [2]provider.Instance

// newBustle also makes the calls of the case yield wherever the store looks at their context.
func newBustle(t *trial) *bustle {
	if !t.inTurn {
		t.ctx = yielding{t.ctx}
	}
	return &bustle{t.begin("busy-0"), t.begin("busy-1")}
}

// A yielding context lets other goroutines run when a store looks at it. A store that does so inside a transaction lets others read
// what the transaction is about to change, even on one processor.
type yielding struct{ context.Context } //nolint:containedctx // it is one

func (c yielding) Err() error {
	runtime.Gosched()
	return c.Context.Err()
}

func (c yielding) Done() <-chan struct{} {
	runtime.Gosched()
	return c.Context.Done()
}

// behind runs n acts at once while two large commits keep the store busy. The acts begin as the first of the commits returns, and the
// second one then holds what a store with one writer has to share. So an act that reads before its transaction begins has read
// before the others write.
func (b *bustle) behind(t *trial, n int, act func(int)) {
	if t.inTurn {
		t.parallel(n, act)
		return
	}
	first := make(chan struct{}, len(b))
	t.parallel(len(b)+1, func(k int) {
		if k < len(b) {
			defer func() { first <- struct{}{} }()
			b.write(t, k)
			return
		}
		<-first
		t.parallel(n, act)
	})
}

func (b *bustle) write(t *trial, k int) {
	req := next(b[k])
	for row := range busyRows {
		req.Values = append(req.Values, provider.KeyValue{Key: fmt.Sprint("row-", row), Value: req.Commit[:]})
	}
	_, err := t.store.CommitTurn(t.ctx, req)
	t.mustf(err == nil, "a commit with %d values returned %v, want no error", busyRows, err)
	b[k].Version = req.Commit
}
