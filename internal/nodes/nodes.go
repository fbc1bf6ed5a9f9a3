// Package nodes tells a client which nodes run in its own process. A node that serves an orchestration on the client's store
// may make the first turn of an instance before the instance is stored, so that both are one commit.
package nodes

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

// A Node may start instances eagerly.
type Node interface {
	// StartEagerly makes the first turn of an instance and stores the instance as that turn leaves it. ok is false if it did not, for
	// whatever reason: then nothing is stored, and the caller creates the instance itself. It never waits for user code longer than
	// a moment.
	StartEagerly(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error)
}

// running are the nodes of this process, by the very value of the store that they were given. Nobody changes a list that is in it.
var running = struct { //nolint:gochecknoglobals // who embeds the engine gives client and runtime nothing in common but the store
	mu sync.RWMutex
	on map[provider.Provider][]Node
}{on: make(map[provider.Provider][]Node)}

// Enter makes a node known, until leave is called, once.
func Enter(store provider.Provider, n Node) (leave func()) {
	if !mayBeKey(store) {
		return func() {}
	}
	running.mu.Lock()
	defer running.mu.Unlock()
	running.on[store] = append(slices.Clone(running.on[store]), n)
	return func() {
		running.mu.Lock()
		defer running.mu.Unlock()
		left := slices.Clone(running.on[store])
		if i := slices.Index(left, n); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		running.on[store] = left
		if len(left) == 0 {
			delete(running.on, store)
		}
	}
}

// mayBeKey tells whether a store may be a key of a map: it need not be a pointer.
func mayBeKey(store provider.Provider) bool { return reflect.ValueOf(store).Comparable() }

// StartEagerly asks the nodes that run on the store, one after the other.
func StartEagerly(ctx context.Context, store provider.Provider, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	for _, n := range on(store) {
		if res, ok, err = n.StartEagerly(ctx, req); ok {
			return res, true, err
		}
	}
	return provider.CreateResult{}, false, nil
}

func on(store provider.Provider) []Node {
	if !mayBeKey(store) {
		return nil
	}
	running.mu.RLock()
	defer running.mu.RUnlock()
	return running.on[store]
}
