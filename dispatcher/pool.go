package dispatcher

import (
	"context"
	"slices"
	"sync"
	"time"

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

// group is the activities that the same pools and the same throttle bound.
type group struct {
	pools    []*pool
	throttle *throttle
	queues   []provider.QueueFilter
}

// pools lets the task loop ask only for what it may run: nothing is fetched beyond a limit, so that nothing is held
// under lease or given back because of one. Only the task loop takes places, so that what was free when it asked is free when it is answered.
type pools struct {
	mu     sync.Mutex
	of     map[ActivityName][]*pool
	limits map[string]QueueLimit
	groups []*group
	next   int                // group that is asked first
	wake   context.CancelFunc // ends a fetch that was parked without the full pools
	freed  int64              // how often a full pool got a free place

	throttles map[string]*throttle // by queue
}

func newPools(cfg *Config) *pools {
	p := &pools{of: make(map[ActivityName][]*pool), throttles: make(map[string]*throttle), limits: cfg.QueueLimits}
	for queue, limit := range cfg.QueueLimits {
		if limit.PerSecond > 0 {
			p.throttles[queue] = &throttle{queue: queue, pace: newPace(limit.PerSecond)}
		}
	}
	for _, limit := range cfg.Limits {
		one := &pool{size: limit.Size}
		for _, name := range limit.Activities {
			p.of[name] = append(p.of[name], one)
		}
	}
	for _, filter := range cfg.queues() {
		for _, name := range filter.Names {
			p.group(p.of[ActivityName{filter.Queue, name}], p.throttles[filter.Queue]).add(filter.Queue, name, filter.MaxLeased)
		}
	}
	return p
}

// group finds or makes the group with these pools and this throttle.
func (p *pools) group(bound []*pool, by *throttle) *group {
	for _, g := range p.groups {
		if slices.Equal(g.pools, bound) && g.throttle == by {
			return g
		}
	}
	g := &group{pools: bound, throttle: by}
	p.groups = append(p.groups, g)
	return g
}

func (g *group) add(queue, name string, maxLeased int) {
	for i := range g.queues {
		if g.queues[i].Queue == queue {
			g.queues[i].Names = append(g.queues[i].Names, name)
			return
		}
	}
	g.queues = append(g.queues, provider.QueueFilter{Queue: queue, Names: []string{name}, MaxLeased: maxLeased})
}

// room is how many attempts of the group may start, at most limit; if none because of a rate, again is when some may.
func (g *group) room(limit int, now time.Time) (room int, again time.Time) {
	for _, one := range g.pools {
		limit = min(limit, one.size-one.used)
	}
	if g.throttle == nil || limit <= 0 {
		return limit, time.Time{}
	}
	return g.throttle.room(limit, now)
}

// bounds tells whether a limit bounds the activity.
func (p *pools) bounds(queue, name string) bool {
	return p.limits[queue] != (QueueLimit{}) || p.of[ActivityName{queue, name}] != nil
}

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
	p.free(a.pools)
}

func (p *pools) free(list []*pool) {
	full := false
	for _, one := range list {
		full = full || one.used >= one.size
		one.used--
	}
	if full {
		p.tell()
	}
}

// tell ends a fetch that is parked without what has room now.
func (p *pools) tell() {
	p.freed++
	if p.wake != nil {
		p.wake()
	}
}

// hold takes places for tasks that begin a little later, and lets nobody fetch more of their queue until moments are reserved.
func (p *pools) hold(t *throttle, tasks []provider.LeasedTask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.reserves = true
	for i := range tasks {
		for _, one := range p.of[ActivityName{tasks[i].Queue, tasks[i].Name}] {
			one.used++
		}
	}
}

// drop gives the place of a held task back: its attempt has one by now, or it does not begin.
func (p *pools) drop(task *provider.LeasedTask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(p.of[ActivityName{task.Queue, task.Name}])
}

// reserved tells when more of a throttled queue may be fetched.
func (p *pools) reserved(t *throttle, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.reserves, t.pace.next = false, next
	p.tell()
}
