package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// brokenPages lists mutants whose pages have a wrong size or show two states of the store.
func brokenPages() []brokenRule {
	// less makes a page without a Max smaller.
	less := func(size *int) {
		if *size == 0 {
			*size = provider.MaxPage - 1
		}
	}
	return []brokenRule{
		{name: "a page of a history is smaller than it may be", caught: "read/history-default-page", breaks: readsHistory(readsLess)},
		{name: "a list is smaller than it may be", caught: "read/list-default-page", breaks: func(m *mutant) {
			m.list.before(func(req *provider.ListRequest) { less(&req.Max) })
		}},
		{name: "a list of letters is smaller than it may be", caught: "clean/letters-default-page", breaks: func(m *mutant) {
			m.letters.before(func(req *provider.DeadLettersRequest) { less(&req.Max) })
		}},
		{name: "a scan is smaller than it may be", caught: "shared/record-default-page", breaks: func(m *mutant) {
			m.record.before(func(req *provider.RecordRequest) { less(&req.Max) })
		}},
		{name: "a page of rows is smaller than it may be", caught: "inspect/default-page", breaks: func(m *mutant) {
			m.inspect.before(func(req *provider.InspectRequest) { less(&req.Max) })
		}},
		{name: "a page of rows is read twice", caught: "inspect/one-state", racing: true, breaks: readsPageTwice},
		{name: "rows have attributes", caught: "inspect/bare-instances", breaks: showsAttributes},
	}
}

func readsLess(req *provider.ReadHistoryRequest) {
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes - 1
	}
}

func readsPageTwice(m *mutant) {
	m.inspect.around(func(ctx context.Context, req provider.InspectRequest, inspect inspectMethod) (provider.InspectResult, error) {
		res, err := inspect(ctx, req)
		if err != nil || len(res.Tasks) != 2 {
			return res, err
		}
		m.dawdle(ctx)
		later, err := inspect(ctx, req)
		if len(later.Tasks) == 2 {
			res.Tasks[1] = later.Tasks[1]
		}
		return res, err
	})
}

func showsAttributes(m *mutant) {
	bends(func(res *provider.InspectResult) {
		for n, i := range res.Instances {
			res.Instances[n].Attributes = m.stored(context.Background(), i.Key).Attributes
		}
	})(m)
}
