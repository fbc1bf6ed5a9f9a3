package turn

import (
	"slices"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// executionLimit returns the attribute of a time limit that is for one execution, "" if there is none.
func executionLimit(attributes []provider.Attribute) string {
	for i := range attributes {
		if attributes[i].Name != reserved.LimitAttribute {
			continue
		}
		if l, ok := reserved.ParseLimit(attributes[i].Text); ok && l.Execution != 0 {
			return attributes[i].Text
		}
	}
	return ""
}

// renewLimit gives the next execution the limit of this one, from its start on.
func (t *prepared) renewLimit(text string, execution int64, now provider.Time) {
	l, ok := reserved.ParseLimit(text)
	if !ok {
		return
	}
	t.Request.Attributes = append(t.Request.Attributes, provider.Attribute{
		Name: reserved.LimitAttribute, Kind: provider.AttributeText, Text: l.Renewed(now.Std(), execution).String(),
	})
}

// waits reports whether an instance shows what its code waits for.
func waits(attributes []provider.Attribute) bool {
	return slices.ContainsFunc(attributes, func(a provider.Attribute) bool { return a.Name == replay.AttributeWaiting && a.Number != 0 })
}
