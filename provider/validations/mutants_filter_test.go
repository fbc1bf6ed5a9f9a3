package validations

import (
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func brokenFilter() []brokenRule {
	return []brokenRule{
		{name: "no code version means all", caught: "filter/code-versions", breaks: filters(dropsEmptyVersion)},
		{name: "instances that run ended at 0", caught: "filter/ended-after", breaks: filters(endsBefore)},
		{name: "EndedBefore is inclusive", caught: "filter/ended-before", breaks: filters(endsWith)},
		{name: "a range includes its end", caught: "filter/attribute-number-ranges", breaks: filters(closesRanges)},
		{name: "prefixes ignore case", caught: "filter/attribute-text-ranges", breaks: filters(lowersPrefixes)},
		{name: "prefixes of IDs ignore case", caught: "filter/id-prefix-bytes", wide: true, breaks: filters(lowersIDs)},
		{name: "one of several conditions is enough", caught: "filter/attributes-changed", breaks: filters(dropsMatches)},
		{name: "a list has results", caught: "filter/list-without-results", breaks: listsResults},
		{name: "custom statuses are always listed", caught: "filter/list-omits", breaks: lists(omitsNoStatus)},
		{name: "a page takes all that there is", caught: "filter/list-page-of-bytes", breaks: fillsPages},
		{name: "a page says that it has reached the next one", caught: "filter/list-reached", breaks: listed(reachesOn)},
		{name: "a count with a maximum is exact", caught: "filter/count-exact", breaks: saysExact},
		{name: "a count goes past its maximum", caught: "filter/count-max", breaks: countsOn},
	}
}

// filters changes the filters of List and Count.
func filters(change func(*provider.Filter)) func(*mutant) {
	return func(m *mutant) {
		m.list.before(func(req *provider.ListRequest) { change(&req.Filter) })
		m.count.before(func(req *provider.CountRequest) { change(&req.Filter) })
	}
}

func dropsEmptyVersion(f *provider.Filter) {
	f.CodeVersions = slices.DeleteFunc(slices.Clone(f.CodeVersions), func(v string) bool { return v == "" })
}

func lowersIDs(f *provider.Filter) { f.IDPrefix = strings.ToLower(f.IDPrefix) }

func endsBefore(f *provider.Filter) {
	if f.EndedAfter == 1 {
		f.EndedAfter = 0
	}
}

func endsWith(f *provider.Filter) {
	if f.EndedBefore != 0 {
		f.EndedBefore++
	}
}

func closesRanges(f *provider.Filter) {
	f.Matches = slices.Clone(f.Matches)
	for i := range f.Matches {
		if to := f.Matches[i].To; to != nil && to.Text == "" {
			f.Matches[i].To = &provider.AttributeValue{Number: to.Number + 1}
		}
	}
}

func lowersPrefixes(f *provider.Filter) {
	f.Matches = slices.Clone(f.Matches)
	for i := range f.Matches {
		f.Matches[i].Prefix = strings.ToLower(f.Matches[i].Prefix)
	}
}

func dropsMatches(f *provider.Filter) { f.Matches = nil }

func listsResults(m *mutant) {
	m.list.after(func(_ provider.ListRequest, res *provider.ListResult, _ *error) {
		for i := range res.Instances {
			res.Instances[i].Result = m.stored(context.Background(), res.Instances[i].Key).Result
		}
	})
}

func omitsNoStatus(req *provider.ListRequest) {
	req.Omit = slices.DeleteFunc(slices.Clone(req.Omit), func(f provider.ListField) bool { return f == provider.ListCustomStatus })
}

// fillsPages lists without the statuses, and adds them.
func fillsPages(m *mutant) {
	m.list.around(func(ctx context.Context, req provider.ListRequest,
		list method[provider.ListRequest, provider.ListResult],
	) (provider.ListResult, error) {
		if req.Validate() != nil || req.Omits(provider.ListCustomStatus) {
			return list(ctx, req)
		}
		req.Omit = append(slices.Clone(req.Omit), provider.ListCustomStatus)
		res, err := list(ctx, req)
		for i := range res.Instances {
			res.Instances[i].CustomStatus = m.stored(ctx, res.Instances[i].Key).CustomStatus
		}
		return res, err
	})
}

func saysExact(m *mutant) {
	m.count.after(func(_ provider.CountRequest, res *provider.CountResult, _ *error) { res.Exact = true })
}

func countsOn(m *mutant) {
	m.count.before(func(req *provider.CountRequest) {
		if req.Max > 0 {
			req.Max = 0
		}
	})
}

func reachesOn(res *provider.ListResult) {
	if res.Reached != 0 {
		res.Reached--
	}
}
