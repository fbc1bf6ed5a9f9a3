package listing

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// A Filter is a filter and what it must find.
type Filter struct {
	Name  string
	Asked provider.Filter
	Match func(*Row) bool
	// Short reports that some pages are short, because none of the conditions has an index in the order of lists, and each of them
	// matches more rows than a page looks at.
	Short bool
	// Counted reports that a condition without an index in the order of lists matches more rows than a page looks at. The store notices
	// by counting that far.
	Counted bool
	// Behind reports that rows which do not match come first in the order of lists.
	Behind bool
}

func statuses(list ...provider.Status) provider.Filter { return provider.Filter{Statuses: list} }

func attribute(m provider.AttributeMatch) provider.Filter {
	return provider.Filter{Matches: []provider.AttributeMatch{m}}
}

// Filters returns filters on each field, for common and for rare values, and on several fields.
func Filters(all int64) []Filter {
	tenant := func(name string) provider.Attribute {
		return provider.Attribute{Name: "tenant", Kind: provider.AttributeText, Text: name}
	}
	number := func(from, to int64) provider.AttributeMatch {
		return provider.AttributeMatch{
			Name: "number", Kind: provider.AttributeInt, From: &provider.AttributeValue{Number: from}, To: &provider.AttributeValue{Number: to},
		}
	}
	running, failed, completed := provider.StatusRunning, provider.StatusFailed, provider.StatusCompleted
	middle := base + provider.Time(all/4*1000)
	list := []Filter{
		{Name: "all", Match: func(*Row) bool { return true }},
		{Name: "failed", Asked: statuses(failed), Match: func(r *Row) bool { return r.Status == failed }},
		{Name: "running", Asked: statuses(running), Match: func(r *Row) bool { return r.Status == running }},
		{Name: "completed", Asked: statuses(completed), Match: func(r *Row) bool { return r.Status == completed }},
		{Name: "suspended", Asked: statuses(provider.StatusSuspended), Match: func(*Row) bool { return false }},
		{
			Name: "terminated or running", Asked: statuses(provider.StatusTerminated, running),
			Match: func(r *Row) bool { return r.Status == provider.StatusTerminated || r.Status == running },
		},
		{Name: "name", Asked: provider.Filter{Name: "n3"}, Match: func(r *Row) bool { return r.Name == "n3" }},
		{Name: "rare name", Asked: provider.Filter{Name: "rare"}, Match: func(r *Row) bool { return r.Name == "rare" }},
		{Name: "no such name", Asked: provider.Filter{Name: "none"}, Match: func(*Row) bool { return false }},
		{
			Name: "name and status", Asked: provider.Filter{Name: "n0", Statuses: []provider.Status{failed}},
			Match: func(r *Row) bool { return r.Name == "n0" && r.Status == failed },
		},
		{
			Name: "name and no such status", Asked: provider.Filter{Name: "n3", Statuses: []provider.Status{failed}},
			Match: func(*Row) bool { return false },
		},
		{
			Name: "oldest version", Asked: provider.Filter{CodeVersions: []string{"v0"}, Statuses: []provider.Status{running}},
			Match: func(r *Row) bool { return r.Version == "v0" && r.Status == running },
		},
		{Name: "blocked", Asked: provider.Filter{Blocked: true}, Match: func(r *Row) bool { return r.Blocked }},
		{Name: "parent", Asked: provider.Filter{ParentKey: Parent()}, Match: func(r *Row) bool { return r.Child }},
		{
			Name: "parents", Asked: provider.Filter{ParentKeys: []provider.UUID{key(1), Parent(), key(1 << 41)}},
			Match: func(r *Row) bool { return r.Child },
		},
		{Name: "prefix", Asked: provider.Filter{IDPrefix: "order-"}, Counted: true, Match: func(r *Row) bool { return strings.HasPrefix(r.ID, "order-") }},
		{Name: "rare prefix", Asked: provider.Filter{IDPrefix: "x-"}, Match: func(r *Row) bool { return strings.HasPrefix(r.ID, "x-") }},
		{Name: "no such prefix", Asked: provider.Filter{IDPrefix: "y-"}, Match: func(*Row) bool { return false }},
		{
			Name: "attribute", Asked: provider.Filter{Attributes: []provider.Attribute{tenant("small")}},
			Match: func(r *Row) bool { return r.Tenant == "small" },
		},
		{
			Name: "common attribute", Asked: provider.Filter{Attributes: []provider.Attribute{tenant("acme")}}, Counted: true,
			Match: func(r *Row) bool { return r.Tenant == "acme" },
		},
		{Name: "range of an attribute", Asked: attribute(number(50, 60)), Match: func(r *Row) bool { return r.Number >= 50 && r.Number < 60 }},
		{
			Name: "oldest by an attribute", Asked: attribute(number(0, all*45/100)), Short: true, Counted: true,
			Match: func(r *Row) bool { return r.Number < all*45/100 },
		},
		{
			Name: "created", Asked: provider.Filter{CreatedAfter: middle, CreatedBefore: middle + 10_000},
			Match: func(r *Row) bool { return r.Created >= middle && r.Created < middle+10_000 },
		},
		{
			Name: "ended", Asked: provider.Filter{EndedAfter: middle, EndedBefore: middle + 10_000},
			Match: func(r *Row) bool { return r.Ended >= middle && r.Ended < middle+10_000 },
		},
		{
			Name: "common attribute of few", Asked: provider.Filter{Attributes: []provider.Attribute{tenant("acme")}, Name: "rare"}, Counted: true,
			Match: func(r *Row) bool { return r.Tenant == "acme" && r.Name == "rare" },
		},
	}
	list = slices.Concat(list, combined(all, tenant("acme")))
	for i := range list {
		match := list[i].Match
		list[i].Match = func(r *Row) bool { return !r.Replaced && match(r) }
	}
	return slices.Concat(list, []Filter{{Name: "replaced", Asked: provider.Filter{Replaced: true}, Match: func(*Row) bool { return true }}})
}

// find returns the rows that match.
func (f *Filter) find(rows []Row) []Row {
	return slices.Collect(func(yield func(Row) bool) {
		for i := range rows {
			if f.Match(&rows[i]) && !yield(rows[i]) {
				return
			}
		}
	})
}

// combined returns filters on the end, and on several fields of which one is common.
func combined(all int64, common provider.Attribute) []Filter {
	running, failed, completed := provider.StatusRunning, provider.StatusFailed, provider.StatusCompleted
	middle, late := base+provider.Time(all/4*1000), base+provider.Time(all/8*3*1000)
	return []Filter{
		{
			Name: "ended before", Asked: provider.Filter{EndedBefore: late}, Counted: true, Behind: true,
			Match: func(r *Row) bool { return r.Ended != 0 && r.Ended < late },
		},
		{
			Name: "failed and ended before", Asked: provider.Filter{EndedBefore: late, Statuses: []provider.Status{failed}}, Counted: true, Behind: true,
			Match: func(r *Row) bool { return r.Status == failed && r.Ended != 0 && r.Ended < late },
		},
		{
			Name: "name and ended before", Asked: provider.Filter{EndedBefore: late, Name: "n3", Statuses: []provider.Status{completed}}, Counted: true, Behind: true,
			Match: func(r *Row) bool { return r.Name == "n3" && r.Status == completed && r.Ended != 0 && r.Ended < late },
		},
		{
			Name: "failed and ended after", Asked: provider.Filter{EndedAfter: middle, Statuses: []provider.Status{failed}}, Counted: true,
			Match: func(r *Row) bool { return r.Status == failed && r.Ended >= middle },
		},
		{
			Name: "versions", Asked: provider.Filter{CodeVersions: []string{"v0", "v2"}},
			Match: func(r *Row) bool { return r.Version != "v1" },
		},
		{
			Name: "parent and status", Asked: provider.Filter{ParentKey: Parent(), Statuses: []provider.Status{running}},
			Match: func(r *Row) bool { return r.Child && r.Status == running },
		},
		{
			Name: "attribute of a status", Asked: provider.Filter{Attributes: []provider.Attribute{common}, Statuses: []provider.Status{failed}},
			Counted: true, Match: func(r *Row) bool { return r.Tenant == common.Text && r.Status == failed },
		},
		{
			Name: "prefix of a name", Asked: provider.Filter{IDPrefix: "order-", Name: "rare"}, Counted: true,
			Match: func(r *Row) bool { return strings.HasPrefix(r.ID, "order-") && r.Name == "rare" },
		},
	}
}
