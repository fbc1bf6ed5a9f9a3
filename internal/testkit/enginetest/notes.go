package enginetest

import "sync"

// Notes is what several goroutines write down, in order.
type Notes[T any] struct {
	mu  sync.Mutex
	all []T
}

// Add writes one down and answers how many there are.
func (n *Notes[T]) Add(v T) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
	return len(n.all)
}

// All answers a copy.
func (n *Notes[T]) All() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]T(nil), n.all...)
}
