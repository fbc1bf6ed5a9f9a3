package upgrade

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/internal/natural"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Use is a version of an orchestration, with the nodes that have registered it and the instances that run it.
type Use struct {
	provider.Capability

	Nodes   []string // owners, in the order of the list
	Running int64
	More    bool          // there are more than Running
	Oldest  provider.Time // when the oldest of them was created; 0: none runs
	// Unserved says that instances run the version and no node has it, while one has another version of the orchestration. If no node has
	// any, the service is down, or its nodes are of releases that are not listed.
	Unserved bool
	// Unlisted says that a node lists only a part of what it has registered: it may have the version, too.
	Unlisted bool
}

// Uses returns the versions that nodes have registered or instances run, by name and then by age. Nodes that are lost count for nothing. A
// version of perdure's own orchestrations is in it if instances run it: every node has registered them.
func Uses(nodes []Node, now provider.Time, running []provider.RunningInstances) []Use {
	byKind, cut, served := make(map[provider.Capability]*Use), false, make(map[string]bool)
	use := func(of provider.Capability) *Use {
		if byKind[of] == nil {
			byKind[of] = &Use{Capability: of}
		}
		return byKind[of]
	}
	for i := range nodes {
		n := &nodes[i]
		if n.Lost(now) {
			continue
		}
		cut = cut || n.Cuts()
		for _, o := range n.AllOrchestrations() {
			u := use(provider.Capability{Name: o.Name, CodeVersion: o.Version})
			u.Nodes = append(u.Nodes, n.Owner)
			served[o.Name] = true
		}
	}
	for _, r := range running {
		u := use(r.Capability)
		u.Running, u.More, u.Oldest = r.Count, r.More, r.Oldest
	}
	all := make([]Use, 0, len(byKind))
	for _, u := range byKind {
		own := reserved.Name(u.Name)
		if own && u.Running == 0 {
			continue
		}
		u.Unlisted = cut && !own
		u.Unserved = u.Running > 0 && len(u.Nodes) == 0 && served[u.Name] && !u.Unlisted
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), natural.Compare(a.CodeVersion, b.CodeVersion))
	})
	return all
}
