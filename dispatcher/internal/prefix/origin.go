package prefix

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Fork reports whether the execution is that of another instance.
func (p *Plan) Fork() bool { return p.Branch.New.Key != p.Branch.Origin.Key }

// later returns the events of the origin that are not copied.
func (p *Plan) later() []history.Event {
	return p.Events[min(max(p.Branch.Event, 2)-1, int64(len(p.Events))):]
}

func hasAttribute(all []provider.Attribute, name string) bool {
	return slices.ContainsFunc(all, func(a provider.Attribute) bool { return a.Name == name })
}

func hasValue(all []provider.KeyValue, key string) bool {
	return slices.ContainsFunc(all, func(v provider.KeyValue) bool { return v.Key == key })
}
