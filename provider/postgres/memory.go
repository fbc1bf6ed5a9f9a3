package postgres

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How much is remembered, and how long: the ID of a transaction is used again after four thousand million others.
const (
	maxWarm      = 10_000
	maxWarmTasks = 20_000
	maxWarmInbox = 1_000

	maxWarmMessages = 64 // of an instance, with their payloads
	maxWarmBytes    = 4 << 10
	warmFor         = 10 * time.Minute
)

// memory holds what this process wrote in its last transactions: instances that it can change again without reading
// them. Each has the ID of the transaction that wrote its row, so that later changes by others are always detected. It
// may forget anything.
type memory struct {
	clock clock

	mu    sync.Mutex
	heads map[provider.UUID]*memo
	ids   map[string]provider.UUID
	tasks map[provider.TaskRef]*relational.Task
	cold  int // how many groups must read first, after one that would have created an existing instance
}

// memo is one instance. It is never changed.
type memo struct {
	stored
	xid     uint32
	at      time.Time
	own     *ownRow            // nil: the rest of the row is not known
	inbox   *inbox             // all messages; nil: not known
	waiting []provider.Message // the known messages
	row     *provider.Instance // a commit changes only its head; nil: not known
}

func newMemory() *memory {
	return &memory{
		heads: make(map[provider.UUID]*memo), ids: make(map[string]provider.UUID), tasks: make(map[provider.TaskRef]*relational.Task),
	}
}

// key returns the key under an ID as last seen.
func (w *memory) key(id string) (provider.UUID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, ok := w.ids[id]
	return key, ok
}

// put remembers an instance.
func (w *memory) put(m *memo) {
	if len(w.heads) >= maxWarm {
		for key := range w.heads { // any
			w.forget(key)
			break
		}
	}
	w.heads[m.Key] = m
	if m.current {
		w.ids[m.ID] = m.Key
	}
}

func (w *memory) forget(key provider.UUID) {
	m := w.heads[key]
	if m == nil {
		return
	}
	delete(w.heads, key)
	if w.ids[m.ID] == key {
		delete(w.ids, m.ID)
	}
}

// missed forgets what the calls of a group rely on, after some of it turned out to have changed.
func (w *memory) missed(needs *relational.Needs, existed bool) {
	const groups = 4
	w.mu.Lock()
	defer w.mu.Unlock()
	if existed {
		w.cold = groups
	}
	for _, key := range needs.Keys {
		w.forget(key)
	}
	for _, id := range needs.IDs {
		w.forget(w.ids[id])
	}
	for _, ref := range needs.Tasks {
		delete(w.tasks, ref)
	}
}

// fill gives a unit all that the calls of a group will read. It returns false if something is unknown. It assumes that
// an instance which is to be created does not exist.
func (w *memory) fill(u *unit, group []*relational.Member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cold > 0 {
		w.cold--
		return false
	}
	for _, m := range group {
		if len(m.Needs.Peek)+len(m.Needs.Lanes) > 0 || len(m.Needs.Tasks) > m.Needs.Completes {
			return false
		}
		for _, key := range m.Needs.Keys {
			w.fillHead(u, key)
		}
		for _, id := range m.Needs.IDs {
			key := w.ids[id]
			u.ids[id] = key
			if !key.IsZero() {
				w.fillHead(u, key)
			}
		}
		for _, ref := range m.Needs.Tasks {
			task := w.tasks[ref]
			if task == nil {
				return false
			}
			u.tasks[ref] = task // nobody changes it
		}
	}
	for _, m := range group {
		for _, look := range m.Needs.Inbox {
			if u.inbox[look.Key] == nil {
				return false
			}
		}
	}
	return true
}

func (w *memory) fillHead(u *unit, key provider.UUID) {
	if _, known := u.rows[key]; known {
		return
	}
	u.rows[key] = nil
	m := w.heads[key]
	if m == nil || time.Since(m.at) > warmFor {
		return
	}
	u.rows[key] = &m.stored
	u.recalled[key] = m
	if m.own != nil {
		u.own[key] = m.own
	}
	if m.inbox != nil {
		u.inbox[key] = m.inbox.copied()
	}
}

// remember takes over what a unit wrote, after its commit. It forgets what a claim of the same transaction took. That
// is no longer as the unit left it but has the same transaction ID. The claim itself remembers it again.
func (w *memory) remember(u *unit, t *relational.Tx, xid uint32, claimed []provider.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range claimed {
		delete(u.wrote, claimed[i].Instance.Key)
		w.forget(claimed[i].Instance.Key)
	}
	for key := range u.wrote {
		head, row := t.Heads[key], u.rows[key]
		if head == nil || row == nil || head.Status.Ended() || head.Deleting {
			w.forget(key)
			continue
		}
		m := &memo{stored: stored{Head: *head, request: row.request, current: row.current}, own: u.own[key], xid: xid, at: time.Now()}
		m.inbox = u.inbox[key].left(head)
		if was := u.recalled[key]; was != nil && !u.described[key] {
			m.row, m.waiting = was.row, u.remembered(head)
		}
		w.put(m)
	}
	for ref, task := range u.tasks {
		w.putTask(ref, task)
	}
}

// saw remembers an instance that a fetch leased.
func (w *memory) saw(m *memo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(m)
}

// sawTask remembers a task that a fetch leased.
func (w *memory) sawTask(task *relational.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putTask(task.TaskRef, task)
}

// putTask remembers a leased task, and forgets any other.
func (w *memory) putTask(ref provider.TaskRef, task *relational.Task) {
	if task == nil || task.State != provider.TaskLeased || task.Session != "" {
		delete(w.tasks, ref)
		return
	}
	if len(w.tasks) >= maxWarmTasks {
		for other := range w.tasks { // any
			delete(w.tasks, other)
			break
		}
	}
	w.tasks[ref] = task
}

// clock estimates the storage's time from the last time that the storage told and the local time since. It is never
// ahead of the storage, unless the storage's clock is set back. It is behind by at most one round trip. The storage
// verifies the time of each transaction that relies on it.
type clock struct {
	mu   sync.Mutex
	said provider.Time
	when time.Time
	last provider.Time // the last time returned, so that time does not run backwards
	seen provider.Time // the last time that the storage told
}

// resample is how long the fastest answer counts.
const resample = time.Second

// heard records the time that the storage just told, zero if the statement failed.
func (c *clock) heard(now provider.Time) {
	if now == 0 {
		return
	}
	here := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said == 0 || now >= c.said.Add(here.Sub(c.when)) || here.Sub(c.when) > resample {
		c.said, c.when = now, here
	}
	c.last, c.seen = max(c.last, now), now
}

// now returns the time, zero if the storage has not told it lately.
func (c *clock) now() provider.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.when)
	if c.said == 0 || passed > time.Minute {
		return 0
	}
	c.last = max(c.last, c.said+provider.Time(passed.Microseconds()))
	return c.last
}

// latest returns the time, or the last one that the storage told.
func (c *clock) latest() provider.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(now, c.seen)
}

// forget drops the estimate after the storage disagreed.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said, c.last = 0, 0
}

// ownRow is the rest of an instance's row, in addition to its head. It exists for instances without attributes and
// custom status that this process made or fetched whole. Calls that wait for the end of such an instance get the row
// without a read. It is never changed.
type ownRow struct {
	created provider.Time
	result  []byte
}
