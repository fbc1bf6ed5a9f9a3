package operate

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
	State          NodeState              `json:"state"`                    // as of RenewedAt
	Orchestrations []OrchestrationVersion `json:"orchestrations,omitempty"` // the first 200 by name and version
	Registered     int                    `json:"registered"`               // how many orchestrations it can run
	Queues         []ServedQueue          `json:"queues,omitempty"`         // of activities, by name, with 200 names in all
	QueuesCut      bool                   `json:"queuesCut,omitempty"`      // it serves more activities than Queues has
	Fallbacks      *TakenNames            `json:"fallbacks,omitempty"`      // names that no node has registered; nil: the node takes none
	Load           *NodeLoad              `json:"load,omitempty"`           // as of RenewedAt; nil: not known
	Obeys          bool                   `json:"obeys"`                    // orders of PauseQueue and DrainNode: its release knows them
	StartedAt      time.Time              `json:"startedAt"`                // by the node's clock
	RenewedAt      time.Time              `json:"renewedAt"`                // by the storage's clock
}

// NodeState says whether a node takes work.
type NodeState string

// The states of a node.
const (
	NodeRunning  NodeState = "running"  // it takes work
	NodeDraining NodeState = "draining" // it was drained, and some work still runs on it
	NodeDrained  NodeState = "drained"  // nothing runs on it
	NodeLost     NodeState = "lost"     // it has not renewed its record in time: it was killed, or does not reach the store
)

// ServedQueue is a queue of activities that a node serves.
type ServedQueue struct {
	Queue      string   `json:"queue"`
	Activities []string `json:"activities,omitempty"` // those that the node runs, by name
}

// TakenNames are the names that fallbacks of a node take: see runtime.AddActivityFallback.
type TakenNames struct {
	Orchestrations []OrchestrationVersion `json:"orchestrations,omitempty"`
	Queues         []ServedQueue          `json:"queues,omitempty"`
}

// NodeLoad is what runs on a node, and its slots.
type NodeLoad struct {
	Turns         int            `json:"turns"`
	TurnSlots     int            `json:"turnSlots"`
	Activities    int            `json:"activities"`
	ActivitySlots int            `json:"activitySlots"`
	Queues        map[string]int `json:"queues,omitempty"` // activities by queue, of 100 queues at most

	Sessions     int                 `json:"sessions,omitempty"`     // that it holds
	SessionSlots int                 `json:"sessionSlots,omitempty"` // how many it may hold; -1: it takes none; 0: its release does not say
	Full         map[string][]string `json:"full,omitempty"`         // activities by queue whose pool or own limit on the node is full, 100 at most
}

// OrchestrationVersion is an orchestration that a node can run.
type OrchestrationVersion struct {
	Name        string `json:"name"`
	CodeVersion string `json:"codeVersion,omitempty"`
}

// Nodes returns the nodes that run on the store, by owner. A node is in the list from its first fetch until its Shutdown
// ends. It renews its record once a minute, and its load every 15 s while that changes; nodes of earlier releases renew theirs every 15
// minutes. A node that was killed is lost after three minutes, and stays in the list for up to an hour. Nodes of releases before this list are
// not in it.
//
// A store without provider.Keeper lists no nodes: the error wraps errors.ErrUnsupported.
func (o *Operator) Nodes(ctx context.Context) ([]NodeInfo, error) {
	const op = "listing nodes"
	if err := o.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	nodes, now, err := o.caller.Store.Nodes(ctx, op)
	if err != nil {
		return nil, err
	}
	infos := make([]NodeInfo, 0, len(nodes))
	for i := range nodes {
		infos = append(infos, nodeInfo(&nodes[i], now))
	}
	return infos, nil
}

func nodeInfo(n *upgrade.Node, now provider.Time) NodeInfo {
	info := NodeInfo{
		Owner: n.Owner, Release: n.Release, EngineLevel: n.Level, Registered: n.Count, StartedAt: n.Started.Std(), RenewedAt: n.Renewed.Std(),
		State: NodeState(n.State), Obeys: n.Every > 0, QueuesCut: n.Cut,
	}
	switch {
	case n.Lost(now):
		info.State = NodeLost
	case info.State == "":
		info.State = NodeRunning
	}
	info.Queues, info.Orchestrations = servedQueues(n.Queues), versions(n.Orchestrations)
	if n.Fallbacks != nil && len(n.Fallbacks.Orchestrations)+len(n.Fallbacks.Queues) > 0 {
		info.Fallbacks = &TakenNames{Orchestrations: versions(n.Fallbacks.Orchestrations), Queues: servedQueues(n.Fallbacks.Queues)}
	}
	if n.Load != nil {
		info.Load = new(NodeLoad(*n.Load))
	}
	return info
}

func servedQueues(queues []upgrade.Queue) (all []ServedQueue) {
	for _, q := range queues {
		all = append(all, ServedQueue{Queue: q.Name, Activities: q.Activities})
	}
	return all
}

func versions(orchestrations []upgrade.Orchestration) (all []OrchestrationVersion) {
	for _, o := range orchestrations {
		all = append(all, OrchestrationVersion{Name: o.Name, CodeVersion: o.Version})
	}
	return all
}
