package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// VersionUse is a version of an orchestration's code that nodes have registered or instances run. Times are UTC.
type VersionUse struct {
	Orchestration string   `json:"orchestration"`
	Version       string   `json:"version"` // "": code without one
	Nodes         []string `json:"nodes"`   // owners of the nodes that have registered it and are not lost: see Nodes
	Running       int64    `json:"running"` // instances that run it or are suspended, counted up to 1,000
	// More says that there are more than Running.
	More   bool      `json:"more,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"` // when the oldest of them was created
	// Unserved says that instances run it and no node has registered it, while one has another version of the orchestration.
	Unserved bool `json:"unserved,omitempty"`
	// Unlisted says that a node lists only a part of what it has registered: it may have this version although Nodes lacks it.
	Unlisted bool `json:"unlisted,omitempty"`
}

// NoNode reports whether instances run the version and no node is known to have it. Unlike Unserved it holds, too, if nodes have no version of
// the orchestration, or none runs.
func (v VersionUse) NoNode() bool { return v.Running > 0 && len(v.Nodes) == 0 && !v.Unlisted }

// Instances returns Running as a count, which may be a lower bound.
func (v VersionUse) Instances() client.Counted {
	return client.Counted{Count: v.Running, Exact: !v.More}
}

// maxRunning bounds the instances of a version that are counted, so that a store with a million of them shows its versions at once.
const maxRunning = 1_000

// Versions returns the versions of an orchestration, or of all with an empty name, by name and from old to new. A version that no instance
// runs and no listed node has registered is left out, and so are perdure's own orchestrations that no instance runs. A node of releases before
// Nodes is not listed, and of a node with more than 200 orchestrations only the first 200 are.
//
// A store without provider.Meter, provider.Lister or provider.Keeper cannot tell: the error wraps errors.ErrUnsupported. Other errors
// are client.ErrInvalid, or the error of ctx.
func (o *Operator) Versions(ctx context.Context, orchestration string) ([]VersionUse, error) {
	const op = "listing versions"
	err := o.usable(ctx)
	if err == nil && orchestration != "" {
		err = access.Name("orchestration name", orchestration)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	stats, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Stats, provider.StatsRequest{Running: true, Most: maxRunning})
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	nodes, now, err := o.caller.Store.Nodes(ctx, op)
	if err != nil {
		return nil, err
	}
	all := []VersionUse{}
	for _, u := range upgrade.Uses(nodes, now, stats.Running) {
		if orchestration != "" && u.Name != orchestration {
			continue
		}
		v := VersionUse{
			Orchestration: u.Name, Version: u.CodeVersion, Nodes: u.Nodes, Running: u.Running, More: u.More, Oldest: u.Oldest.Std(), Unserved: u.Unserved,
			Unlisted: u.Unlisted,
		}
		if v.Nodes == nil {
			v.Nodes = []string{}
		}
		all = append(all, v)
	}
	return all, nil
}
