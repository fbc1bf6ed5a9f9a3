package dashboard

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// statusCount is how many instances have a status.
type statusCount struct {
	Status  string       // of client, or "Blocked"
	Link    template.URL // query of the page of instances
	Counted client.Counted
}

// statusCounts counts the instances of each status, up to a limit. It is kept for ten seconds.
func (c *call) statusCounts(ctx context.Context) ([]statusCount, error) {
	return c.s.counts.get(ctx, func(ctx context.Context) ([]statusCount, error) {
		counts := make([]statusCount, 0, len(statusNames())+1)
		for _, name := range append([]string{"Blocked"}, statusNames()...) {
			f, link := client.Filter{Statuses: []client.Status{client.Status(name)}}, template.URL("status="+name) //nolint:gosec // a word
			if name == "Blocked" {
				f, link = client.Filter{Blocked: true}, "blocked=true"
			}
			n, err := c.s.client.CountUpTo(ctx, f, countLimit)
			if err != nil {
				return nil, err
			}
			counts = append(counts, statusCount{name, link, n})
		}
		return counts, nil
	})
}

// overviewData is what the first page shows.
type overviewData struct {
	Counts   []statusCount
	Blocked  []client.Description
	Failed   []client.Description // ended so within a day
	Recent   []client.Description
	Retrying client.Counted // instances with an activity that is tried again; 0: none, or the store cannot tell
	Groups   int64          // of failures within a day; 0: none, or not known
	Letters  []operate.DeadLetter
	More     bool // there are more dead letters
	Nodes    []operate.NodeInfo
	Unserved []operate.VersionUse
	Problems []string // parts that could not be read
	Empty    bool     // there are no instances
	Figures  *charts  // nil: the store keeps none, or they cannot be read now
	NoRecord bool     // the store keeps none
	Windows  []client.FiguresWindow
}

// retryingLimit is how far the overview counts what is tried again.
const retryingLimit = 1_000

// onOverview is how many rows each part of the overview has.
const onOverview = 8

// overview shows what needs attention.
func (c *call) overview() error {
	data, err := c.s.seen.get(c.r.Context(), c.readOverview)
	if err != nil {
		return err
	}
	if data.Counts, err = c.statusCounts(c.r.Context()); err != nil {
		return err
	}
	data.Empty = len(data.Recent) == 0
	if err := c.readCharts(&data); err != nil {
		return err
	}
	return c.show(http.StatusOK, "overview", view{Title: "Overview", Nav: "overview", Live: true, Data: &data})
}

// readCharts adds the figures over time. Without them the page shows the rest.
func (c *call) readCharts(data *overviewData) error {
	ctx := c.r.Context()
	f, err := c.figures(ctx, c.window())
	data.Windows = []client.FiguresWindow{client.FiguresHour, client.FiguresDay, client.FiguresWeek}
	switch {
	case err == nil:
		data.Figures = newCharts(f)
	case errors.Is(err, errors.ErrUnsupported):
		data.NoRecord = true
	case errors.Is(err, client.ErrInvalid), ctx.Err() != nil, c.s.figures[c.window()] == nil:
		return err
	default:
		c.s.logger.WarnContext(ctx, "overview lacks a part", "part", "figures", "error", err)
		data.Problems = append(slices.Clip(data.Problems), "figures over time")
	}
	return nil
}

// readOverview reads all parts with all rights, since every viewer sees the same. A part that cannot be read does not hide the others.
func (c *call) readOverview(ctx context.Context) (overviewData, error) {
	var data overviewData
	all := c.s.client
	first := func(into *[]client.Description, f client.Filter) error {
		l, err := all.List(ctx, f, client.Page{Size: onOverview})
		*into = l.Items
		return err
	}
	err := first(&data.Recent, client.Filter{})
	if err != nil {
		return data, err
	}
	now, err := all.Now(ctx)
	if err != nil {
		return data, err
	}
	day := now.Add(-24 * time.Hour).Truncate(time.Hour) // by the clock of the store, as the ends that it is compared with
	for _, part := range []struct {
		name string
		read func() error
	}{
		{"blocked instances", func() error { return first(&data.Blocked, client.Filter{Blocked: true}) }},
		{"failed instances", func() error {
			return first(&data.Failed, client.Filter{Statuses: []client.Status{client.StatusFailed}, EndedAfter: day})
		}},
		{"retrying activities", func() (err error) {
			data.Retrying, err = all.CountUpTo(ctx, client.Filter{Retrying: true}, retryingLimit)
			return err
		}},
		{"groups of failures", func() error {
			groups, err := all.FailureGroups(ctx, client.FailureGroupsQuery{EndedAfter: day, Max: maxSize})
			data.Groups = int64(len(groups.Items))
			return err
		}},
		{"dead letters", func() error {
			p, err := operate.New(all).DeadLetterPage(ctx, operate.DeadLetterFilter{}, client.Page{Size: onOverview})
			data.Letters, data.More = p.Items, p.Cursor != ""
			return err
		}},
		{"nodes", func() (err error) { data.Nodes, err = operate.New(all).Nodes(ctx); return err }},
		{"versions", func() error {
			versions, err := operate.New(all).Versions(ctx, "")
			for _, v := range versions {
				if v.NoNode() {
					data.Unserved = append(data.Unserved, v)
				}
			}
			return err
		}},
	} {
		if err := part.read(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			c.s.logger.WarnContext(ctx, "overview lacks a part", "part", part.name, "error", err)
			data.Problems = append(data.Problems, part.name)
		}
	}
	return data, nil
}
