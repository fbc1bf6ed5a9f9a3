package validations

import "github.com/perdure/perdure/provider"

func brokenRead() []brokenRule {
	return []brokenRule{
		{
			name: "a filter by attributes is ignored", caught: "read/list-attributes",
			breaks: func(m *mutant) {
				m.list.before(func(req *provider.ListRequest) { req.Filter.Attributes = nil })
			},
		},
		{
			name: "a page of a history does not say that there is more", caught: "read/history-bytes",
			breaks: func(m *mutant) {
				m.history.after(func(_ provider.ReadHistoryRequest, res *provider.ReadHistoryResult, _ *error) { res.More = false })
			},
		},
	}
}
