package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/waiting"
	"github.com/perdure/perdure/provider"
)

// A Limit bounds the attempts of some activities on this node, in addition to the slots.
type Limit struct {
	Name       string // of the pool; "": the limit of one activity
	Size       int    // at least 1
	Activities []ActivityName
}

// ActivityName is an activity of a queue.
type ActivityName struct{ Queue, Name string }

// QueueLimit bounds the activities of a queue on all nodes together.
type QueueLimit struct {
	PerSecond     float64 // begun in a second; 0: no limit
	MaxConcurrent int     // leased at the same time; 0: no limit
}

// pool is a limit in use.
type pool struct {
	name       string
	size, used int
}

// group is the activities that the same pools and the same throttle bound.
type group struct {
	pools      []*pool
	throttle   *Throttle
	queues     []provider.QueueFilter
	backlogged bool // the last fetch of it found as many tasks as it asked for
}

// Pools lets the task loop ask only for what it may run. So nothing is fetched beyond a limit, and no task is leased or released in vain
// because of one. Only the task loop takes places: what was free when it asked is free when the fetch returns. The methods may be called
// from several goroutines at once.
type Pools struct {
	mu         sync.Mutex
	byActivity map[ActivityName][]*pool
	named      []*pool
	limits     map[string]QueueLimit
	groups     []*group
	next       int                // group that is asked first
	wake       context.CancelFunc // ends a fetch that waits without the full pools
	freed      int64              // how often a full pool got a free place

	throttles map[string]*Throttle            // by queue
	paused    atomic.Pointer[map[string]bool] // queues of which nothing begins; nil: none
}

// NewPools returns the pools and throttles of a node that serves the given queues.
func NewPools(limits []Limit, queueLimits map[string]QueueLimit, queues []provider.QueueFilter) *Pools {
	p := &Pools{byActivity: make(map[ActivityName][]*pool), throttles: make(map[string]*Throttle), limits: queueLimits}
	for queue, limit := range queueLimits {
		if limit.PerSecond > 0 {
			p.throttles[queue] = &Throttle{queue: queue, pace: newPace(limit.PerSecond)}
		}
	}
	for _, limit := range limits {
		one := &pool{name: limit.Name, size: limit.Size}
		if limit.Name != "" {
			p.named = append(p.named, one)
		}
		for _, name := range limit.Activities {
			p.byActivity[name] = append(p.byActivity[name], one)
		}
	}
	p.serve(queues)
	return p
}

// Serve sets the activities of which the task loop asks for tasks. What runs keeps its places.
func (p *Pools) Serve(queues []provider.QueueFilter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups, p.next = nil, 0
	p.serve(queues)
	p.endWait()
}

func (p *Pools) serve(queues []provider.QueueFilter) {
	for _, filter := range queues {
		for _, name := range filter.Names {
			p.group(p.byActivity[ActivityName{filter.Queue, name}], p.throttles[filter.Queue]).add(filter.Queue, name, filter.MaxLeased)
		}
	}
}

// Used calls fn for each pool that has a name.
func (p *Pools) Used(fn func(name string, used, size int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.named {
		fn(one.name, one.used, one.size)
	}
}

// Full calls fn for activities that a full pool keeps from beginning, in any order, until it returns false.
func (p *Pools) Full(fn func(of ActivityName) (more bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, list := range p.byActivity {
		if slices.ContainsFunc(list, func(one *pool) bool { return one.used >= one.size }) && !fn(of) {
			return
		}
	}
}

// group finds or makes the group with these pools and this throttle.
func (p *Pools) group(bound []*pool, by *Throttle) *group {
	for _, g := range p.groups {
		if slices.Equal(g.pools, bound) && g.throttle == by {
			return g
		}
	}
	g := &group{pools: bound, throttle: by, backlogged: true}
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

// room returns how many attempts of the group may start, at most limit. If a rate allows none, again is when it allows some.
func (g *group) room(limit int, now time.Time) (room int, again time.Time) {
	for _, one := range g.pools {
		limit = min(limit, one.size-one.used)
	}
	if g.throttle == nil || limit <= 0 {
		return limit, time.Time{}
	}
	return g.throttle.room(limit, now)
}

// Bounds reports whether a limit bounds the activity.
func (p *Pools) Bounds(queue, name string) bool {
	return p.limits[queue] != (QueueLimit{}) || p.byActivity[ActivityName{queue, name}] != nil
}

// Places are what an attempt takes in pools. The zero value is none.
type Places struct{ pools []*pool }

// Take takes the places of an attempt.
func (p *Pools) Take(queue, name string) Places {
	places := Places{p.byActivity[ActivityName{queue, name}]}
	if len(places.pools) == 0 {
		return places
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range places.pools {
		one.used++
	}
	return places
}

// Release gives them back.
func (p *Pools) Release(places Places) {
	if len(places.pools) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(places.pools)
}

func (p *Pools) free(list []*pool) {
	full := false
	for _, one := range list {
		full = full || one.used >= one.size
		one.used--
	}
	if full {
		p.endWait()
	}
}

// endWait ends a fetch that waits without what has room now.
func (p *Pools) endWait() {
	p.freed++
	if p.wake != nil {
		p.wake()
	}
}

// Throttles reports whether any queue has a rate.
func (p *Pools) Throttles() bool { return len(p.throttles) > 0 }

// Throttle returns the throttle of a queue; nil if it has no rate.
func (p *Pools) Throttle(queue string) *Throttle { return p.throttles[queue] }

// Hold takes places for tasks that begin a little later. Until Reserve has returned, nobody fetches more of their queue.
func (p *Pools) Hold(t *Throttle, tasks []provider.LeasedTask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.reserves = true
	for i := range tasks {
		for _, one := range p.byActivity[ActivityName{tasks[i].Queue, tasks[i].Name}] {
			one.used++
		}
	}
}

// Reserve takes up to n moments of a queue, those within patience, and returns the first by this node's clock.
func (p *Pools) Reserve(ctx context.Context, store *storage.Store, t *Throttle, n int, patience time.Duration) (first time.Time, reserved int, err error) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	next := time.Now().Add(storage.Backoff(1)) // if the storage does not respond
	defer func() { p.reserved(t, next) }()
	patience = min(maxPatience, patience)
	for {
		get := provider.RecordRequest{Action: provider.RecordGet, Namespace: waiting.RateSpace, Key: t.queue}
		res, err := store.Record(ctx, get)
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return first, 0, fmt.Errorf("rate of queue %q: %w", t.queue, err)
		}
		answered, at, put := time.Now(), res.Now, get
		if len(res.Records) > 0 {
			put.Expect = res.Records[0].Version
			if next := waiting.Rate(res.Records[0].Value); next <= res.Now.Add(t.furthest()) {
				at = max(at, next)
			}
		}
		first, next = answered.Add(at.Sub(res.Now)), answered.Add(at.Sub(res.Now)-lookAhead)
		near := patience - at.Sub(res.Now)
		if near < 0 {
			return first, 0, nil
		}
		reserved = min(n, int(near/t.pace.interval)+1)
		after := at.Add(time.Duration(reserved) * t.pace.interval)
		put.Action, put.Value = provider.RecordPut, binary.BigEndian.AppendUint64(nil, uint64(after))
		switch _, err := store.Record(ctx, put); {
		case err == nil:
			next = answered.Add(after.Sub(res.Now) - lookAhead)
			return first, reserved, nil
		case !errors.Is(err, provider.ErrConflict): // it may be stored even so: some moments pass unused
			return first, 0, fmt.Errorf("rate of queue %q: %w", t.queue, err)
		}
	}
}

// Drop gives the place of a held task back: its attempt has one by now, or it does not begin.
func (p *Pools) Drop(task *provider.LeasedTask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(p.byActivity[ActivityName{task.Queue, task.Name}])
}

// reserved sets when more of a throttled queue may be fetched.
func (p *Pools) reserved(t *Throttle, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.reserves, t.pace.next = false, next
	p.endWait()
}
