package postgres

import (
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How much is cached, and how long: the ID of a transaction is used again after four thousand million others.
const (
	maxCachedRows  = 10_000
	maxCachedTasks = 20_000
	maxCachedInbox = 1_000

	maxCachedMessages = 64 // of an instance, with their payloads
	maxCachedBytes    = 4 << 10
	cacheTTL          = 10 * time.Minute
)

// rowCache holds what this process wrote in its last transactions: instances that it can change again without reading
// them. Each has the ID of the transaction that wrote its row, so that later changes by others are always detected. It
// may forget anything.
type rowCache struct {
	clock clock

	mu             sync.Mutex
	heads          map[provider.UUID]*cachedRow
	ids            map[string]provider.UUID
	tasks          map[provider.TaskRef]*relational.Task
	uncachedGroups int // how many groups must read first, after one that would have created an existing instance
}

// cachedRow is one instance. It is never changed.
type cachedRow struct {
	stored
	xid     uint32
	at      time.Time
	own     *ownRow            // nil: the rest of the row is not known
	inbox   *inbox             // all messages; nil: not known
	waiting []provider.Message // the known messages
	row     *provider.Instance // a commit changes only its head; nil: not known
}

func newRowCache() *rowCache {
	return &rowCache{
		heads: make(map[provider.UUID]*cachedRow), ids: make(map[string]provider.UUID), tasks: make(map[provider.TaskRef]*relational.Task),
	}
}

// key returns the key under an ID as last seen.
func (w *rowCache) key(id string) (provider.UUID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, ok := w.ids[id]
	return key, ok
}

// put caches an instance.
func (w *rowCache) put(m *cachedRow) {
	if len(w.heads) >= maxCachedRows {
		for key := range w.heads { // any
			w.remove(key)
			break
		}
	}
	w.heads[m.Key] = m
	if m.current {
		w.ids[m.ID] = m.Key
	}
}

func (w *rowCache) remove(key provider.UUID) {
	m := w.heads[key]
	if m == nil {
		return
	}
	delete(w.heads, key)
	if w.ids[m.ID] == key {
		delete(w.ids, m.ID)
	}
}

// invalidate removes what the calls of a group rely on, after some of it turned out to have changed.
func (w *rowCache) invalidate(needs *relational.Needs, existed bool) {
	const groups = 4
	w.mu.Lock()
	defer w.mu.Unlock()
	if existed {
		w.uncachedGroups = groups
	}
	for _, key := range needs.Keys {
		w.remove(key)
	}
	for _, id := range needs.IDs {
		w.remove(w.ids[id])
	}
	for _, ref := range needs.Tasks {
		delete(w.tasks, ref)
	}
}

// add caches an instance that a fetch leased.
func (w *rowCache) add(m *cachedRow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(m)
}

// addTask caches a task that a fetch leased.
func (w *rowCache) addTask(task *relational.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putTask(task.TaskRef, task)
}

// putTask caches a leased task, and removes any other.
func (w *rowCache) putTask(ref provider.TaskRef, task *relational.Task) {
	if task == nil || task.State != provider.TaskLeased || task.Session != "" {
		delete(w.tasks, ref)
		return
	}
	if len(w.tasks) >= maxCachedTasks {
		for other := range w.tasks { // any
			delete(w.tasks, other)
			break
		}
	}
	w.tasks[ref] = task
}

// ownRow is the rest of an instance's row, in addition to its head. It exists for instances without attributes and
// custom status that this process created or fetched whole. Calls that wait for the end of such an instance get the row
// without a read. It saves no CPU. Without it, W3's median latency was higher in three of four comparisons. It is never
// changed.
type ownRow struct {
	created provider.Time
	result  []byte
	failure *relational.Failure
}
