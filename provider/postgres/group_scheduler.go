package postgres

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// maxSkipped is how often a call waits for groups of its own process before it joins one anyway.
const maxSkipped = 20

// When a second group begins while one is in flight.
const (
	enough   = maxGroup / 2
	patience = 5 * time.Millisecond
)

// lingerWindow bounds the time that a caller needs from one call to the next if it calls again at once.
const lingerWindow = 80 * time.Microsecond

// scheduler keeps the groups of one process away from each other's instances. A call on an instance that a group in flight
// changes waits in the queue. It goes with the next group, together with all others that wait for the instance. In a
// concurrent group it would find the row locked and need a transaction of its own.
type scheduler struct {
	mu    sync.Mutex
	busy  int       // groups in flight
	since time.Time // when the last of them began
	keys  map[provider.UUID]int

	lingerWindow time.Duration
	keyOf        func(id string) (provider.UUID, bool) // the key under an ID, if this process knows it
}

func newScheduler(queue *relational.Queue, keyOf func(string) (provider.UUID, bool)) *scheduler {
	c := &scheduler{keys: make(map[provider.UUID]int), lingerWindow: lingerWindow, keyOf: keyOf}
	queue.Free = c.free
	return c
}

// take returns the next group. Until release, no other group takes its instances. While a group is in flight, a second
// one begins only if many calls wait or the first takes long. Otherwise the calls cost less in the next group.
func (c *scheduler) take(queue *relational.Queue) (members []*relational.Member, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 && queue.Len() < enough && time.Since(c.since) < patience {
		return nil, false
	}
	members, stopped = queue.Take(nil, maxGroup, maxGroupBytes)
	if len(members) > 0 {
		c.busy, c.since = c.busy+1, time.Now()
	}
	c.add(members, 1)
	return members, stopped
}

// linger waits for the callers that a group has just answered, before the next group begins. Otherwise the first of
// them would commit alone, and the others wait for that. It ends when all are back, or when none came for a while. It
// does not wait after a single step. Without this, groups are smaller and W6 takes 36 % more CPU.
func (c *scheduler) linger(queue *relational.Queue, answered int) {
	if answered < 2 {
		return
	}
	there := queue.Len()
	all, last := there+answered, time.Now()
	for there < min(all, enough) && time.Since(last) < c.lingerWindow {
		runtime.Gosched() // a timer would be later than the whole wait
		if now := queue.Len(); now > there {
			there, last = now, time.Now()
		}
	}
}

// takeSingle admits a call that its caller commits if no group is in flight and no call waits.
func (c *scheduler) takeSingle(queue *relational.Queue, members []*relational.Member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 || queue.Len() > 0 {
		return false
	}
	c.busy, c.since = 1, time.Now()
	c.add(members, 1)
	return true
}

// release frees the instances of a group.
func (c *scheduler) release(members []*relational.Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	c.add(members, -1)
}

func (c *scheduler) add(members []*relational.Member, n int) {
	for _, m := range members {
		if m.Reserved == nil {
			m.Reserved = c.keysOf(m) // the ID may be given to another instance meanwhile
		}
		for _, key := range m.Reserved {
			if c.keys[key] += n; c.keys[key] == 0 {
				delete(c.keys, key)
			}
		}
	}
}

// free reports whether no group in flight changes what a call needs. take holds the lock.
func (c *scheduler) free(m *relational.Member) bool {
	if m.Skipped == maxSkipped {
		return true
	}
	for _, key := range c.keysOf(m) {
		if c.keys[key] > 0 {
			m.Skipped++
			return false
		}
	}
	return true
}

func (c *scheduler) keysOf(m *relational.Member) []provider.UUID {
	keys := m.Needs.Keys
	for _, id := range m.Needs.IDs {
		if key, ok := c.keyOf(id); ok {
			keys = append(slices.Clip(keys), key)
		}
	}
	return keys
}
