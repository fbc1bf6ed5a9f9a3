package sqlite

import (
	"sync"

	"github.com/perdure/perdure/provider"
)

// A hub holds the calls that wait for an instance or an answer, by key, so that a commit
// finds them without a look at anyone else.
type hub struct {
	mu        sync.Mutex
	instances map[provider.UUID]map[*waiter]struct{}
	waiters   int // in instances
	asks      map[provider.UUID]chan answered
	foreign   chan struct{} // closed and replaced when another process wrote
}

// A waiter is told at most once at a time; whoever is told reads the store again unless
// the row comes along.
type waiter struct {
	news chan *provider.Instance
}

func newHub() *hub {
	return &hub{
		instances: make(map[provider.UUID]map[*waiter]struct{}),
		asks:      make(map[provider.UUID]chan answered), foreign: make(chan struct{}),
	}
}

func (h *hub) watch(key provider.UUID) *waiter {
	w := &waiter{news: make(chan *provider.Instance, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	set := h.instances[key]
	if set == nil {
		set = make(map[*waiter]struct{})
		h.instances[key] = set
	}
	set[w] = struct{}{}
	h.waiters++
	return w
}

func (h *hub) unwatch(key provider.UUID, w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.instances[key], w)
	h.waiters--
	if len(h.instances[key]) == 0 {
		delete(h.instances, key)
	}
}

// watched tells whether somebody waits for the instance.
func (h *hub) watched(key provider.UUID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.instances[key]) > 0
}

// expect registers a question's asker.
func (h *hub) expect(id provider.UUID) chan answered {
	ch := make(chan answered, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asks[id] = ch
	return ch
}

func (h *hub) expected(id provider.UUID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asks[id] != nil
}

func (h *hub) unexpect(id provider.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.asks, id)
}

func (h *hub) publish(changes []change, answers []answered) {
	if len(changes)+len(answers) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range changes {
		for w := range h.instances[c.key] {
			select {
			case w.news <- c.row:
			default: // it has news that it did not look at yet, and will read the store
			}
		}
	}
	for _, a := range answers {
		if ch := h.asks[a.id]; ch != nil {
			select {
			case ch <- a:
			default:
			}
		}
	}
}

// waiting tells how many calls a recheck would wake.
func (h *hub) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiters + len(h.asks)
}

// recheck makes everyone read the store again, because another process wrote.
func (h *hub) recheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.instances)+len(h.asks) == 0 {
		return
	}
	close(h.foreign)
	h.foreign = make(chan struct{})
}

// elsewhere answers a channel that is closed at the next commit of another process.
func (h *hub) elsewhere() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.foreign
}

// notifier is the power to tell of ended executions and cancelled tasks.
type notifier struct {
	mu  sync.RWMutex
	fns map[*func(provider.Notice)]struct{}
}

func (n *notifier) publish(list []provider.Notice) {
	if len(list) == 0 {
		return
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	for fn := range n.fns {
		for _, notice := range list {
			(*fn)(notice)
		}
	}
}

// Notify implements [provider.Notifier]: it tells of what this process commits.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) {
	n, id := &p.store.notify, &fn
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fns[id] = struct{}{}
	return func() {
		n.mu.Lock() // waits for a running fn
		defer n.mu.Unlock()
		delete(n.fns, id)
	}
}
