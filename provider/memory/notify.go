package memory

import (
	"sync"

	"github.com/perdure/perdure/provider"
)

// notifier sends notices to the listeners.
type notifier struct {
	mu        sync.Mutex
	listeners map[*func(provider.Notice)]struct{}
}

func (n *notifier) notify(notices []provider.Notice) {
	if len(notices) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notice := range notices {
		for fn := range n.listeners {
			(*fn)(notice)
		}
	}
}

// Notify implements provider.Notifier. The lock makes stop wait for a running fn.
func (s *store) Notify(fn func(provider.Notice)) (stop func()) {
	n := &s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[*func(provider.Notice)]struct{}{}
	}
	n.listeners[&fn] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, &fn)
	}
}
