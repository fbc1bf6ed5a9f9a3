package kit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Matches reports whether a filter chooses an instance. replaced reports whether another instance has its ID, or had it and was
// deleted. Retrying is not checked, because the instance alone does not say what its tasks are: check it as well.
func Matches(f *provider.Filter, i *provider.Instance, replaced bool) bool {
	return (f.Replaced || !replaced) && strings.HasPrefix(i.ID, f.IDPrefix) && (f.Name == "" || f.Name == i.Name) &&
		anyOf(f.CodeVersions, i.CodeVersion) && anyOf(f.Statuses, i.Status) && (!f.Blocked || i.Blocked != nil) &&
		(f.ParentKey.IsZero() || f.ParentKey == i.Parent.Key) && anyOf(f.ParentKeys, i.Parent.Key) &&
		(f.FailureGroup == "" || i.Status == provider.StatusFailed && f.FailureGroup == i.FailureGroup) && inTime(f, i) && hasAttributes(f, i)
}

// matches is Matches for a row, with Retrying.
func (i *InstanceRow) matches(f *provider.Filter) bool {
	return (!f.Retrying || i.Retrying) && Matches(f, &i.Instance, i.Replaced)
}

// anyOf reports whether a list has the value. An empty list does not restrict.
func anyOf[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// inTime reports whether an instance was created and ended within the times of a filter.
func inTime(f *provider.Filter, i *provider.Instance) bool {
	ended := i.EndedAt != 0
	return i.CreatedAt >= f.CreatedAfter && (f.CreatedBefore == 0 || i.CreatedAt < f.CreatedBefore) &&
		(f.EndedAfter == 0 || ended && i.EndedAt >= f.EndedAfter) && (f.EndedBefore == 0 || ended && i.EndedAt < f.EndedBefore)
}

// hasAttributes reports whether an instance has the attributes of a filter and meets its conditions.
func hasAttributes(f *provider.Filter, i *provider.Instance) bool {
	for _, want := range f.Attributes {
		if !slices.Contains(i.Attributes, want) {
			return false
		}
	}
	for n := range f.Matches {
		if !slices.ContainsFunc(i.Attributes, func(a provider.Attribute) bool { return meets(&f.Matches[n], &a) }) {
			return false
		}
	}
	return true
}

// meets reports whether an attribute meets a condition.
func meets(m *provider.AttributeMatch, a *provider.Attribute) bool {
	compare := func(v provider.AttributeValue) int {
		if a.Kind == provider.AttributeText {
			return strings.Compare(a.Text, v.Text)
		}
		return cmp.Compare(a.Number, v.Number)
	}
	return a.Name == m.Name && a.Kind == m.Kind && strings.HasPrefix(a.Text, m.Prefix) &&
		(m.From == nil || compare(*m.From) >= 0) && (m.To == nil || compare(*m.To) < 0) &&
		(len(m.Any) == 0 || slices.ContainsFunc(m.Any, func(v provider.AttributeValue) bool { return compare(v) == 0 }))
}
