package enginetest

import "sync"

// Notes is a list that several goroutines append to.
type Notes[T any] struct {
	mu  sync.Mutex
	all []T
}

// Add appends a value and returns the number of values.
func (n *Notes[T]) Add(v T) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
	return len(n.all)
}

// All returns a copy of the values.
func (n *Notes[T]) All() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]T(nil), n.all...)
}
