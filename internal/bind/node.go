package bind

import (
	"context"

	"github.com/perdure/perdure/codec"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Starter is a node that starts instances.
type Starter interface {
	// StartWithFirstTurn makes the first turn of an instance and stores the instance as that turn leaves it, in one commit. If
	// ok is false, nothing is stored, for whatever reason. The caller then creates the instance itself.
	StartWithFirstTurn(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error)
	// Level returns the level that the store of the node allows.
	Level() *upgrade.Level
	// Watch returns what reports to the Observer of the node; nil: nobody observes.
	Watch() *observing.Hub
	// Codec returns the codec of the node; nil: it has none.
	Codec() codec.Codec
}

// Asker answers a question to an instance from memory. If ok is false, it could not, and the caller asks through the store.
type Asker interface {
	AskCached(ctx context.Context, key provider.UUID, q *history.Question) (answer history.Answer, ok bool)
}

// Node is embedded in client.Node.
type Node struct{ starter Starter }

func (n *Node) node() *Node { return n }

// NodeOf makes a client.Node.
func NodeOf[N any, P interface {
	*N
	node() *Node
}](s Starter) N {
	var n N
	P(&n).node().starter = s
	return n
}

// StarterOf returns the argument of NodeOf; nil for a zero Node.
func StarterOf(n *Node) Starter { return n.starter }

// StarterIn returns the argument of NodeOf from a client.Node, for tests that start an instance by a request of their own.
func StarterIn[N any, P interface {
	*N
	node() *Node
}](n N) Starter {
	return StarterOf(P(&n).node())
}
