package main

import (
	"fmt"
	"slices"
	"strconv"
)

// row is one figure of a workload on one kind of store, for all systems.
type row struct {
	Store    string          `json:"store"`
	Workload string          `json:"workload"`
	Figure   string          `json:"figure"`
	Systems  map[string]cell `json:"systems"`
}

// cell is the result of one system over all rounds.
type cell struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Runs   int     `json:"runs"`
	Failed int     `json:"failed,omitempty"`
	Why    string  `json:"why,omitempty"` // reason of the last failed run
	// Faster is the ratio by which perdure is faster, computed from the medians. 1 is equal and less is slower. It
	// is 0 for perdure itself.
	Faster float64 `json:"perdure_is_faster_by,omitempty"`
}

// summarize returns rows in the order of the runs.
func summarize(runs []run) []row {
	var rows []row
	for _, r := range runs {
		for _, name := range figureNames(runs, r.Store, r.Workload) {
			known := slices.ContainsFunc(rows, func(o row) bool { return o.Store == r.Store && o.Workload == r.Workload && o.Figure == name })
			if !known {
				rows = append(rows, newRow(runs, r.Store, r.Workload, name))
			}
		}
	}
	return rows
}

// figureNames returns the names of the figures that any system has for a workload, or one empty name if all failed.
func figureNames(runs []run, store, workload string) []string {
	for _, r := range runs {
		if r.Store == store && r.Workload == workload && len(r.Figures) > 0 {
			var names []string
			for _, f := range r.Figures {
				names = append(names, f.Name)
			}
			return names
		}
	}
	return []string{""}
}

func newRow(runs []run, store, workload, name string) row {
	out := row{Store: store, Workload: workload, Figure: name, Systems: make(map[string]cell)}
	values, isRate := make(map[string][]float64), false
	for _, r := range runs {
		if r.Store != store || r.Workload != workload {
			continue
		}
		c := out.Systems[r.System]
		c.Runs++
		if r.Failed != "" {
			c.Failed++
			c.Why = r.Failed
		}
		out.Systems[r.System] = c
		if f, found := find(r.Figures, name, func(f figure) string { return f.Name }); found {
			values[r.System] = append(values[r.System], f.Value)
			isRate = f.IsRate
		}
	}
	for system, v := range values {
		c := out.Systems[system]
		c.Median, c.Min, c.Max = median(v), slices.Min(v), slices.Max(v)
		out.Systems[system] = c
	}
	out.compare(isRate)
	return out
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// compare sets the ratio by which perdure is faster than each peer.
func (r row) compare(isRate bool) {
	ours := r.Systems["perdure"].Median
	for name, c := range r.Systems {
		if name == "perdure" || ours == 0 || c.Median == 0 {
			continue
		}
		if c.Faster = c.Median / ours; isRate {
			c.Faster = ours / c.Median
		}
		r.Systems[name] = c
	}
}

// String returns the cell of the table: median, range and ratio.
func (c cell) String() string {
	if c.Failed == c.Runs {
		if c.Runs == 0 {
			return "-"
		}
		return "failed: " + short(c.Why)
	}
	text := number(c.Median)
	if c.Runs-c.Failed > 1 {
		text += fmt.Sprintf(" (%s to %s)", number(c.Min), number(c.Max))
	}
	if c.Faster != 0 {
		text += " **x" + number(c.Faster) + "**"
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d of %d runs failed: %s", c.Failed, c.Runs, short(c.Why))
	}
	return text
}

// short cuts a reason to fit into a table.
func short(why string) string {
	const limit = 60
	if r := []rune(why); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return why
}

// number formats a value with three digits, or all digits before the point.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
