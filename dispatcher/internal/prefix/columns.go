package prefix

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// reserved begins the names of the engine's own key-values and attributes.
const reserved = "perdure."

// Show takes status, key-values and attributes from the code. kept is what it had set at the end of the prefix. The origin may show more:
// all returns what its code has set in the whole history, nil if that does not replay. A column that the code has never set is not
// taken back. It comes from the client that started the instance, or from an earlier execution.
func (p *Plan) Show(kept replay.State, all func() *replay.State) {
	p.out.CustomStatus, p.out.Attributes, p.out.Values = kept.Status, kept.Attributes, kept.Values
	p.out.Values = append(p.out.Values, p.engineValues()...)
	attributes := slices.DeleteFunc(slices.Clone(p.Inst.Attributes), func(a provider.Attribute) bool {
		return hasAttribute(kept.Attributes, a.Name) || strings.HasPrefix(a.Name, reserved)
	})
	values := slices.DeleteFunc(slices.Clone(p.Values), func(v provider.KeyValue) bool {
		return hasValue(kept.Values, v.Key) || strings.HasPrefix(v.Key, reserved)
	})
	if len(attributes)+len(values) == 0 && (kept.Status != nil || len(p.Inst.CustomStatus) == 0) {
		return
	}
	set := all()
	if set != nil && set.Status == nil {
		p.out.CustomStatus = p.Inst.CustomStatus
	}
	for _, a := range attributes {
		if set != nil && !hasAttribute(set.Attributes, a.Name) {
			p.out.Attributes = append(p.out.Attributes, a)
		}
	}
	for _, v := range values {
		switch older := set != nil && !hasValue(set.Values, v.Key); {
		case older && p.Fork():
			p.out.Values = append(p.out.Values, v)
		case !older && !p.Fork():
			p.out.Values = append(p.out.Values, provider.KeyValue{Key: v.Key})
		}
	}
}
