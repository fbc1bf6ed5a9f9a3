package validations

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

type groupsMethod = method[provider.FailureGroupsRequest, provider.FailureGroupsResult]

func (m *mutant) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	return m.failed(ctx, req)
}

// brokenFailures lists mutants that lose or confuse what is said of failures.
func brokenFailures() []brokenRule {
	return []brokenRule{
		{name: "an excerpt is cut", caught: "failures/stored", breaks: func(m *mutant) {
			m.commit.before(func(req *provider.CommitTurnRequest) {
				req.Excerpt = req.Excerpt[:min(len(req.Excerpt), provider.MaxExcerpt-1)]
			})
		}},
		{name: "a list has no excerpts", caught: "failures/stored", breaks: func(m *mutant) {
			m.list.after(func(_ provider.ListRequest, res *provider.ListResult, _ *error) {
				for i := range res.Instances {
					res.Instances[i].Excerpt = nil
				}
			})
		}},
		{name: "too long an excerpt is cut", caught: "failures/limit", breaks: func(m *mutant) {
			m.commit.before(func(req *provider.CommitTurnRequest) {
				req.Excerpt = req.Excerpt[:min(len(req.Excerpt), provider.MaxExcerpt)]
			})
		}},
		{name: "a completed instance may have an excerpt", caught: "failures/limit", breaks: func(m *mutant) {
			m.commit.before(func(req *provider.CommitTurnRequest) {
				if req.Status != provider.StatusFailed {
					req.Excerpt, req.FailureGroup = nil, ""
				}
			})
		}},
		{name: "a failure without an excerpt has the last one", caught: "failures/reset", breaks: keepsExcerpts},
		{name: "an instance that moves leaves its group", caught: "failures/moved", breaks: func(m *mutant) {
			m.imports.before(func(req *provider.ImportRequest) {
				if req.Parcel.Head != nil {
					head := *req.Parcel.Head
					head.Instance.FailureGroup = ""
					req.Parcel.Head = &head
				}
			})
		}},
		{name: "a group has all that failed", caught: "failures/filter", breaks: filters(func(f *provider.Filter) {
			if f.FailureGroup != "" && len(f.Statuses) == 0 {
				f.FailureGroup, f.Statuses = "", []provider.Status{provider.StatusFailed}
			}
		})},
		{name: "the oldest group comes first", caught: "failures/groups", breaks: groups(func(m *mutant, _ provider.FailureGroupsRequest, res *provider.FailureGroupsResult) {
			slices.Reverse(res.Groups)
		})},
		{name: "a replaced instance leaves its group", caught: "failures/groups-replaced", breaks: groups(dropsReplaced)},
		{name: "counts are always exact", caught: "failures/groups-at-most", breaks: groups(func(m *mutant, _ provider.FailureGroupsRequest, res *provider.FailureGroupsResult) {
			res.AtLeast = false
		})},
		{name: "versions are not sorted", caught: "failures/groups-versions", breaks: groups(func(m *mutant, _ provider.FailureGroupsRequest, res *provider.FailureGroupsResult) {
			for i := range res.Groups {
				slices.Reverse(res.Groups[i].Versions)
			}
		})},
		{name: "the rarest text comes first", caught: "failures/one-group", breaks: groups(func(m *mutant, _ provider.FailureGroupsRequest, res *provider.FailureGroupsResult) {
			for i := range res.Groups {
				slices.Reverse(res.Groups[i].Texts)
			}
		})},
		{name: "texts are always ten", caught: "failures/one-group-texts", breaks: func(m *mutant) {
			m.failed.before(func(req *provider.FailureGroupsRequest) {
				if req.Texts <= provider.MaxGrouped {
					req.Texts = min(req.Texts, 0)
				}
			})
		}},
		{name: "groups leave out the first instant", caught: "failures/ended-after", breaks: func(m *mutant) {
			m.failed.before(func(req *provider.FailureGroupsRequest) {
				if req.EndedAfter != 0 {
					req.EndedAfter++
				}
			})
		}},
		{name: "a page says that it reached the oldest", caught: "filter/list-reached", breaks: func(m *mutant) {
			m.list.after(func(_ provider.ListRequest, res *provider.ListResult, _ *error) {
				if res.Cursor != "" {
					res.Reached = 1
				}
			})
		}},
	}
}

// groups changes what FailureGroups returns.
func groups(change func(*mutant, provider.FailureGroupsRequest, *provider.FailureGroupsResult)) func(*mutant) {
	return func(m *mutant) {
		m.failed.after(func(req provider.FailureGroupsRequest, res *provider.FailureGroupsResult, _ *error) {
			change(m, req, res)
		})
	}
}

func keepsExcerpts(m *mutant) {
	var last sync.Map
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if req.Status != provider.StatusFailed {
			return
		}
		if before, ok := last.Load(req.Key); ok && req.FailureGroup == "" {
			req.Excerpt, req.FailureGroup = []byte("e"), before.(string)
		}
		last.Store(req.Key, req.FailureGroup)
	})
}

func dropsReplaced(m *mutant, _ provider.FailureGroupsRequest, res *provider.FailureGroupsResult) {
	ctx := context.Background()
	res.Groups = slices.DeleteFunc(res.Groups, func(g provider.FailureGroup) bool {
		now, err := m.Provider.Get(ctx, provider.GetRequest{ID: m.stored(ctx, g.Newest).ID})
		return err == nil && now.Instance.Key != g.Newest
	})
}
