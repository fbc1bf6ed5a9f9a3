// Package fast holds mechanisms that make a node faster and that it is right without: turns claimed before they are due, instances
// pinned to the node that has them in memory, and the choice of starts that carry their first turn. Package fastpath names all of the
// fast paths.
package fast

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
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

// Claims are turns that were claimed ahead. Each begins at its moment and holds no slot before. If something else comes to the
// instance meanwhile, the storage ends the claim, and the instance is fetched with both.
type Claims struct {
	*core.Node

	begin func(working context.Context, c *Claim) // called for a turn that is due

	first atomic.Int64 // when the first is due, by the storage's time; 0: none is held

	mu    sync.Mutex
	turns map[provider.UUID]*Claim
	alarm alarm.Alarm // for the first; nil before there was one
	over  bool        // the node stops: nothing is held any more
}

func NewClaims(n *core.Node, begin func(context.Context, *Claim)) *Claims {
	return &Claims{Node: n, begin: begin, turns: make(map[provider.UUID]*Claim)}
}

// Claim is a turn that was claimed ahead.
type Claim struct {
	Turn  *provider.Turn
	Token provider.UUID
}

// due is when the turn begins.
func (c *Claim) due() provider.Time { return c.Turn.Messages[0].VisibleAt }

func (c *Claim) Key() provider.UUID { return c.Turn.Instance.Key }

// Full reports whether nothing more may be claimed ahead.
func (e *Claims) Full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.turns) >= maxEarly
}

// take takes the turn of an instance out; nil if none is held.
func (e *Claims) take(key provider.UUID) *Claim {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.turns[key]
	delete(e.turns, key)
	return c
}

// takeDue takes out the turns that are due, in their order, and sets the alarm to the next.
func (e *Claims) takeDue(now provider.Time) (due []*Claim) {
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
	slices.SortFunc(due, func(a, b *Claim) int { return cmp.Compare(a.due(), b.due()) })
	return due
}

// await sets the alarm; it needs mu.
func (e *Claims) await(first, now provider.Time) {
	e.first.Store(int64(first))
	if first != 0 {
		e.alarm.Set(first.Sub(now))
	}
}

// Reset sets the alarm by a clock that has become more exact.
func (e *Claims) Reset(clock *storetime.Clock) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := provider.Time(e.first.Load()); first != 0 {
		e.await(first, clock.Now())
	}
}

// end takes all turns out, for good.
func (e *Claims) end() (all []*Claim) {
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

// Ahead is how far ahead this node claims. A lease that is short itself must not be spent on waiting.
func (e *Claims) Ahead() time.Duration {
	if e.Config.Off.Has(fastpath.Ahead) {
		return 0
	}
	return min(claimAhead, e.Config.Lease/10)
}

// Hold delivers a turn when it is due. It is false if nothing is held any more.
func (e *Claims) Hold(working context.Context, c *Claim) bool {
	due := c.due()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	e.Work.Add()
	e.turns[c.Key()] = c
	if e.alarm == nil {
		e.alarm = alarm.New(func() { e.beginDue(working) })
	}
	if first := provider.Time(e.first.Load()); first == 0 || due < first {
		e.await(due, e.Clock.Now())
	}
	return true
}

// BeginDueNow delivers the turns that are due, if there are any. Whoever comes by calls it: on a machine that is busy, above all with
// collecting garbage, what rings may get no processor for milliseconds.
func (e *Claims) BeginDueNow(working context.Context) {
	if first := e.first.Load(); first != 0 && int64(e.Clock.Now()) >= first {
		e.beginDue(working)
	}
}

// RunDueTurns has the code of the others that are due go on before the caller's commit takes the processor.
func (e *Claims) RunDueTurns(working context.Context) {
	if e.Config.Off.Has(fastpath.CodeFirst) {
		return
	}
	e.BeginDueNow(working)
	runtime.Gosched()
}

// beginDue delivers the turns that are due.
func (e *Claims) beginDue(working context.Context) {
	for _, c := range e.takeDue(e.Clock.Now()) {
		e.begin(working, c)
		e.Work.Done()
	}
}

// Overtaken forgets the claim ahead of an instance that was fetched again: the storage has ended it.
func (e *Claims) Overtaken(key provider.UUID) {
	if e.take(key) != nil {
		e.Work.Done()
	}
}

// Drop takes the claim ahead of an instance, which the commit of a fast turn ends.
func (e *Claims) Drop(key provider.UUID) *Claim {
	c := e.take(key)
	if c != nil {
		e.Work.Done()
	}
	return c
}

// Release gives a claim back that drop has returned.
func (e *Claims) Release(ctx context.Context, c *Claim) {
	e.Store.Release(ctx, provider.TurnRelease{Key: c.Key(), Token: c.Token})
}

// ReleaseAll gives all claims ahead back when the node stops.
func (e *Claims) ReleaseAll(ctx context.Context) {
	all := e.end()
	for batch := range slices.Chunk(all, provider.MaxBatch) {
		items := make([]provider.TurnRelease, len(batch))
		for i, c := range batch {
			items[i] = provider.TurnRelease{Key: c.Key(), Token: c.Token}
		}
		e.Store.Release(ctx, items...)
	}
	for range all {
		e.Work.Done()
	}
}
