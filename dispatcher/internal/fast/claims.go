// Package fast holds mechanisms that only make a node faster; it is correct without them. A node claims turns before
// they are due. Instances are pinned to the node that has them in memory. Some starts carry their first turn. Package
// fastpath names all of the fast paths.
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
	// claimAhead is how long before they are due turns are claimed. The claim queues behind commits, and a timer must not wait for that. It
	// is short because no other node can take a claimed turn.
	claimAhead = 50 * time.Millisecond
	// maxAhead limits the claims ahead. Beyond it turns are claimed when they are due.
	maxAhead = 512
)

// Claims holds turns that were claimed ahead. Each begins when it is due and holds no slot before. If another message arrives earlier, the
// storage ends the claim and the instance is fetched with both.
type Claims struct {
	*core.Node

	begin func(working context.Context, c *Claim) // called for a turn that is due

	first atomic.Int64 // when the first is due, by the storage's time; 0: none is held

	mu    sync.Mutex
	turns map[provider.UUID]*Claim
	alarm alarm.Alarm // for the first turn; nil before the first Hold
	over  bool        // the node stops or drains, and holds no more
}

// NewClaims makes an empty set of claims. It calls begin for each turn that is due.
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

// Key returns the key of the instance.
func (c *Claim) Key() provider.UUID { return c.Turn.Instance.Key }

// Room returns how many more turns may be claimed ahead.
func (e *Claims) Room() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(0, maxAhead-len(e.turns))
}

// take removes and returns the claim of an instance; nil if there is none.
func (e *Claims) take(key provider.UUID) *Claim {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.turns[key]
	delete(e.turns, key)
	return c
}

// takeDue removes and returns the turns that are due, in order, and sets the alarm to the next.
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

// await sets the alarm. The caller holds mu.
func (e *Claims) await(first, now provider.Time) {
	e.first.Store(int64(first))
	if first != 0 {
		e.alarm.Set(first.Sub(now))
	}
}

// Reset sets the alarm anew after the clock has become more exact.
func (e *Claims) Reset(clock *storetime.Clock) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := provider.Time(e.first.Load()); first != 0 {
		e.await(first, clock.Now())
	}
}

// end removes and returns all turns. From now on none is held.
func (e *Claims) end() (all []*Claim) {
	e.mu.Lock()
	e.over = true
	e.first.Store(0)
	for _, c := range e.turns {
		all = append(all, c)
	}
	clear(e.turns)
	rings := e.alarm
	e.alarm = nil
	e.mu.Unlock()
	if rings != nil {
		rings.Stop()
	}
	return all
}

// Reopen lets turns be held again after ReleaseAll.
func (e *Claims) Reopen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = false
}

// Ahead returns how far ahead this node claims. Waiting must not use up a short lease.
func (e *Claims) Ahead() time.Duration {
	if e.Config.Off.Has(fastpath.Ahead) {
		return 0
	}
	return min(claimAhead, e.Config.Lease/10)
}

// Hold begins a turn when it is due. It returns false if the node stops.
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

// BeginDueNow begins the turns that are due. Every commit that returns calls it, because on a busy machine the alarm may be milliseconds
// late.
func (e *Claims) BeginDueNow(working context.Context) {
	if first := e.first.Load(); first != 0 && int64(e.Clock.Now()) >= first {
		e.beginDue(working)
	}
}

// RunDueTurns runs the code of the other due turns before the caller's commit takes the processor.
func (e *Claims) RunDueTurns(working context.Context) {
	if e.Config.Off.Has(fastpath.CodeFirst) {
		return
	}
	e.BeginDueNow(working)
	runtime.Gosched()
}

// beginDue begins the turns that are due.
func (e *Claims) beginDue(working context.Context) {
	for _, c := range e.takeDue(e.Clock.Now()) {
		e.begin(working, c)
		e.Work.Done()
	}
}

// Overtaken removes the claim of an instance that was fetched again. The storage has ended it.
func (e *Claims) Overtaken(key provider.UUID) {
	if e.take(key) != nil {
		e.Work.Done()
	}
}

// Drop removes and returns the claim of an instance, so that a commit can end it; nil if there is none.
func (e *Claims) Drop(key provider.UUID) *Claim {
	c := e.take(key)
	if c != nil {
		e.Work.Done()
	}
	return c
}

// Release releases a claim that Drop has returned.
func (e *Claims) Release(ctx context.Context, c *Claim) {
	e.Store.Release(ctx, provider.TurnRelease{Key: c.Key(), Token: c.Token})
}

// ReleaseAll releases all claims when the node stops.
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
