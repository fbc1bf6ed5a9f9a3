package flow

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// An Offer is what one fetch may ask for.
type Offer struct {
	Queues []provider.QueueFilter
	Limit  int

	groups []*group
}

// Offers are what the task loop may ask for now.
type Offers struct {
	Polls    []Offer // one group after the other
	LongPoll Offer   // of every group with room, as many as fit into the smallest: for a fetch that waits
	freed    int64   // for Wait, as the next
	again    time.Time
}

// Offers returns what may be asked for. The group that comes first changes, so that the slots are not always its own.
func (p *Pools) Offers(limit int) (o Offers) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	paused := p.paused.Load()
	o.LongPoll.Limit, o.freed = limit, p.freed
	all := &group{}
	for i := range p.groups {
		g := p.groups[(p.next+i)%len(p.groups)]
		room, again := g.room(limit, now)
		if !again.IsZero() && (o.again.IsZero() || again.Before(o.again)) {
			o.again = again
		}
		queues := g.open(paused)
		if room <= 0 || len(queues) == 0 {
			continue
		}
		o.Polls = append(o.Polls, Offer{queues, room, []*group{g}})
		o.LongPoll.Limit, o.LongPoll.groups = min(o.LongPoll.Limit, room), append(o.LongPoll.groups, g)
		for _, f := range queues {
			for _, name := range f.Names {
				all.add(f.Queue, name, f.MaxLeased)
			}
		}
	}
	p.next = (p.next + 1) % len(p.groups)
	o.LongPoll.Queues = all.queues
	return o
}

// Found notes how many tasks a fetch found. It reports whether nothing waits any more in any group that has room: the last
// fetch of each found fewer than it asked for.
func (p *Pools) Found(asked Offer, n int) (empty bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	paused := p.paused.Load()
	for _, g := range asked.groups {
		g.backlogged = n >= asked.Limit
	}
	for _, g := range p.groups {
		if room, _ := g.room(1, now); room > 0 && g.backlogged && len(g.open(paused)) > 0 {
			return false
		}
	}
	return true
}

// ErrRoom is the cause of a context that Wait has ended: a group that had no room has some.
var ErrRoom = errors.New("there is room for more")

// Wait returns a context that ends when there is room for a group that had none in what was offered.
func (p *Pools) Wait(ctx context.Context, o Offers) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancelCause(ctx)
	wake := func() { cancel(ErrRoom) }
	stop := func() bool { return true }
	if !o.again.IsZero() {
		stop = time.AfterFunc(time.Until(o.again), wake).Stop
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake = wake
	if p.freed != o.freed {
		wake()
	}
	return waiting, func() {
		stop()
		p.mu.Lock()
		p.wake = nil
		p.mu.Unlock()
		cancel(nil)
	}
}
