package client

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// NodeInfo is what a running node has written about itself. Times are UTC.
type NodeInfo struct {
	Owner          string                 `json:"owner"`                    // see runtime.Runtime.Owner
	Release        string                 `json:"release"`                  // the version of this module; "(devel)": not known
	EngineLevel    int64                  `json:"engineLevel"`              // the highest that it runs: see Description.EngineLevel
	Orchestrations []OrchestrationVersion `json:"orchestrations,omitempty"` // the first 200 by name and version
	Registered     int                    `json:"registered"`               // how many orchestrations it can run
	StartedAt      time.Time              `json:"startedAt"`                // by the node's clock
	RenewedAt      time.Time              `json:"renewedAt"`                // by the storage's clock
}

// OrchestrationVersion is an orchestration that a node can run.
type OrchestrationVersion struct {
	Name        string `json:"name"`
	CodeVersion string `json:"codeVersion,omitempty"`
}

// Nodes returns the nodes that run on the store, by owner. A node is in the list from its first fetch until its Shutdown
// ends. It renews its record every 15 minutes. A node that was killed stays in the list for up to an hour. Nodes of
// releases before this list are not in it.
//
// A store without provider.Keeper lists no nodes: the error wraps errors.ErrUnsupported.
func (c *Client) Nodes(ctx context.Context) ([]NodeInfo, error) {
	const doing = "listing nodes"
	if err := c.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	nodes, err := read(ctx, c.store, doing, func(ctx context.Context, store provider.Keeper) ([]upgrade.Node, error) {
		nodes, _, err := upgrade.Nodes(ctx, store)
		return nodes, err
	}, provider.Keeper(c.store))
	if err != nil {
		return nil, explain(doing, 0, err)
	}
	infos := make([]NodeInfo, 0, len(nodes))
	for i := range nodes {
		infos = append(infos, nodeInfo(&nodes[i]))
	}
	return infos, nil
}

func nodeInfo(n *upgrade.Node) NodeInfo {
	info := NodeInfo{
		Owner: n.Owner, Release: n.Release, EngineLevel: n.Level, Registered: n.Count, StartedAt: n.Started.Std(), RenewedAt: n.Renewed.Std(),
	}
	for _, o := range n.Orchestrations {
		info.Orchestrations = append(info.Orchestrations, OrchestrationVersion{Name: o.Name, CodeVersion: o.Version})
	}
	return info
}

// stranded reports whether an instance needs a newer node than all that are listed. Nodes of releases before the list run
// up to upgrade.Unrecorded.
func (c *Client) stranded(ctx context.Context, i *provider.Instance) bool {
	if i.EngineLevel <= upgrade.Unrecorded || i.Status.Ended() {
		return false
	}
	ctx, cancel := c.store.bound(ctx)
	defer cancel()
	nodes, _, err := upgrade.Nodes(ctx, c.store)
	for k := range nodes {
		if nodes[k].Level >= i.EngineLevel {
			return false
		}
	}
	return err == nil
}
