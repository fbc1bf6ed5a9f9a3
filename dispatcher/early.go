package dispatcher

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storetime"
	"github.com/perdure/perdure/internal/platform/alarm"
	"github.com/perdure/perdure/provider"
)

const (
	// claimAhead is how long before they are due turns are claimed. Then what a timer has to wait for is there: the claim, which
	// queues behind the commits of other turns. It is short, as what is claimed is nobody else's.
	claimAhead = 50 * time.Millisecond
	// maxEarly bounds the claims ahead; beyond it turns are claimed when they are due.
	maxEarly = 512
)

// earlyTurns are turns that were claimed ahead. Each begins at its moment and holds no slot before. If something else comes to the
// instance meanwhile, the storage ends the claim, and the instance is fetched with both.
type earlyTurns struct {
	first atomic.Int64 // when the first is due, by the storage's time; 0: none is held

	mu    sync.Mutex
	turns map[provider.UUID]*job
	alarm alarm.Alarm // for the first; nil before there was one
	over  bool        // the node stops: nothing is held any more
}

func newEarlyTurns() *earlyTurns { return &earlyTurns{turns: make(map[provider.UUID]*job)} }

// due is when the turn begins.
func (j *job) due() provider.Time { return j.turn.Messages[0].VisibleAt }

// full tells whether nothing more may be claimed ahead.
func (e *earlyTurns) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.turns) >= maxEarly
}

// take takes the turn of an instance out; nil if none is held.
func (e *earlyTurns) take(key provider.UUID) *job {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.turns[key]
	delete(e.turns, key)
	return j
}

// takeDue takes out the turns that are due, in their order, and sets the alarm to the next.
func (e *earlyTurns) takeDue(now provider.Time) (due []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := provider.Time(0)
	for key, j := range e.turns {
		switch at := j.due(); {
		case at <= now:
			due = append(due, j)
			delete(e.turns, key)
		case first == 0 || at < first:
			first = at
		}
	}
	e.await(first, now)
	slices.SortFunc(due, func(a, b *job) int { return cmp.Compare(a.due(), b.due()) })
	return due
}

// await sets the alarm; it needs mu.
func (e *earlyTurns) await(first, now provider.Time) {
	e.first.Store(int64(first))
	if first != 0 {
		e.alarm.Set(first.Sub(now))
	}
}

// reset sets the alarm by a clock that has become more exact.
func (e *earlyTurns) reset(clock *storetime.Clock) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := provider.Time(e.first.Load()); first != 0 {
		e.await(first, clock.Now())
	}
}

// end takes all turns out, for good.
func (e *earlyTurns) end() (all []*job) {
	e.mu.Lock()
	e.over = true
	e.first.Store(0)
	for _, j := range e.turns {
		all = append(all, j)
	}
	clear(e.turns)
	rings := e.alarm
	e.mu.Unlock()
	if rings != nil {
		rings.Stop()
	}
	return all
}

// ahead is how far ahead this node claims. A lease that is short itself must not be spent on waiting.
func (d *Dispatcher) ahead() time.Duration { return min(claimAhead, d.cfg.Lease/10) }

// hold delivers a turn when it is due. It is false if nothing is held any more.
func (d *Dispatcher) hold(working context.Context, j *job) bool {
	e, due := d.early, j.due()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	d.work.Add()
	e.turns[j.turn.Instance.Key] = j
	if e.alarm == nil {
		e.alarm = alarm.New(func() { d.beginDue(working) })
	}
	if first := provider.Time(e.first.Load()); first == 0 || due < first {
		e.await(due, d.clock.Now())
	}
	return true
}

// lookEarly delivers the turns that are due, if there are any. Whoever comes by calls it: on a machine that is busy, above all with
// collecting garbage, what rings may get no processor for milliseconds.
func (d *Dispatcher) lookEarly(working context.Context) {
	if first := d.early.first.Load(); first != 0 && int64(d.clock.Now()) >= first {
		d.beginDue(working)
	}
}

// letDueGoOn has the code of the others that are due go on before the caller's commit takes the processor.
func (d *Dispatcher) letDueGoOn(working context.Context) {
	d.lookEarly(working)
	runtime.Gosched()
}

// beginDue delivers the turns that are due.
func (d *Dispatcher) beginDue(working context.Context) {
	for _, j := range d.early.takeDue(d.clock.Now()) {
		d.enqueue(working, j.turn.Instance.Key, *j)
		d.work.Done()
	}
}

// overtaken forgets the claim ahead of an instance that was fetched again: the storage has ended it.
func (d *Dispatcher) overtaken(key provider.UUID) {
	if d.early.take(key) != nil {
		d.work.Done()
	}
}

// dropEarly takes a claim ahead that a fast turn makes useless, as it ends the execution or cancels timers. Its commit has to
// end the claim, by the token.
func (d *Dispatcher) dropEarly(t *translation) *job {
	if t.req.Status == provider.StatusRunning && t.req.Next == nil && len(t.req.CancelTimers) == 0 {
		return nil
	}
	early := d.early.take(t.req.Key)
	if early != nil {
		t.req.Lease = early.token
		d.work.Done()
	}
	return early
}

// giveBackEarly gives all claims ahead back when the node stops.
func (d *Dispatcher) giveBackEarly(ctx context.Context) {
	all := d.early.end()
	for batch := range slices.Chunk(all, provider.MaxBatch) {
		items := make([]provider.TurnRelease, len(batch))
		for i, t := range batch {
			items[i] = provider.TurnRelease{Key: t.turn.Instance.Key, Token: t.token}
		}
		d.store.Release(ctx, items...)
	}
	for range all {
		d.work.Done()
	}
}
