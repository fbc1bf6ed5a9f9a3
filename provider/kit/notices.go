package kit

import (
	"sync"

	"github.com/perdure/perdure/provider"
)

// Notices implements [provider.Notifier] within a process. The zero value is ready. It is safe for concurrent use.
type Notices struct {
	mu        sync.Mutex
	listeners map[*func(provider.Notice)]struct{}
}

// Notify implements provider.Notifier.
func (n *Notices) Notify(fn func(provider.Notice)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[*func(provider.Notice)]struct{}{}
	}
	n.listeners[&fn] = struct{}{}
	return func() { // the lock makes it wait for a running fn
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, &fn)
	}
}

// Tell calls each listener with each notice. A store calls it once the change is durable, without a lock that its calls take.
func (n *Notices) Tell(notices ...provider.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notice := range notices {
		for fn := range n.listeners {
			(*fn)(notice)
		}
	}
}
