package nodes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/internal/nodes"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type store struct {
	provider.Provider

	name string
}

// node answers for itself, or passes.
type node struct {
	passes bool
	err    error
	asked  int
}

func (n *node) StartEagerly(context.Context, provider.CreateRequest) (provider.CreateResult, bool, error) {
	n.asked++
	return provider.CreateResult{}, !n.passes, n.err
}

// All nodes on a store are asked until one starts the instance, and those that have left are not.
func TestNodesAreAskedInTurn(t *testing.T) {
	one, two := &store{name: "one"}, &store{name: "two"}
	full, free, last := &node{passes: true}, &node{err: errors.New("refused")}, &node{}
	other := &node{}
	leaveFull, leaveFree := nodes.Enter(one, full), nodes.Enter(one, free)
	leaveLast, leaveOther := nodes.Enter(one, last), nodes.Enter(two, other)
	if _, ok, err := nodes.StartEagerly(t.Context(), one, provider.CreateRequest{}); !ok || !errors.Is(err, free.err) {
		t.Errorf("%v, %v", ok, err)
	}
	leaveFree()
	if _, ok, err := nodes.StartEagerly(t.Context(), one, provider.CreateRequest{}); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	leaveLast()
	leaveFull()
	if _, ok, err := nodes.StartEagerly(t.Context(), one, provider.CreateRequest{}); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if full.asked != 2 || free.asked != 1 || last.asked != 1 || other.asked != 0 {
		t.Errorf("asked %d, %d, %d and %d times", full.asked, free.asked, last.asked, other.asked)
	}
	leaveOther()
}

// A store that is no pointer is the same for client and node if it is equal. One that cannot be compared has no nodes.
func TestStoreMayBeAnyValue(t *testing.T) {
	n := &node{}
	defer nodes.Enter(store{name: "one"}, n)()
	if _, ok, _ := nodes.StartEagerly(t.Context(), store{name: "one"}, provider.CreateRequest{}); !ok {
		t.Error("a store that is equal is another one")
	}
	type wrapped struct {
		provider.Provider

		more any
	}
	odd := wrapped{more: []int{1}}
	defer nodes.Enter(odd, n)()
	if _, ok, _ := nodes.StartEagerly(t.Context(), odd, provider.CreateRequest{}); ok {
		t.Error("a store that cannot be compared has a node")
	}
}
