package figures

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

const (
	// MaxNames bounds the names of a kind in a record. The first ones keep their name, and further ones count as Other, however often they come.
	MaxNames = 200
	// Other stands for all names beyond the first MaxNames.
	Other = "_other"
	// shards is a power of two.
	shards = 16
)

// Counts are numbers of things that happened.
type Counts struct {
	Started   int64 `json:"started,omitempty"` // instances whose first turn was stored
	Completed int64 `json:"completed,omitempty"`
	Failed    int64 `json:"failed,omitempty"`
	Cancelled int64 `json:"cancelled,omitempty"`
	Retried   int64 `json:"retried,omitempty"` // attempts of activities that another one follows
}

func (c *Counts) add(more *Counts) {
	c.Started += more.Started
	c.Completed += more.Completed
	c.Failed += more.Failed
	c.Cancelled += more.Cancelled
	c.Retried += more.Retried
}

// Activity is what happened to attempts of one activity.
type Activity struct {
	Completed int64     `json:"completed,omitempty"`
	Failed    int64     `json:"failed,omitempty"` // for good, by a timeout or otherwise
	Cancelled int64     `json:"cancelled,omitempty"`
	Retried   int64     `json:"retried,omitempty"`
	Latency   Latencies `json:"latency,omitempty"` // of attempts, from begin to end
}

func (a *Activity) add(more *Activity) {
	a.Completed += more.Completed
	a.Failed += more.Failed
	a.Cancelled += more.Cancelled
	a.Retried += more.Retried
	if a.Latency == nil && len(more.Latency) > 0 {
		a.Latency = make(Latencies, len(more.Latency))
	}
	for bucket, n := range more.Latency {
		a.Latency[bucket] += n
	}
}

// Queue is what waited in a queue of activities, as one node has seen it every ten seconds.
type Queue struct {
	Peak    int64         `json:"peak,omitempty"`    // the most that waited at once
	Longest time.Duration `json:"longest,omitempty"` // that one of them had waited, in nanoseconds
	Waiting int64         `json:"waiting,omitempty"` // at the last look
	Oldest  provider.Time `json:"oldest,omitzero"`   // since when the oldest of these waited; 0: none waited
	At      provider.Time `json:"at"`                // of the last look
}

func (q *Queue) add(more *Queue) {
	q.Peak, q.Longest = max(q.Peak, more.Peak), max(q.Longest, more.Longest)
	if more.At >= q.At {
		q.Waiting, q.Oldest, q.At = more.Waiting, more.Oldest, more.At
	}
}

// size orders queues, as the next orders activities.
func (q *Queue) size() int64 { return q.Peak }

func (a *Activity) size() int64 { return a.Completed + a.Failed + a.Cancelled + a.Retried }

// delta is what was counted since the last drain.
type delta struct {
	counts     Counts
	failed     map[string]int64 // ends, by orchestration
	activities map[string]*Activity
	queues     map[string]*Queue
	backlog    int64 // the most that waited in all queues at once
	looks      seen  // at what waits
	silences   seen  // of nodes that keep no figures
}

// Counter counts what the commits of a node have confirmed. A nil Counter counts nothing. Many goroutines may use it at once.
type Counter struct {
	shards [shards]shard
	dirty  atomic.Bool   // something was counted since the last drain
	woken  chan struct{} // capacity 1: dirty has become true

	mu      sync.Mutex // of what follows
	queues  map[string]*Queue
	backlog int64
	waits   map[string]bool // queues in which something waited at the last look
	looks   seen            // at what waits
	silent  seen            // nodes that keep no figures
}

type shard struct {
	mu         sync.Mutex
	counts     Counts
	failed     map[string]int64
	activities map[string]*tally
	_          [40]byte // the next shard has cache lines of its own
}

// tally is an Activity while it is counted.
type tally struct {
	completed, failed, cancelled, retried int64
	buckets                               [bucketCount]int32
}

// NewCounter returns an empty Counter.
func NewCounter() *Counter { return &Counter{woken: make(chan struct{}, 1)} }

// shard returns the locked shard of an instance.
func (c *Counter) shard(key *provider.UUID) *shard {
	s := &c.shards[key[len(key)-1]%shards]
	s.mu.Lock()
	return s
}

// touched says that there is something to drain.
func (c *Counter) touched() {
	if !c.dirty.Load() && c.dirty.CompareAndSwap(false, true) {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	}
}

// Started counts an instance whose first turn is stored.
func (c *Counter) Started(key *provider.UUID, orchestration string) {
	if c == nil || reserved.Name(orchestration) {
		return
	}
	s := c.shard(key)
	s.counts.Started++
	s.mu.Unlock()
	c.touched()
}

// Ended counts an instance that has ended.
func (c *Counter) Ended(key *provider.UUID, orchestration string, outcome observe.Outcome) {
	if c == nil || reserved.Name(orchestration) {
		return
	}
	s := c.shard(key)
	switch outcome { //nolint:exhaustive // an execution that continues as new is no end
	case observe.Completed:
		s.counts.Completed++
	case observe.Cancelled:
		s.counts.Cancelled++
	case observe.Failed:
		s.counts.Failed++
		if s.failed == nil {
			s.failed = make(map[string]int64)
		}
		s.failed[room(s.failed, orchestration)]++
	}
	s.mu.Unlock()
	c.touched()
}

// Attempt counts an attempt of an activity that has ended, and whose outcome is stored. took below 0 is not known.
func (c *Counter) Attempt(key *provider.UUID, activity string, outcome observe.Outcome, took time.Duration) {
	if c == nil || reserved.Name(activity) {
		return
	}
	bucket := bucketOf(took)
	s := c.shard(key)
	defer s.mu.Unlock()
	if s.activities == nil {
		s.activities = make(map[string]*tally)
	}
	a := s.activities[activity]
	if a == nil {
		activity = room(s.activities, activity)
		if a = s.activities[activity]; a == nil {
			a = new(tally)
			s.activities[activity] = a
		}
	}
	switch outcome {
	case observe.Completed:
		a.completed++
	case observe.Failed, observe.TimedOut:
		a.failed++
	case observe.Cancelled:
		a.cancelled++
	case observe.Retried:
		a.retried++
		s.counts.Retried++
	default:
		return
	}
	if took >= 0 {
		a.buckets[bucket]++
	}
	c.touched()
}

// room returns the name under which something counts.
func room[V any](in map[string]V, name string) string {
	if _, ok := in[name]; !ok && len(in) >= MaxNames {
		return Other
	}
	return name
}

// Nodes notes whether a node runs at a time of the storage that keeps no figures.
func (c *Counter) Nodes(now provider.Time, nodes []upgrade.Node) {
	if c == nil || !slices.ContainsFunc(nodes, func(n upgrade.Node) bool { return n.Counts == nil && !n.Lost(now) }) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent.at(now) {
		c.touched()
	}
}

// Waiting notes what waits in queues at a time of the storage.
func (c *Counter) Waiting(now provider.Time, tasks []provider.WaitingTasks) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks.at(now) {
		c.touched()
	}
	seen, total := map[string]*Queue{}, int64(0)
	for i := range tasks {
		w := &tasks[i]
		if w.Queue == reserved.Queue || w.Count == 0 {
			continue
		}
		total += w.Count
		name := room(seen, w.Queue)
		q := seen[name]
		if q == nil {
			q = &Queue{At: now, Oldest: w.Oldest}
			seen[name] = q
		}
		q.Waiting += w.Count
		q.Oldest = min(q.Oldest, w.Oldest)
		q.Peak, q.Longest = q.Waiting, max(now.Sub(q.Oldest), 0)
	}
	emptied := c.waits
	c.waits = make(map[string]bool, len(seen))
	for name := range seen {
		c.waits[name] = true
		delete(emptied, name)
	}
	for name := range emptied {
		seen[name] = &Queue{At: now}
	}
	if len(seen) == 0 {
		return
	}
	if c.queues == nil {
		c.queues = make(map[string]*Queue)
	}
	for name, q := range seen {
		addTo(c.queues, name, q)
	}
	c.backlog = max(c.backlog, total)
	c.touched()
}

// adder is a figure that takes another one in.
type adder[T any] interface {
	*T
	add(more *T)
}

// addTo adds a figure under a name, or under Other if there are too many names.
func addTo[T any, P adder[T]](in map[string]P, name string, more P) {
	name = room(in, name)
	if in[name] == nil {
		in[name] = new(T)
	}
	in[name].add((*T)(more))
}

// merge adds figures, each under its name.
func merge[T any, P adder[T]](into, more map[string]P) {
	for name, m := range more {
		if into[name] == nil {
			into[name] = new(T)
		}
		into[name].add((*T)(m))
	}
}

// drain returns what was counted since the last drain. Only one goroutine may call it.
func (c *Counter) drain() (d delta) {
	c.dirty.Store(false)
	d.failed, d.activities, d.queues = map[string]int64{}, map[string]*Activity{}, map[string]*Queue{}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		counts, failed, activities := s.counts, s.failed, s.activities
		s.counts, s.failed, s.activities = Counts{}, nil, nil
		s.mu.Unlock()
		d.counts.add(&counts)
		for name, n := range failed {
			d.failed[room(d.failed, name)] += n
		}
		for name, t := range activities {
			addTo(d.activities, name, t.activity())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.backlog, d.looks, d.silences = c.backlog, c.looks, c.silent
	c.looks.ended, c.silent.ended = nil, nil
	maps.Copy(d.queues, c.queues)
	c.queues, c.backlog = nil, 0
	return d
}

// periods returns the last period of looks, and that of silence.
func (c *Counter) periods() (looks, silence upgrade.Period) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks.last, c.silent.last
}

// activity returns what was counted.
func (t *tally) activity() *Activity {
	a := &Activity{Completed: t.completed, Failed: t.failed, Cancelled: t.cancelled, Retried: t.retried}
	for bucket, n := range t.buckets {
		if n > 0 {
			if a.Latency == nil {
				a.Latency = make(Latencies)
			}
			a.Latency[bucket] = int64(n)
		}
	}
	return a
}
