package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/upgrade"
)

// DrainNode takes a node out of service without stopping its process, as the first phases of runtime.Runtime.Shutdown do. Within five seconds
// it takes no new work. Running work goes on to its end, however long that takes: nothing is cancelled. Other nodes take the rest at once. Nodes
// then shows it as draining, and as drained when nothing runs on it any more. The service learns that from runtime.Options.OnDrained and
// Health, and may end its process. UndrainNode, or a restart, puts it back into service.
//
// The call returns when the order is stored and the node has confirmed it, after 6 s at the latest (see ConfirmWithin). It does not wait
// until the node is drained. The Confirmation names a node that has not confirmed. The reason is for people, at most 4 KiB, and may be
// empty.
//
// Errors: client.ErrNotFound if no such node is listed, as a node of a release before Nodes never is; otherwise those of PauseQueue.
func (o *Operator) DrainNode(ctx context.Context, owner, reason string, opts ...OrderOption) (Confirmation, error) {
	return o.orderNode(ctx, "draining", owner, reason, opts, func(all *control.Orders, by control.Order, alive func(string) bool) {
		all.Drain(owner, by, alive)
	})
}

// UndrainNode ends DrainNode: the node takes work again. A node that is not drained stays as it is. The Confirmation and errors are those of
// DrainNode.
func (o *Operator) UndrainNode(ctx context.Context, owner, reason string, opts ...OrderOption) (Confirmation, error) {
	return o.orderNode(ctx, "undraining", owner, reason, opts, func(all *control.Orders, _ control.Order, _ func(string) bool) {
		delete(all.Drained, owner)
	})
}

func (o *Operator) orderNode(
	ctx context.Context, verb, owner, reason string, opts []OrderOption,
	change func(all *control.Orders, by control.Order, alive func(owner string) bool),
) (Confirmation, error) {
	a := access.Act{Kind: string(client.ActNode), Op: verb + " node " + strconv.Quote(owner), Other: "node " + strconv.Quote(owner), Detail: verb}
	if err := cmp.Or(o.usable(ctx), access.Name("owner of the node", owner), access.Reason(reason)); err != nil {
		return Confirmation{}, fmt.Errorf("%s: %w", a.Op, err)
	}
	if err := o.caller.May(&a); err != nil {
		return Confirmation{}, err
	}
	nodes, _, err := o.caller.Store.Nodes(ctx, a.Op)
	if err != nil {
		return Confirmation{}, err
	}
	alive := func(owner string) bool {
		return slices.ContainsFunc(nodes, func(n upgrade.Node) bool { return n.Owner == owner })
	}
	if !alive(owner) {
		return Confirmation{}, fmt.Errorf("%s: %w: it is not in the list of nodes, which has those that run now; list them for the names",
			a.Op, client.ErrNotFound)
	}
	return o.order(ctx, &a, reason, opts, func(all *control.Orders, by control.Order) { change(all, by, alive) },
		func(n *upgrade.Node) bool { return n.Owner == owner })
}
