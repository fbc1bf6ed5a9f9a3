package turn

import (
	"container/list"
	"sync"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/inflight"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// actor owns one instance on this node: its cached execution, if any, and its waiting jobs. One job runs at a time.
type actor struct {
	key provider.UUID

	// Guarded by actors.mu.
	waiting    []job
	busy       bool
	idle       *list.Element    // in actors.lru, while it is cached and not busy, or checked out
	checkedOut bool             // busy because a query has the execution
	queries    []chan *Checkout // that wait for it
	idleSince  time.Time
	size       int
	gone       bool      // removed; jobs must find another
	pinned     time.Time // until when the instance may be pinned to this node
	commits    bool      // a turn is being committed
	committed  time.Time // when the last commit began or ended
	arrived    bool      // this node has sent to the inbox since the last commit began

	// Used by the running job only.
	x       *replay.Execution
	version provider.UUID // of the last confirmed commit
	readyAt provider.Time // when the inbox has a message, as that commit returned; 0: none
	fast    int           // fast turns since the last fetched one
	limit   string        // time limit of the execution, which the next one gets anew; see reserved.Limit; "": none

	outcomes   *engine.Outcomes  // of updates
	outcomesOf *replay.Execution // whose turns have kept them up to date; nil: they are not read
}

// job is one thing to do for an instance: a fetched turn, or a result from memory.
type job struct {
	turn    *provider.Turn
	token   provider.UUID
	suspect bool
	ahead   bool // none of its messages was visible yet
	result  *task.Result
}

// actors holds the actors of a node and bounds the memory of their cached executions: the
// least recently used is evicted first.
type actors struct {
	work *inflight.Count // counts each actor that is busy

	mu       sync.Mutex
	byKey    map[provider.UUID]*actor
	lru      list.List // idle actors with a cached execution, most recent first
	bytes    int
	maxCount int
	maxBytes int
	toUnpin  []provider.UUID // evicted while they may be pinned
	cached   chan struct{}   // capacity 1: an execution was cached
	// retries are of turns that must be made again. They outlive the actor, which is evicted each time.
	retries map[provider.UUID]engine.Retries
}

func newActors(n *core.Node) *actors {
	return &actors{
		work:  &n.Work,
		byKey: make(map[provider.UUID]*actor), retries: make(map[provider.UUID]engine.Retries), maxCount: n.Config.CacheCount, maxBytes: n.Config.CacheBytes,
		cached: make(chan struct{}, 1),
	}
}

// retriesOf returns what is known of the turns that an instance has to make again.
func (as *actors) retriesOf(key provider.UUID) engine.Retries {
	as.mu.Lock()
	defer as.mu.Unlock()
	return as.retries[key]
}

// setRetries stores what is known of the turns that an instance has to make again. The node hears nothing of instances that other nodes
// end, so it forgets all when there are too many.
func (as *actors) setRetries(key provider.UUID, c engine.Retries) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if c.None() {
		delete(as.retries, key)
		return
	}
	if len(as.retries) >= maxRetries {
		clear(as.retries)
	}
	as.retries[key] = c
}

// sentTo notes that this node has put a message into the instance's inbox.
func (as *actors) sentTo(key provider.UUID) {
	as.mu.Lock()
	if a, ok := as.byKey[key]; ok {
		a.arrived = true
	}
	as.mu.Unlock()
}

// hasArrived reports whether it has done so since the last commit began.
func (as *actors) hasArrived(a *actor) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	return a.arrived
}

func (as *actors) size() (count, bytes int) {
	as.mu.Lock()
	defer as.mu.Unlock()
	return as.lru.Len(), as.bytes
}

// enlist gives a job to the instance's actor. Without create, only an existing actor takes it. It returns the actor if that was idle; the
// caller then drives it.
func (as *actors) enlist(key provider.UUID, j job, create bool) (taken bool, idle *actor) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a, ok := as.byKey[key]
	if !ok {
		if !create {
			return false, nil
		}
		a = &actor{key: key}
		as.byKey[key] = a
	}
	a.waiting = append(a.waiting, j)
	if a.busy {
		return true, nil
	}
	a.busy = true
	as.unlist(a)
	as.work.Add()
	return true, a
}

// next returns the actor's next jobs: a fetched turn, or all results up to the next one. With none left the actor becomes idle, and next
// returns what the cache evicts for it.
func (as *actors) next(a *actor) (jobs []job, evict []*replay.Execution) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if len(a.waiting) == 0 {
		a.busy = false
		if !a.gone {
			evict = as.rest(a)
		}
		as.checkoutNext(a)
		return nil, evict
	}
	n := 1
	if a.waiting[0].turn == nil {
		for n < len(a.waiting) && a.waiting[n].turn == nil {
			n++
		}
	}
	jobs = a.waiting[:n:n]
	a.waiting = a.waiting[n:]
	return jobs, nil
}

// rest makes an actor idle. It caches the execution, or removes the actor if there is none.
func (as *actors) rest(a *actor) (evict []*replay.Execution) {
	if a.x == nil {
		delete(as.byKey, a.key)
		a.gone = true
		return nil
	}
	a.size = a.x.View().Size()
	as.bytes += a.size
	a.idle, a.idleSince = as.lru.PushFront(a), time.Now()
	select {
	case as.cached <- struct{}{}:
	default:
	}
	for as.lru.Len() > as.maxCount || as.bytes > as.maxBytes && as.lru.Len() > 0 {
		oldest := as.lru.Back().Value.(*actor)
		evict = append(evict, as.remove(oldest))
	}
	return evict
}

// remove evicts an idle actor and returns its execution. The execution of one that is checked out is closed when it is returned.
func (as *actors) remove(a *actor) *replay.Execution {
	as.unlist(a)
	if a.forgetPin() {
		as.toUnpin = append(as.toUnpin, a.key)
	}
	if a.checkedOut {
		return nil
	}
	a.gone = true
	delete(as.byKey, a.key)
	x := a.x
	a.x = nil
	return x
}

// abandon removes an actor whose turn is stuck and returns its waiting jobs.
func (as *actors) abandon(a *actor) []job {
	as.mu.Lock()
	defer as.mu.Unlock()
	a.gone = true
	if as.byKey[a.key] == a {
		delete(as.byKey, a.key)
	}
	a.refuseQueries()
	jobs := a.waiting
	a.waiting = nil
	return jobs
}

// commits notes that a commit of the actor begins or has ended. The commit reads the inbox, so its result covers what arrived before it
// began. Messages that arrive meanwhile may be missing from it and stay noted.
func (as *actors) commits(a *actor, now bool) {
	as.mu.Lock()
	a.commits, a.committed = now, time.Now()
	if now {
		a.arrived = false
	}
	as.mu.Unlock()
}

// withdrawal is the outcome of withdraw.
type withdrawal int

const (
	withdrawn  withdrawal = iota
	committing            // the result may wait for the commit in progress
	begun                 // a turn has begun with it
)

// withdraw takes a result out of the waiting jobs.
func (as *actors) withdraw(key provider.UUID, r *task.Result) withdrawal {
	as.mu.Lock()
	defer as.mu.Unlock()
	a, ok := as.byKey[key]
	if !ok {
		return begun
	}
	for i, j := range a.waiting {
		if j.result != r {
			continue
		}
		if (a.commits || time.Since(a.committed) < handOffTimeout) && time.Since(r.ArrivedAt) < commitTimeout {
			return committing
		}
		a.waiting = append(a.waiting[:i:i], a.waiting[i+1:]...)
		return withdrawn
	}
	return begun
}

// clear empties the cache. From now on nothing is cached.
func (as *actors) clear() (evicted []*replay.Execution) {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.maxCount = 0
	for as.lru.Len() > 0 {
		evicted = append(evicted, as.remove(as.lru.Back().Value.(*actor)))
	}
	return evicted
}
