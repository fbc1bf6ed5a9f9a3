package model

import "github.com/perdure/perdure/provider"

func doReadHistory(d *driver) {
	req := provider.ReadHistoryRequest{Key: d.key(), Execution: int64(d.n(4)), From: int64(1 + d.n(4)), To: int64(d.n(4)), MaxBytes: pick(d, 0, 0, 3)}
	_, _ = call(d, "read history", provider.Provider.ReadHistory, always(req), nil)
}

// doStats asks for figures, which may be stale: only that they come is checked.
func doStats(d *driver) {
	_, _ = call(d, "stats", provider.Provider.Stats, always(provider.StatsRequest{}), func(_ *side, res *provider.StatsResult) {
		*res = provider.StatsResult{}
	})
}

// doList lists page by page what a filter lets through, and counts it.
func doList(d *driver) {
	f := d.filter()
	filter := func(s *side) provider.Filter {
		r := f.Filter
		r.CreatedAfter, r.CreatedBefore = s.created[f.after], s.created[f.before]
		return r
	}
	page := pick(d, 0, 1, 2)
	cursors := map[*side]string{}
	for more := true; more && d.differs == ""; {
		next := map[*side]string{}
		_, err := call(d, "list", provider.Provider.List, func(s *side) provider.ListRequest {
			return provider.ListRequest{Filter: filter(s), Max: page, Cursor: cursors[s]}
		}, func(s *side, res *provider.ListResult) {
			next[s] = res.Cursor
			if res.Cursor != "" {
				res.Cursor = "more"
			}
		})
		cursors = next
		more = err == nil && next[d.model] != ""
	}
	_, _ = call(d, "count", provider.Provider.Count, func(s *side) provider.CountRequest {
		return provider.CountRequest{Filter: filter(s)}
	}, nil)
}

// A drawnFilter is a filter by times of creation, which each side has its own of.
type drawnFilter struct {
	provider.Filter

	after, before provider.UUID
}

func (d *driver) filter() (f drawnFilter) {
	f.Replaced = d.odds(2)
	switch d.n(8) {
	case 1:
		f.IDPrefix = d.id()
	case 2:
		f.Name = d.kind()
	case 3:
		f.Statuses = []provider.Status{provider.StatusRunning, provider.StatusCompleted}[d.n(2):]
	case 4:
		f.Blocked = true
	case 5:
		f.ParentKey = d.key()
	case 6:
		f.Attributes = d.attributes()
	case 7:
		if d.odds(2) {
			f.after = d.key()
		} else {
			f.before = d.key()
		}
	}
	return f
}
