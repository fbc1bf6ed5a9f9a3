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
	// Nodes that begin or end within foldTime share a mark, which names the first maxNodeNames of them. So a fleet that restarts hides nothing else.
	foldTime     = 10 * time.Minute
	maxNodeNames = 3
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
	for _, v := range m.Versions {
		mark(v.At, "version", fmt.Sprintf("code version %s of %s came", v.Version, v.Name))
	}
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

// markNodes marks nodes that began, were shut down, or were lost.
func markNodes(m *figures.Merged, mark func(at provider.Time, kind, text string)) {
	type group struct {
		kind string
		slot time.Time
	}
	owners, first := map[group][]string{}, map[group]provider.Time{}
	add := func(at provider.Time, kind, owner string) {
		if at < m.From {
			return
		}
		g := group{kind, at.Std().Truncate(foldTime)}
		if len(owners[g]) == 0 || at < first[g] {
			first[g] = at
		}
		owners[g] = append(owners[g], owner)
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		add(s.Since, "node-joined", s.Owner)
		switch {
		case s.Clean:
			add(s.Until, "node-left", s.Owner)
		case s.Lost != 0:
			add(s.Until, "node-lost", s.Owner)
		}
	}
	for g, all := range owners {
		one, many := "began", "began"
		switch g.kind {
		case "node-left":
			one, many = "was shut down", "were shut down"
		case "node-lost":
			one, many = "was lost", "were lost"
		}
		slices.Sort(all)
		switch n := len(all); {
		case n == 1:
			mark(first[g], g.kind, "node "+all[0]+" "+one)
		case n <= maxNodeNames:
			mark(first[g], g.kind, fmt.Sprintf("%d nodes %s: %s", n, many, strings.Join(all, ", ")))
		case n > maxNodeNames:
			mark(first[g], g.kind, fmt.Sprintf("%d nodes %s: %s and %d more", n, many, strings.Join(all[:maxNodeNames], ", "), n-maxNodeNames))
		}
	}
}
