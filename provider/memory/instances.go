package memory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// instances indexes all instances.
type instances struct {
	*store

	byKey    map[provider.UUID]*instance
	current  map[string]*instance          // by ID
	live     map[provider.UUID]*instance   // not ended
	children map[provider.UUID][]*instance // by the parent's key
}

// find returns the instance under key, or under the ID when key is zero.
func (all *instances) find(id string, key provider.UUID) (*instance, error) {
	i := all.byKey[key]
	if key.IsZero() {
		i = all.current[id]
	}
	if i == nil {
		return nil, provider.ErrNotFound
	}
	return i, nil
}

// receiver returns the instance if it accepts messages.
func (all *instances) receiver(id string, key provider.UUID) (*instance, error) {
	i, err := all.find(id, key)
	if err == nil && i.row.Deleting {
		return nil, i.free()
	}
	if err == nil && i.row.Status.Ended() {
		return nil, provider.ErrEnded
	}
	return i, err
}

// matching returns the instances that match the filter, newest first.
func (all *instances) matching(f *provider.Filter) []*instance {
	var list []*instance
	for _, i := range all.byKey {
		if (f.Replaced || all.current[i.row.ID] == i) && i.matches(f) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *instance) int { return compare(&b.row, a.row.CreatedAt, a.row.Key) })
	return list
}

// compare compares a row with a position in the order of creation.
func compare(row *provider.Instance, at provider.Time, key provider.UUID) int {
	return cmp.Or(cmp.Compare(row.CreatedAt, at), slices.Compare(row.Key[:], key[:]))
}

func (i *instance) matches(f *provider.Filter) bool {
	row := &i.row
	switch {
	case !strings.HasPrefix(row.ID, f.IDPrefix),
		f.Name != "" && f.Name != row.Name,
		len(f.Statuses) > 0 && !slices.Contains(f.Statuses, row.Status),
		f.Blocked && row.Blocked == nil,
		!f.ParentKey.IsZero() && f.ParentKey != row.Parent.Key,
		len(f.ParentKeys) > 0 && !slices.Contains(f.ParentKeys, row.Parent.Key),
		row.CreatedAt < f.CreatedAfter,
		f.CreatedBefore != 0 && row.CreatedAt >= f.CreatedBefore,
		f.EndedAfter != 0 && (row.EndedAt == 0 || row.EndedAt < f.EndedAfter),
		f.EndedBefore != 0 && (row.EndedAt == 0 || row.EndedAt >= f.EndedBefore),
		f.FailureGroup != "" && (row.Status != provider.StatusFailed || f.FailureGroup != row.FailureGroup),
		len(f.CodeVersions) > 0 && !slices.Contains(f.CodeVersions, row.CodeVersion):
		return false
	}
	for _, a := range f.Attributes {
		if i.attributes[a.Name] != a {
			return false
		}
	}
	for n := range f.Matches {
		if a, ok := i.attributes[f.Matches[n].Name]; !ok || !meets(&a, &f.Matches[n]) {
			return false
		}
	}
	return true
}

// meets reports whether an attribute meets a condition on its name.
func meets(a *provider.Attribute, m *provider.AttributeMatch) bool {
	order := func(v provider.AttributeValue) int {
		return cmp.Or(cmp.Compare(a.Text, v.Text), cmp.Compare(a.Number, v.Number))
	}
	return a.Kind == m.Kind && strings.HasPrefix(a.Text, m.Prefix) &&
		(m.From == nil || order(*m.From) >= 0) && (m.To == nil || order(*m.To) < 0) &&
		(len(m.Any) == 0 || slices.ContainsFunc(m.Any, func(v provider.AttributeValue) bool { return order(v) == 0 }))
}

// runs reports whether the instance or a descendant has not ended. An abandoned child outlives its parent, so a Delete of the
// parent without Force must not remove it.
func (all *instances) runs(i *instance) bool {
	return !i.row.Status.Ended() || slices.ContainsFunc(all.children[i.row.Key], all.runs)
}

// mustStay reports whether the instance or one below it is running or exempt.
func (all *instances) mustStay(i *instance, exempt []provider.UUID) bool {
	return !i.row.Status.Ended() || slices.Contains(exempt, i.row.Key) ||
		slices.ContainsFunc(all.children[i.row.Key], func(child *instance) bool { return all.mustStay(child, exempt) })
}

// belongs reports whether the instance goes with its parent: the parent is there, in the execution that started it.
func (all *instances) belongs(i *instance) bool {
	parent := all.byKey[i.row.Parent.Key]
	return parent != nil && parent.row.Execution <= i.row.Parent.Execution
}

// uncreate undoes the creation of i, which took the ID from before.
func (all *instances) uncreate(i, before *instance) {
	delete(all.byKey, i.row.Key)
	delete(all.live, i.row.Key)
	delete(all.current, i.row.ID)
	if parent := i.row.Parent.Key; !parent.IsZero() {
		all.children[parent] = slices.DeleteFunc(all.children[parent], func(child *instance) bool { return child == i })
	}
	if before != nil {
		all.current[i.row.ID] = before
	}
}
