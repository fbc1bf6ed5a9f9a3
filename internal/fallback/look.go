package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

const (
	// Patience is how long a name waits that no live node lists before a fallback takes it. A deploy must not take as long.
	Patience = 30 * time.Second
	// every is the time between two looks while a name waits, and calmly while none does.
	every  = 5 * time.Second
	calmly = 15 * time.Second
	// most is how many names a node takes.
	most = 500
	// lookTimeout bounds the calls of one look.
	lookTimeout = 10 * time.Second
)

// Node is what a look needs of its node.
type Node struct {
	Store      *provider.Full
	Level      int64                                     // the highest that the node runs
	Registered int                                       // orchestrations of the registry, which count towards what a fetch may ask for
	Report     func(ctx context.Context, t *Taken) error // tells other nodes, and operators, of what the node takes
	Changed    func()                                    // called when Now has changed
	Logger     *slog.Logger
}

// Follow looks at what waits until ctx is done, and takes what no live node lists. It answers questions to instances of such names at once: a fallback that
// answers changes nothing, and instances that wait for something need no turn before they are asked. A store that measures nothing or lists no nodes gives no
// fallback any work.
func (s *Set) Follow(ctx context.Context, n Node) {
	unlisted := waits{}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		switch err := s.look(ctx, &n, unlisted); {
		case errors.Is(err, errors.ErrUnsupported):
			n.Logger.Warn("fallbacks get no work: the store does not tell what waits, or which nodes run", "err", err)
			return
		case err != nil && ctx.Err() == nil:
			n.Logger.Warn("fallbacks keep the names that they have: the store does not answer", "err", err)
		}
		if len(unlisted) > 0 {
			pause.Reset(every)
		} else {
			pause.Reset(calmly)
		}
	}
}

// look takes what has waited, and gives back what another node lists by now.
func (s *Set) look(ctx context.Context, n *Node, unlisted waits) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	nodes, now, err := upgrade.Nodes(ctx, n.Store)
	if err != nil {
		return fmt.Errorf("looking for work of fallbacks: %w", err)
	}
	stats, err := n.Store.Stats(ctx, provider.StatsRequest{Waiting: true, Running: true, Most: 1})
	if err != nil {
		return fmt.Errorf("looking for work of fallbacks: %w", err)
	}
	live := fleet{nodes, now}
	before := s.Now()
	next := before.without(&live)
	seen := map[any]bool{}
	for i := range stats.Turns {
		w := &stats.Turns[i]
		of := w.Capability
		if next.Orchestrations[of] || w.EngineLevel > n.Level || !s.wants(of) || live.runs(of) {
			continue
		}
		seen[of] = true
		if unlisted.over(of, w.Oldest, now) && next.roomFor(n.Registered) {
			next.Orchestrations[of] = true
		}
	}
	for i := range stats.Tasks {
		w := &stats.Tasks[i]
		of := Activity{w.Queue, w.Name}
		if next.Activities[of] || !s.wantsActivity(of) || live.serves(of) {
			continue
		}
		seen[of] = true
		if unlisted.over(of, w.Oldest, now) && next.roomFor(0) {
			next.Activities[of] = true
		}
	}
	for i := range stats.Running {
		of := stats.Running[i].Capability
		if s.wants(of) && !live.runs(of) && n.Registered+len(next.Asked) < provider.MaxBatch {
			next.Asked[of] = true
		}
	}
	maps.DeleteFunc(unlisted, func(name any, _ provider.Time) bool { return !seen[name] })
	return s.change(ctx, n, before, next)
}

// waits have since when names wait that no live node lists: a provider.Capability or an Activity.
type waits map[any]provider.Time

// over reports whether a name has waited for long enough. The oldest work counts, too: between two looks a node may have come, done all there was, and gone.
func (w waits) over(name any, oldest, now provider.Time) bool {
	since, ok := w[name]
	if !ok {
		w[name] = now
	}
	return ok && now.Sub(max(since, oldest)) >= Patience
}

// without returns a copy that lacks what a live node lists.
func (t *Taken) without(live *fleet) *Taken {
	left := &Taken{
		Orchestrations: make(map[provider.Capability]bool), Asked: make(map[provider.Capability]bool), Activities: make(map[Activity]bool),
	}
	if t == nil {
		return left
	}
	for of := range t.Orchestrations {
		if !live.runs(of) {
			left.Orchestrations[of] = true
		}
	}
	for of := range t.Activities {
		if !live.serves(of) {
			left.Activities[of] = true
		}
	}
	return left
}

// change makes the names of next those that the node takes. Other nodes hear of names before the node takes them.
func (s *Set) change(ctx context.Context, n *Node, before, next *Taken) error {
	if before == nil {
		before = &Taken{}
	}
	if maps.Equal(before.Orchestrations, next.Orchestrations) && maps.Equal(before.Activities, next.Activities) {
		if !maps.Equal(before.Asked, next.Asked) {
			s.Take(next)
		}
		return nil
	}
	if err := n.Report(ctx, next); err != nil {
		return fmt.Errorf("telling which names fallbacks take: %w", err)
	}
	s.Take(next)
	n.Changed()
	for of := range next.Orchestrations {
		if !before.Orchestrations[of] {
			n.Logger.Info("a fallback takes an orchestration that no node has registered", "orchestration", of.Name, "version", of.CodeVersion)
		}
	}
	for of := range next.Activities {
		if !before.Activities[of] {
			n.Logger.Info("a fallback takes an activity that no node has registered", "queue", of.Queue, "activity", of.Name)
		}
	}
	return nil
}

// roomFor reports whether one more name may be taken beside those of the registry.
func (t *Taken) roomFor(registered int) bool {
	return len(t.Orchestrations)+len(t.Activities) < most && registered+len(t.Orchestrations) < provider.MaxBatch
}

func (s *Set) wants(of provider.Capability) bool {
	_, ok := longest(s.orchestrations, func(o *Orchestrations) int { return best(o.names, of.Name) })
	return ok && !reserved.Name(of.Name)
}

func (s *Set) wantsActivity(a Activity) bool {
	_, ok := longest(s.activities, func(of *Activities) int {
		if of.queue != a.Queue {
			return -1
		}
		return best(of.names, a.Name)
	})
	return ok && !reserved.Name(a.Name)
}

// fleet is the nodes of a store at a time.
type fleet struct {
	nodes []upgrade.Node
	now   provider.Time
}

// runs reports whether a live node may have registered an orchestration: it lists it, or does not list all.
func (f *fleet) runs(of provider.Capability) bool {
	return f.any(func(n *upgrade.Node) bool { return n.Cuts() || n.Registered(of) })
}

// serves is runs for an activity. Nodes of releases that obey no orders list none.
func (f *fleet) serves(a Activity) bool {
	return f.any(func(n *upgrade.Node) bool { return n.Cut || n.Every == 0 || n.Lists(a.Queue, a.Name) })
}

func (f *fleet) any(can func(n *upgrade.Node) bool) bool {
	for i := range f.nodes {
		if n := &f.nodes[i]; !n.Lost(f.now) && can(n) {
			return true
		}
	}
	return false
}
