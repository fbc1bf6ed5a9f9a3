package postgres

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// maxPassed is how often a call waits for the groups of its own process before it takes its chance among the others.
const maxPassed = 20

// When a second group begins beside one that is under way.
const (
	enough   = maxGroup / 2
	patience = 5 * time.Millisecond
)

// comeback is how long a caller that was answered takes at most to make its next call, if it makes one at once.
const comeback = 80 * time.Microsecond

// A crowd keeps the groups of one process out of each other's way: a call on an instance that a group is about to change
// waits in the queue and goes with the next group, together with all others that wait for the instance. In a group beside that one it
// would find the row locked and have to go by itself.
type crowd struct {
	mu    sync.Mutex
	busy  int       // groups that are under way
	since time.Time // when the last of them began
	keys  map[provider.UUID]int

	comeback time.Duration
	known    func(id string) (provider.UUID, bool) // the key under an ID, as far as this process knows
}

func newCrowd(queue *relational.Queue, known func(string) (provider.UUID, bool)) *crowd {
	c := &crowd{keys: make(map[provider.UUID]int), comeback: comeback, known: known}
	queue.Free = c.free
	return c
}

// take answers the next group, in whose way nobody gets until it leaves. Beside a group that is under way there is a second one only if
// many calls wait, or the first takes long: otherwise they cost less in the group after it.
func (c *crowd) take(queue *relational.Queue) (members []*relational.Member, stopped bool) {
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

// gather lets those whom a group has answered come back before the next one begins. Else the first of them would go alone, and the others wait
// for its commit. It ends with the last of them, or when nobody has come for a while; a lone step waits for nobody.
func (c *crowd) gather(queue *relational.Queue, answered int) {
	if answered < 2 {
		return
	}
	there := queue.Len()
	all, last := there+answered, time.Now()
	for there < min(all, enough) && time.Since(last) < c.comeback {
		runtime.Gosched() // a timer would be late by more than all of this takes
		if now := queue.Len(); now > there {
			there, last = now, time.Now()
		}
	}
}

// alone lets a call go by itself if nobody else is under way or waits.
func (c *crowd) alone(queue *relational.Queue, members []*relational.Member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 || queue.Len() > 0 {
		return false
	}
	c.busy, c.since = 1, time.Now()
	c.add(members, 1)
	return true
}

// leave lets the others have what a group has changed.
func (c *crowd) leave(members []*relational.Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	c.add(members, -1)
}

func (c *crowd) add(members []*relational.Member, n int) {
	for _, m := range members {
		if m.Taken == nil {
			m.Taken = c.keysOf(m) // an ID may be given to another instance meanwhile
		}
		for _, key := range m.Taken {
			if c.keys[key] += n; c.keys[key] == 0 {
				delete(c.keys, key)
			}
		}
	}
}

// free tells whether no group is about to change what a call needs. The lock is held by take.
func (c *crowd) free(m *relational.Member) bool {
	if m.Passed == maxPassed {
		return true
	}
	for _, key := range c.keysOf(m) {
		if c.keys[key] > 0 {
			m.Passed++
			return false
		}
	}
	return true
}

func (c *crowd) keysOf(m *relational.Member) []provider.UUID {
	keys := m.Needs.Keys
	for _, id := range m.Needs.IDs {
		if key, ok := c.known(id); ok {
			keys = append(slices.Clip(keys), key)
		}
	}
	return keys
}
