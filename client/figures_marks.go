package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/provider"
)

const (
	// maxMarks bounds the marks, and maxActMarks the acts among them.
	maxMarks    = 200
	maxActMarks = 100
	// Nodes that begin or end within foldTime share a mark, and so do orchestrations that get the same code version. It names the first maxFolded of
	// them. So a deploy of a fleet hides nothing else.
	foldTime  = 10 * time.Minute
	maxFolded = 3
)

// figureMarks returns what changed within the window, as far as the store tells.
func (c *Client) figureMarks(ctx context.Context, m *figures.Merged) ([]FiguresMark, error) {
	var marks []FiguresMark
	mark := func(at provider.Time, kind, text string) {
		if at >= m.From {
			marks = append(marks, FiguresMark{At: at.Std(), Kind: kind, Text: text})
		}
	}
	markNodes(m, mark)
	markVersions(m, mark)
	orders, err := control.Read(ctx, c.store)
	if err != nil {
		return nil, err
	}
	for _, queue := range slices.Sorted(maps.Keys(orders.Paused)) {
		if order := orders.Paused[queue]; order.By == "" { // otherwise it is an act of the audit
			mark(order.At, "queue-paused", fmt.Sprintf("queue %q was paused", queue))
		}
	}
	acts, _, err := audit.List(ctx, c.store, &audit.Query{From: m.From}, "", maxActMarks)
	if err != nil {
		return nil, err
	}
	for i := range acts {
		if text := markOf(&acts[i]); text != "" {
			mark(acts[i].At, "act", text)
		}
	}
	slices.SortFunc(marks, func(a, b FiguresMark) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	return marks[max(0, len(marks)-maxMarks):], nil
}

// markOf says what an act did; "": it has changed nothing. It leaves out what somebody wrote as a reason: not everybody who sees figures may see
// that.
func markOf(a *audit.Entry) string {
	what, on := a.Act, strings.TrimSpace(a.Other+" "+a.Instance)
	detail, _, _ := strings.Cut(a.Detail, ": ") // a reason follows
	switch Act(a.Act) {
	case ActQuery, ActExport, ActBackup:
		return ""
	case ActQueue, ActNode: // the detail says which act it was, and Other on what
		what = cmp.Or(detail, what)
	case ActBulk, ActActivity: // so it does, but not on what
		what = strings.TrimSuffix(what+": "+detail, ": ")
	case ActSchedule:
		what, _, _ = strings.Cut(a.Detail, ":")
		on = a.Other
		if a.Detail == scheduleDeleted {
			what = "delete"
		}
	default: // its name is enough
	}
	if on == what {
		on = ""
	}
	text := strings.TrimSpace(fmt.Sprintf("%s: %s %s", a.Principal, what, on))
	switch a.Outcome {
	case audit.Failed:
		return ""
	case audit.Done:
		return text
	default:
		return text + " (outcome not known)"
	}
}

// folds are marks that are close to each other, each with the names that it is about.
type folds map[fold]*folded

type fold struct {
	what string
	slot time.Time
}

type folded struct {
	first provider.Time
	names []string
}

func (f folds) add(at provider.Time, what, name string) {
	g := fold{what, at.Std().Truncate(foldTime)}
	one := f[g]
	if one == nil {
		one = &folded{first: at}
		f[g] = one
	}
	one.first = min(one.first, at)
	one.names = append(one.names, name)
}

// list returns the first names in their order, and how many more there are.
func (f *folded) list() string {
	slices.Sort(f.names)
	if n := len(f.names) - maxFolded; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(f.names[:maxFolded], ", "), n)
	}
	return strings.Join(f.names, ", ")
}

// markVersions marks code versions that came.
func markVersions(m *figures.Merged, mark func(at provider.Time, kind, text string)) {
	all := folds{}
	for _, v := range m.Versions {
		all.add(v.At, v.Version, v.Name)
	}
	for g, one := range all {
		text := fmt.Sprintf("code version %s of %s came", g.what, one.list())
		if n := len(one.names); n > 1 {
			text = fmt.Sprintf("code version %s of %d orchestrations came: %s", g.what, n, one.list())
		}
		mark(one.first, "version", text)
	}
}

// markNodes marks nodes that began, were shut down, or were lost.
func markNodes(m *figures.Merged, mark func(at provider.Time, kind, text string)) {
	all := folds{}
	add := func(at provider.Time, kind, owner string) {
		if at >= m.From {
			all.add(at, kind, owner)
		}
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		add(s.Since, "node-joined", s.Owner)
		switch {
		case s.Clean:
			add(s.Until, "node-left", s.Owner)
		case s.Lost != 0:
			add(s.Seen, "node-lost", s.Owner)
		}
	}
	for g, nodes := range all {
		one, many := "began", "began"
		switch g.what {
		case "node-left":
			one, many = "was shut down", "were shut down"
		case "node-lost":
			one, many = "was lost", "were lost"
		}
		text := "node " + nodes.list() + " " + one
		if n := len(nodes.names); n > 1 {
			text = fmt.Sprintf("%d nodes %s: %s", n, many, nodes.list())
		}
		mark(nodes.first, g.what, text)
	}
}
