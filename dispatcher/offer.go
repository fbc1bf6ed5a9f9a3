package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// An offer is what one fetch may ask for.
type offer struct {
	queues []provider.QueueFilter
	limit  int
}

// offered is what may be asked for now: one group after the other, and after all of them what a parked fetch may ask
// for, of every group with room, as many as fit into the smallest. freed and again are for wait.
type offered struct {
	looks []offer
	park  offer
	freed int64
	again time.Time // when a group that has no room because of its rate has some; zero: none
}

// offers answers what may be asked for. The group that comes first changes, so that the slots are not always its own.
func (p *pools) offers(limit int) (o offered) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	o.park.limit, o.freed = limit, p.freed
	all := &group{}
	for i := range p.groups {
		g := p.groups[(p.next+i)%len(p.groups)]
		room, again := g.room(limit, now)
		if !again.IsZero() && (o.again.IsZero() || again.Before(o.again)) {
			o.again = again
		}
		if room <= 0 {
			continue
		}
		o.looks = append(o.looks, offer{g.queues, room})
		o.park.limit = min(o.park.limit, room)
		for _, f := range g.queues {
			for _, name := range f.Names {
				all.add(f.Queue, name, f.MaxLeased)
			}
		}
	}
	p.next = (p.next + 1) % len(p.groups)
	o.park.queues = all.queues
	return o
}

// errRoom ends a parked fetch because a group that it left out has room.
var errRoom = errors.New("there is room for more")

// wait makes a context that ends when there is room for a group that had none in what was offered.
func (p *pools) wait(ctx context.Context, o offered) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancelCause(ctx)
	wake := func() { cancel(errRoom) }
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
