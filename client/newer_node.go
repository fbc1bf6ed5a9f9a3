package client

import (
	"context"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// needsNewerNode reports whether an instance needs a newer node than all that are listed and not lost. If there is none, it waits for any node.
// Nodes of releases before the list run up to upgrade.Unrecorded.
func (c *Client) needsNewerNode(ctx context.Context, i *provider.Instance) bool {
	if i.EngineLevel <= upgrade.Unrecorded || i.Status.Ended() {
		return false
	}
	ctx, cancel := c.store.Bound(ctx)
	defer cancel()
	nodes, now, err := upgrade.Nodes(ctx, c.store)
	live := false
	for k := range nodes {
		n := &nodes[k]
		if n.Lost(now) {
			continue
		}
		if live = true; n.Level >= i.EngineLevel {
			return false
		}
	}
	return live && err == nil
}
