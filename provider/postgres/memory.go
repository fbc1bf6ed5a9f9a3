package postgres

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How much is remembered, and how long: a transaction's ID comes again after four thousand million others.
const (
	maxWarm      = 10_000
	maxWarmTasks = 20_000
	maxWarmInbox = 1_000

	maxWarmMessages = 64 // of an instance, with their payloads
	maxWarmBytes    = 4 << 10
	warmFor         = 10 * time.Minute
)

// memory is what this process left behind in its last transactions: instances that it need not read before it changes them again. Each
// goes by the ID of the transaction that wrote its row, so that what others did since is never overlooked. It may forget anything.
type memory struct {
	clock clock

	mu    sync.Mutex
	heads map[provider.UUID]*memo
	ids   map[string]provider.UUID
	tasks map[provider.TaskRef]*relational.Task
	cold  int // how many groups must go the long way, after one that would have created what was there
}

// A memo is one instance. It is never changed.
type memo struct {
	stored
	xid     uint32
	at      time.Time
	own     *ownRow            // nil: what else the row holds is not known
	inbox   *inbox             // all messages; nil: not known
	waiting []provider.Message // as many of them as are known
	row     *provider.Instance // of which a commit changes no more than the head; nil: not known
}

func newMemory() *memory {
	return &memory{
		heads: make(map[provider.UUID]*memo), ids: make(map[string]provider.UUID), tasks: make(map[provider.TaskRef]*relational.Task),
	}
}

// key answers the key under an ID as it was last seen.
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

// missed forgets what the calls of a group rest on, of which something has changed.
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

// fill gives a unit all that the calls of a group will look at; false if something of it is not known. That an instance which is to be
// created is not there is taken for granted.
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

// remember takes over what a unit has written, after its commit. What a claim in the same transaction has taken is not as the unit left it,
// and has the same transaction's ID: it is forgotten, and known again by the claim.
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

// saw remembers an instance that a fetch has leased.
func (w *memory) saw(m *memo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(m)
}

// sawTask remembers a task that a fetch has leased.
func (w *memory) sawTask(task *relational.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putTask(task.TaskRef, task)
}

// putTask remembers a task that somebody holds, and forgets any other.
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

// clock tells the storage's time without asking for it: what the storage said last, and what has passed here since. It is never ahead of
// the storage as long as that one's clock is not set back, and behind it by no more than an answer took. Who relies on it has the
// storage compare.
type clock struct {
	mu   sync.Mutex
	said provider.Time
	when time.Time
	last provider.Time // that was told, so that time does not run backwards
	seen provider.Time // what the storage said last
}

// resample is how long the answer that came fastest counts.
const resample = time.Second

// heard notes what the storage has just said; zero if the statement that was to tell it failed.
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

// now answers the time; zero if the storage has not told it lately.
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

// latest answers the time, or the last one that the storage told.
func (c *clock) latest() provider.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(now, c.seen)
}

// forget is for when the storage disagrees.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said, c.last = 0, 0
}

// ownRow is what the row of an instance holds beside its head, of an instance that this process has made or fetched whole and that has neither
// attributes nor a custom status. Who waits for its end is handed the row without a read. It is never changed.
type ownRow struct {
	created provider.Time
	result  []byte
}
