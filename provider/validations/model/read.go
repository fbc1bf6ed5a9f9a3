package model

import "github.com/perdure/perdure/provider"

func doReadHistory(d *driver) {
	req := provider.ReadHistoryRequest{Key: d.key(), Execution: int64(d.n(4)), From: int64(1 + d.n(4)), To: int64(d.n(4)), MaxBytes: pick(&d.source, 0, 0, 3)}
	_, _ = call(d, "read history", (*provider.Full).ReadHistory, always(req), nil)
}

// doStats reads the figures but does not compare them, since they may be stale.
func doStats(d *driver) {
	_, _ = call(d, "stats", (*provider.Full).Stats, always(provider.StatsRequest{}), func(_ *side, res *provider.StatsResult) {
		*res = provider.StatsResult{}
	})
}

// doList lists and counts the matches of a filter, page by page.
func doList(d *driver) {
	f := d.filter()
	filter := func(s *side) provider.Filter {
		r := f.Filter
		r.CreatedAfter, r.CreatedBefore = s.created[f.after], s.created[f.before]
		return r
	}
	page := pick(&d.source, 0, 1, 2)
	cursors := map[*side]string{}
	for more := true; more && d.differs == ""; {
		next := map[*side]string{}
		_, err := call(d, "list", (*provider.Full).List, func(s *side) provider.ListRequest {
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
	_, _ = call(d, "count", (*provider.Full).Count, func(s *side) provider.CountRequest {
		return provider.CountRequest{Filter: filter(s)}
	}, nil)
}

// A drawnFilter names instances by whose creation to filter: each side has its own times.
type drawnFilter struct {
	provider.Filter

	after, before provider.UUID
}

func (w *world) filter() (f drawnFilter) {
	f.Replaced = w.odds(2)
	switch w.n(8) {
	case 1:
		f.IDPrefix = w.id()
	case 2:
		f.Name = w.kind()
	case 3:
		f.Statuses = []provider.Status{provider.StatusRunning, provider.StatusCompleted}[w.n(2):]
	case 4:
		f.Blocked = true
	case 5:
		f.ParentKey = w.key()
	case 6:
		f.Attributes = w.attributes()
	case 7:
		if w.odds(2) {
			f.after = w.key()
		} else {
			f.before = w.key()
		}
	}
	return f
}
