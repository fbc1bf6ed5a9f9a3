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

// ownRow is the rest of an instance's row, in addition to its head. It exists for instances without attributes and
// custom status that this process made or fetched whole. Calls that wait for the end of such an instance get the row
// without a read. It saves no CPU. Without it, W3's median latency was higher in three of four comparisons. It is never
// changed.
type ownRow struct {
	created provider.Time
	result  []byte
}
