package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Unserved is work that waits in the store and that this node cannot do. Another node may do it; if none can, it waits for
// ever.
type Unserved struct {
	Kind        string // "orchestration" or "activity"
	Name        string
	Version     string        // of an orchestration's code; "": none
	Queue       string        // of an activity
	EngineLevel int64         // of instances that need a newer node; 0: that is not why. See operate.NodeInfo
	NoNode      bool          // no listed node has registered this version, and one has another version: see operate.VersionUse
	Count       int64         // with NoNode: of all instances that run the version, also those that sleep
	Oldest      time.Duration // how long the oldest waits
}

// Health is the state of the node and its store.
type Health struct {
	Blocked     int64 // instances that cannot make a turn
	DeadLetters int64
	Unserved    []Unserved
	// Growing counts the ended instances of a store that has more than 100,000 and removes none: see Options.Retention. Otherwise it is 0.
	Growing int64
	Leaked  []LeakedWork // of this node; see Runtime.Leaked
	Fatal   error        // why this node should be restarted; nil: it is fine
	State   NodeState    // whether this node takes work
	Codec   error        // why this node cannot encrypt or decrypt payloads, or could not within 5 min, an ErrCodec; nil: it can
}

// NodeState says whether a node takes work.
type NodeState string

// The states of a node. An operator drains it, and ends that: see operate.Operator.DrainNode.
const (
	Running  NodeState = "running"  // it takes work, or shuts down
	Draining NodeState = "draining" // it takes no new work, and some still runs
	Drained  NodeState = "drained"  // nothing runs on it
)

// nodeState returns the state of this node.
func (rt *Runtime) nodeState() NodeState {
	if s := rt.dispatcher.State(); s != upgrade.Running {
		return NodeState(s)
	}
	return Running
}

// capabilities are the orchestrations and activities that a node can run.
type capabilities struct {
	orchestrations map[provider.Capability]bool
	activities     map[activityName]bool
}

func capabilitiesOf(cfg dispatcher.Config) capabilities {
	can := capabilities{map[provider.Capability]bool{}, map[activityName]bool{}}
	for c := range cfg.Orchestrations {
		can.orchestrations[c] = true
	}
	for queue, funcs := range cfg.Activities {
		for name := range funcs {
			can.activities[activityName{queue, name}] = true
		}
	}
	return can
}

// Health reads the state of the store. An error means that the store fails. The node keeps trying and recovers by
// itself. The state of the node itself is still returned.
func (rt *Runtime) Health(ctx context.Context) (Health, error) {
	h := Health{Leaked: rt.Leaked(), Fatal: rt.dispatcher.Fatal(), State: rt.nodeState(), Codec: rt.dispatcher.Sealing()}
	stats, err := provider.FullOf(rt.store).Stats(ctx, provider.StatsRequest{})
	if errors.Is(err, errors.ErrUnsupported) {
		rt.unmeasured.Do(func() { rt.logger.Info("health shows only this node, not what waits in the store", "err", err) })
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("checking health: %w", err)
	}
	h.Blocked, h.DeadLetters = stats.Blocked, stats.DeadLetters
	if h.Growing, err = retention.Growing(ctx, provider.FullOf(rt.store), stats.Instances); err != nil {
		return h, fmt.Errorf("checking health: %w", err)
	}
	if err := rt.unserved(ctx, &h, &stats); err != nil {
		return h, fmt.Errorf("checking health: %w", err)
	}
	return h, nil
}

// unserved adds the work that this node cannot do.
func (rt *Runtime) unserved(ctx context.Context, h *Health, stats *provider.StatsResult) error {
	for _, w := range stats.Turns {
		level := w.EngineLevel
		if level <= rt.dispatcher.Level().Own() {
			level = 0
		}
		if !rt.can.orchestrations[w.Capability] && !rt.fallbacks.Now().Runs(w.Capability) || level > 0 {
			h.Unserved = append(h.Unserved, Unserved{
				Kind: "orchestration", Name: w.Name, Version: w.CodeVersion, EngineLevel: level, Count: w.Count, Oldest: stats.Now.Sub(w.Oldest),
			})
		}
	}
	if err := rt.noNode(ctx, h, stats.Running); err != nil {
		return err
	}
	for _, w := range stats.Tasks {
		if !rt.can.activities[activityName{w.Queue, w.Name}] && !rt.fallbacks.Now().Serves(w.Queue, w.Name) {
			h.Unserved = append(h.Unserved, Unserved{
				Kind: "activity", Name: w.Name, Queue: w.Queue, Count: w.Count, Oldest: stats.Now.Sub(w.Oldest),
			})
		}
	}
	return nil
}

// noNode adds the versions with running instances that no node has registered. A store that keeps no records lists no nodes.
func (rt *Runtime) noNode(ctx context.Context, h *Health, running []provider.RunningInstances) error {
	nodes, now, err := upgrade.Nodes(ctx, provider.FullOf(rt.store))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
next:
	for _, u := range upgrade.Uses(nodes, now, running) {
		if !u.Unserved {
			continue
		}
		for i := range h.Unserved {
			if w := &h.Unserved[i]; w.Name == u.Name && w.Version == u.CodeVersion {
				w.NoNode, w.Count = true, u.Running
				continue next
			}
		}
		h.Unserved = append(h.Unserved, Unserved{Kind: "orchestration", Name: u.Name, Version: u.CodeVersion, NoNode: true, Count: u.Running})
	}
	return nil
}
