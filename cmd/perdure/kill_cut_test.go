package main

import (
	"context"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// A cutting is work in steps that are to be killed in their middle.
type cutting struct {
	name  string
	step  int64 // instances
	all   int64
	acted func(ctx context.Context) int64 // instances on which it has acted, also in the step that it makes now
	over  func(ctx context.Context) bool
	last  int64 // what acted returned at the last kill
}

// cut kills the worker some times in the middle of a step, each time later in it, and at least once.
func (j *jobbing) cut(ctx context.Context, kills int, w *cutting) {
	j.t.Helper()
	hits := 0
	for n := 0; n < kills || hits == 0; n++ {
		j.ready(0)
		if !j.midst(ctx, w, w.step*int64(n)/8) {
			break
		}
		j.kill(0)
		w.last = w.acted(ctx)
		inside := w.last%w.step != 0 && w.last < w.all
		if inside {
			hits++
		}
		j.t.Logf("killed when %s had acted on %d, in a step: %v", w.name, w.last, inside)
		j.spawn(0)
	}
	j.ready(0)
	if hits == 0 {
		j.t.Errorf("no kill hit the middle of a step of %s", w.name)
	}
}

// midst waits until work has made more than least of a step, since the last kill, and reports false if it is over.
func (j *jobbing) midst(ctx context.Context, w *cutting, least int64) bool {
	j.t.Helper()
	for {
		acted := w.acted(ctx)
		if part := acted % w.step; acted > w.last && part > least && part < w.step*7/8 {
			return true
		}
		if w.over(ctx) {
			return false
		}
		j.pass(time.Millisecond)
	}
}

// raised counts the instances that have the event, in their history or in their inbox.
func (j *jobbing) raised(ctx context.Context) (n int64) {
	j.t.Helper()
	for d, err := range j.client.All(ctx, client.Filter{IDPrefix: "count-"}) {
		j.must(err)
		if d.HistoryLength+d.InboxMessages > 1 {
			n++
		}
	}
	return n
}

func (j *jobbing) bulkOver(id string) func(ctx context.Context) bool {
	return func(ctx context.Context) bool {
		j.t.Helper()
		b, err := operate.New(j.client).Bulk(ctx, id)
		j.must(err)
		info, err := b.Describe(ctx)
		j.must(err)
		return info.Over()
	}
}

func (j *jobbing) roundOver(ctx context.Context) bool {
	j.t.Helper()
	info, err := operate.New(j.client).Retention(ctx)
	j.must(err)
	return !info.EndedAt.IsZero()
}
