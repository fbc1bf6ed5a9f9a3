package dispatcher

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

// A Limit bounds the attempts of some activities on this node, beside MaxActivities.
type Limit struct {
	Size       int // at least 1
	Activities []ActivityName
}

// ActivityName is an activity of a queue.
type ActivityName struct{ Queue, Name string }

// pool is a limit in use.
type pool struct{ size, used int }

// group is the activities that the same pools bound. The first is of those that none does.
type group struct {
	pools  []*pool
	queues []provider.QueueFilter
}

// pools lets the task loop ask only for what it may run: nothing is fetched beyond a limit, so that nothing is held
// under lease or given back because of one. Only the task loop takes places, so that what was free when it asked is free when it is answered.
type pools struct {
	mu     sync.Mutex
	of     map[ActivityName][]*pool
	groups []*group
	next   int                // group that is asked first
	wake   context.CancelFunc // ends a fetch that was parked without the full pools
	freed  int64              // how often a full pool got a free place
}

func newPools(queues []provider.QueueFilter, limits []Limit) *pools {
	p := &pools{of: make(map[ActivityName][]*pool)}
	for _, limit := range limits {
		one := &pool{size: limit.Size}
		for _, name := range limit.Activities {
			p.of[name] = append(p.of[name], one)
		}
	}
	for _, filter := range queues {
		for _, name := range filter.Names {
			p.group(p.of[ActivityName{filter.Queue, name}]).add(filter.Queue, name)
		}
	}
	return p
}

// group finds or makes the group with these pools.
func (p *pools) group(bound []*pool) *group {
	for _, g := range p.groups {
		if slices.Equal(g.pools, bound) {
			return g
		}
	}
	g := &group{pools: bound}
	p.groups = append(p.groups, g)
	return g
}

func (g *group) add(queue, name string) {
	for i := range g.queues {
		if g.queues[i].Queue == queue {
			g.queues[i].Names = append(g.queues[i].Names, name)
			return
		}
	}
	g.queues = append(g.queues, provider.QueueFilter{Queue: queue, Names: []string{name}})
}

// room is how many attempts of the group may start, at most limit.
func (g *group) room(limit int) int {
	for _, one := range g.pools {
		limit = min(limit, one.size-one.used)
	}
	return limit
}

// bounds tells whether a pool bounds the activity.
func (p *pools) bounds(queue, name string) bool { return p.of[ActivityName{queue, name}] != nil }

// take gives an attempt its places.
func (p *pools) take(a *attempt) {
	a.pools = p.of[ActivityName{a.call.Queue, a.call.Name}]
	if len(a.pools) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range a.pools {
		one.used++
	}
}

// give takes them back.
func (p *pools) give(a *attempt) {
	if len(a.pools) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	full := false
	for _, one := range a.pools {
		full = full || one.used >= one.size
		one.used--
	}
	if !full {
		return
	}
	p.freed++
	if p.wake != nil {
		p.wake()
	}
}

// An offer is what one fetch may ask for.
type offer struct {
	queues []provider.QueueFilter
	limit  int
}

// offers answers what may be asked for now, one group after the other, and after all of them what a parked fetch may ask
// for: of every group with room, as many as fit into the smallest. The group that comes first changes, so that the slots
// are not always its own. freed is for wait.
func (p *pools) offers(limit int) (looks []offer, park offer, freed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	park.limit = limit
	all := &group{}
	for i := range p.groups {
		g := p.groups[(p.next+i)%len(p.groups)]
		room := g.room(limit)
		if room <= 0 {
			continue
		}
		looks = append(looks, offer{g.queues, room})
		park.limit = min(park.limit, room)
		for _, f := range g.queues {
			for _, name := range f.Names {
				all.add(f.Queue, name)
			}
		}
	}
	p.next = (p.next + 1) % len(p.groups)
	park.queues = all.queues
	return looks, park, p.freed
}

// errRoom ends a parked fetch because a pool that it left out has room.
var errRoom = errors.New("a pool has room")

// wait makes a context that ends when a pool that was full has had room since offers.
func (p *pools) wait(ctx context.Context, freed int64) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancelCause(ctx)
	wake := func() { cancel(errRoom) }
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake = wake
	if p.freed != freed {
		wake()
	}
	return waiting, func() {
		p.mu.Lock()
		p.wake = nil
		p.mu.Unlock()
		cancel(nil)
	}
}
