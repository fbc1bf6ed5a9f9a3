package operate

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// StoreFigures returns the state of the store as an observer of a node gets it, for processes without a node: see observe.Watcher. Unserved is
// what no listed node has registered. It is 0 as long as a node does not list all that it runs.
//
// The call counts up to 10,001 instances of each status, and reads what waits. Keep the result for some seconds.
//
// A store without provider.Meter, provider.Lister or provider.Keeper cannot tell: the error wraps errors.ErrUnsupported. Other errors
// are client.ErrInvalid, or the error of ctx.
func (o *Operator) StoreFigures(ctx context.Context) (*observe.Store, error) {
	const op = "reading the state of the store"
	if err := o.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	nodes, now, err := o.caller.Store.Nodes(ctx, op)
	if err != nil {
		return nil, err
	}
	s, stats, err := observing.ReadStore(ctx, o.caller.Store.Full)
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	for kind, n := range unservedWork(nodes, now, stats) {
		s.Unserved[kind] += n
	}
	return s, nil
}

// unservedWork counts the work that no listed node runs, by kind.
func unservedWork(nodes []upgrade.Node, now provider.Time, stats *provider.StatsResult) map[string]int64 {
	q := queues{byName: make(map[string]*QueueInfo), runs: make(map[[2]string]bool)}
	q.nodes(nodes, now)
	runs, cut := map[provider.Capability]bool{}, false
	level := int64(upgrade.Unrecorded)
	for i := range nodes {
		n := &nodes[i]
		if n.Lost(now) {
			continue
		}
		level, cut = max(level, n.Level), cut || n.Cuts()
		for _, o := range n.AllOrchestrations() {
			runs[provider.Capability{Name: o.Name, CodeVersion: o.Version}] = true
		}
	}
	waiting := map[provider.Capability]int64{}
	for _, w := range stats.Turns {
		unlisted := cut && !reserved.Name(w.Name)
		if !unlisted && (!runs[w.Capability] || w.EngineLevel > level) {
			waiting[w.Capability] += w.Count
		}
	}
	for _, u := range upgrade.Uses(nodes, now, stats.Running) {
		if u.Unserved {
			waiting[u.Capability] = u.Running
		}
	}
	counts := map[string]int64{}
	for _, n := range waiting {
		counts["orchestration"] += n
	}
	for _, w := range stats.Tasks {
		if !q.unknown && !q.runs[[2]string{w.Queue, w.Name}] {
			counts["activity"] += w.Count
		}
	}
	return counts
}
