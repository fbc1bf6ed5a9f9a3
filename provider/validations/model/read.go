package model

import "github.com/perdure/perdure/provider"

func doReadHistory(d *driver) {
	req := provider.ReadHistoryRequest{Key: d.key(), Execution: int64(d.n(4)), From: int64(1 + d.n(4)), To: int64(d.n(4)), MaxBytes: pick(&d.source, 0, 0, 3)}
	_, _ = call(d, "read history", (*provider.Full).ReadHistory, always(req), nil)
}

// doStats reads the figures but does not compare them, since they may be stale.
func doStats(d *driver) {
	req := provider.StatsRequest{Waiting: d.odds(2), Running: d.odds(2)}
	_, _ = call(d, "stats", (*provider.Full).Stats, always(req), func(_ *side, res *provider.StatsResult) {
		*res = provider.StatsResult{}
	})
}

// doList lists and counts the matches of a filter, page by page.
func doList(d *driver) {
	f := d.filter()
	f.Retrying = d.odds(4) && provider.FeaturesOf(d.subject.Provider).Retrying
	filter := func(s *side) provider.Filter {
		r := f.Filter
		r.CreatedAfter, r.CreatedBefore = s.created[f.after], s.created[f.before]
		return r
	}
	page := pick(&d.source, 0, 1, 2)
	omit := some(&d.source, 2, func() provider.ListField { return provider.ListField(1 + d.n(3)) })
	cursors := map[*side]string{}
	for more := true; more && d.differs == ""; {
		next := map[*side]string{}
		_, err := call(d, "list", (*provider.Full).List, func(s *side) provider.ListRequest {
			return provider.ListRequest{Filter: filter(s), Max: page, Cursor: cursors[s], Omit: omit}
		}, func(s *side, res *provider.ListResult) {
			next[s], res.Reached = res.Cursor, 0 // a store need not know
			if res.Cursor != "" {
				res.Cursor = "more"
			}
			res.Reached = 0 // a provider need not know it
		})
		cursors = next
		more = err == nil && next[d.model] != ""
	}
	most := int64(pick(&d.source, 0, 0, 1, 3))
	_, _ = call(d, "count", (*provider.Full).Count, func(s *side) provider.CountRequest {
		return provider.CountRequest{Filter: filter(s), Max: most}
	}, nil)
}

// doListTasks lists pending tasks of all instances, a page at a time.
func doListTasks(d *driver) {
	req := provider.ListTasksRequest{Max: pick(&d.source, 0, 1, 2), Retrying: d.odds(2)}
	cursors := map[*side]string{}
	for more := true; more && d.differs == ""; {
		next := map[*side]string{}
		_, err := call(d, "list tasks", (*provider.Full).ListTasks, func(s *side) provider.ListTasksRequest {
			one := req
			one.Cursor = cursors[s]
			return one
		}, func(s *side, res *provider.ListTasksResult) {
			if next[s] = res.Cursor; res.Cursor != "" {
				res.Cursor = "more"
			}
		})
		cursors = next
		more = err == nil && next[d.model] != ""
	}
}

// A drawnFilter names instances by whose creation to filter: each side has its own times.
type drawnFilter struct {
	provider.Filter

	after, before provider.UUID
}

// match draws a condition on one of the attributes that attributes draws.
func (s *source) match() provider.AttributeMatch {
	m := provider.AttributeMatch{Name: pick(s, "x", "y"), Kind: provider.AttributeInt}
	draw := func() provider.AttributeValue { return provider.AttributeValue{Number: int64(s.n(3))} }
	if s.odds(2) {
		m.Kind = provider.AttributeText
		draw = func() provider.AttributeValue { return provider.AttributeValue{Text: pick(s, "s", "t", "u", "")} }
	}
	switch s.n(4) {
	case 0:
		m.Any = some(s, 2, draw)
	case 1:
		from := draw()
		m.From = &from
	case 2:
		to := draw()
		m.To = &to
	default:
		if m.Kind == provider.AttributeText {
			m.Prefix = pick(s, "", "s", "t", "st")
		}
	}
	return m
}

func (w *world) filter() (f drawnFilter) {
	f.Replaced = w.odds(2)
	switch w.n(14) {
	case 13:
		if w.features.FailureGroups {
			f.FailureGroup = pick(&w.source, "g", "h")
			f.Statuses = some(&w.source, 2, func() provider.Status { return provider.StatusCompleted + provider.Status(w.n(2)) })
		}
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
	case 8:
		f.CodeVersions = some(&w.source, 2, func() string { return pick(&w.source, "", "1", "2") })
	case 9:
		f.Matches = some(&w.source, 2, w.match)
	case 10:
		f.EndedAfter = 1
	case 11:
		f.Name = w.kind()
		f.Statuses = some(&w.source, 3, func() provider.Status { return provider.StatusRunning + provider.Status(w.n(6)) })
	case 12:
		f.ParentKeys = some(&w.source, 3, w.key)
	case 7:
		if w.odds(2) {
			f.after = w.key()
		} else {
			f.before = w.key()
		}
	}
	return f
}
