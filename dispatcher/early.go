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
	"github.com/perdure/perdure/internal/fastpath"
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

// claims are turns that were claimed ahead. Each begins at its moment and holds no slot before. If something else comes to the
// instance meanwhile, the storage ends the claim, and the instance is fetched with both.
type claims struct {
	*node

	begin func(working context.Context, c *claim) // called for a turn that is due

	first atomic.Int64 // when the first is due, by the storage's time; 0: none is held

	mu    sync.Mutex
	turns map[provider.UUID]*claim
	alarm alarm.Alarm // for the first; nil before there was one
	over  bool        // the node stops: nothing is held any more
}

func newClaims(n *node, begin func(context.Context, *claim)) *claims {
	return &claims{node: n, begin: begin, turns: make(map[provider.UUID]*claim)}
}

// claim is a turn that was claimed ahead.
type claim struct {
	turn  *provider.Turn
	token provider.UUID
}

// due is when the turn begins.
func (c *claim) due() provider.Time { return c.turn.Messages[0].VisibleAt }

func (c *claim) key() provider.UUID { return c.turn.Instance.Key }

// full reports whether nothing more may be claimed ahead.
func (e *claims) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.turns) >= maxEarly
}

// take takes the turn of an instance out; nil if none is held.
func (e *claims) take(key provider.UUID) *claim {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.turns[key]
	delete(e.turns, key)
	return c
}

// takeDue takes out the turns that are due, in their order, and sets the alarm to the next.
func (e *claims) takeDue(now provider.Time) (due []*claim) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := provider.Time(0)
	for key, c := range e.turns {
		switch at := c.due(); {
		case at <= now:
			due = append(due, c)
			delete(e.turns, key)
		case first == 0 || at < first:
			first = at
		}
	}
	e.await(first, now)
	slices.SortFunc(due, func(a, b *claim) int { return cmp.Compare(a.due(), b.due()) })
	return due
}

// await sets the alarm; it needs mu.
func (e *claims) await(first, now provider.Time) {
	e.first.Store(int64(first))
	if first != 0 {
		e.alarm.Set(first.Sub(now))
	}
}

// reset sets the alarm by a clock that has become more exact.
func (e *claims) reset(clock *storetime.Clock) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := provider.Time(e.first.Load()); first != 0 {
		e.await(first, clock.Now())
	}
}

// end takes all turns out, for good.
func (e *claims) end() (all []*claim) {
	e.mu.Lock()
	e.over = true
	e.first.Store(0)
	for _, c := range e.turns {
		all = append(all, c)
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
func (e *claims) ahead() time.Duration {
	if e.cfg.Off.Has(fastpath.Ahead) {
		return 0
	}
	return min(claimAhead, e.cfg.Lease/10)
}

// hold delivers a turn when it is due. It is false if nothing is held any more.
func (e *claims) hold(working context.Context, c *claim) bool {
	due := c.due()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	e.work.Add()
	e.turns[c.key()] = c
	if e.alarm == nil {
		e.alarm = alarm.New(func() { e.beginDue(working) })
	}
	if first := provider.Time(e.first.Load()); first == 0 || due < first {
		e.await(due, e.clock.Now())
	}
	return true
}

// beginDueNow delivers the turns that are due, if there are any. Whoever comes by calls it: on a machine that is busy, above all with
// collecting garbage, what rings may get no processor for milliseconds.
func (e *claims) beginDueNow(working context.Context) {
	if first := e.first.Load(); first != 0 && int64(e.clock.Now()) >= first {
		e.beginDue(working)
	}
}

// runDueTurns has the code of the others that are due go on before the caller's commit takes the processor.
func (e *claims) runDueTurns(working context.Context) {
	if e.cfg.Off.Has(fastpath.CodeFirst) {
		return
	}
	e.beginDueNow(working)
	runtime.Gosched()
}

// beginDue delivers the turns that are due.
func (e *claims) beginDue(working context.Context) {
	for _, c := range e.takeDue(e.clock.Now()) {
		e.begin(working, c)
		e.work.Done()
	}
}

// overtaken forgets the claim ahead of an instance that was fetched again: the storage has ended it.
func (e *claims) overtaken(key provider.UUID) {
	if e.take(key) != nil {
		e.work.Done()
	}
}

// drop takes the claim ahead of an instance, which the commit of a fast turn ends.
func (e *claims) drop(key provider.UUID) *claim {
	c := e.take(key)
	if c != nil {
		e.work.Done()
	}
	return c
}

// release gives a claim back that drop has returned.
func (e *claims) release(ctx context.Context, c *claim) {
	e.store.Release(ctx, provider.TurnRelease{Key: c.key(), Token: c.token})
}

// releaseAll gives all claims ahead back when the node stops.
func (e *claims) releaseAll(ctx context.Context) {
	all := e.end()
	for batch := range slices.Chunk(all, provider.MaxBatch) {
		items := make([]provider.TurnRelease, len(batch))
		for i, c := range batch {
			items[i] = provider.TurnRelease{Key: c.key(), Token: c.token}
		}
		e.store.Release(ctx, items...)
	}
	for range all {
		e.work.Done()
	}
}
