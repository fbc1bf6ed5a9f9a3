package bulk

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Matches reports whether a stored instance, with its attributes and its pending tasks, matches a filter. It does not know whether another
// instance has replaced it. Judges says whether it knows all that the filter asks for.
func Matches(f *provider.Filter, i *provider.Instance, tasks []provider.TaskInfo) bool {
	switch {
	case !strings.HasPrefix(i.ID, f.IDPrefix),
		f.Name != "" && f.Name != i.Name,
		len(f.CodeVersions) > 0 && !slices.Contains(f.CodeVersions, i.CodeVersion),
		len(f.Statuses) > 0 && !slices.Contains(f.Statuses, i.Status),
		f.Blocked && i.Blocked == nil,
		!f.ParentKey.IsZero() && f.ParentKey != i.Parent.Key,
		len(f.ParentKeys) > 0 && !slices.Contains(f.ParentKeys, i.Parent.Key),
		!inTime(f, i),
		f.FailureGroup != "" && (i.Status != provider.StatusFailed || f.FailureGroup != i.FailureGroup),
		f.Retrying && !slices.ContainsFunc(tasks, Retrying):
		return false
	}
	for n := range f.Attributes {
		if !slices.Contains(i.Attributes, f.Attributes[n]) {
			return false
		}
	}
	for n := range f.Matches {
		m := &f.Matches[n]
		at := slices.IndexFunc(i.Attributes, func(a provider.Attribute) bool { return a.Name == m.Name && a.Kind == m.Kind })
		if at < 0 || !meets(&i.Attributes[at], m) {
			return false
		}
	}
	return true
}

// inTime reports whether an instance meets the times of a filter.
func inTime(f *provider.Filter, i *provider.Instance) bool {
	return i.CreatedAt >= f.CreatedAfter && (f.CreatedBefore == 0 || i.CreatedAt < f.CreatedBefore) &&
		(f.EndedAfter == 0 || i.EndedAt != 0 && i.EndedAt >= f.EndedAfter) &&
		(f.EndedBefore == 0 || i.EndedAt != 0 && i.EndedAt < f.EndedBefore)
}

// meets reports whether an attribute meets a condition on its value.
func meets(a *provider.Attribute, m *provider.AttributeMatch) bool {
	v := provider.AttributeValue{Text: a.Text, Number: a.Number}
	order := func(other *provider.AttributeValue) int {
		if a.Kind == provider.AttributeText {
			return strings.Compare(v.Text, other.Text)
		}
		switch {
		case v.Number < other.Number:
			return -1
		case v.Number > other.Number:
			return 1
		}
		return 0
	}
	return (len(m.Any) == 0 || slices.Contains(m.Any, v)) && strings.HasPrefix(v.Text, m.Prefix) &&
		(m.From == nil || order(m.From) >= 0) && (m.To == nil || order(m.To) < 0)
}

// Retrying reports whether a pending task is one that is tried again: its attempt is not the first one, or an earlier delivery was lost.
func Retrying(t provider.TaskInfo) bool { return t.Attempt > 1 || t.Deliveries > 1 }

// Delayed reports whether a task waits for the delay of its next attempt at a time of the storage. One that is paused does not.
func Delayed(t *provider.TaskInfo, now provider.Time) bool {
	return Retrying(*t) && t.State == provider.TaskQueued && t.NotBefore > now && t.NotBefore != provider.HeldUntil
}
