package dashboard

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

// chartHeight is the height of a chart in pixels, and barMost that of its highest bar.
const (
	chartHeight = 56
	barMost     = 48
)

// charts are what the overview draws of figures.
type charts struct {
	*client.Figures

	Charts []chart
	Rows   []chartRow
	Recent []client.FiguresMark // the newest first
	Older  int                  // marks that are not among them
}

// chart is one figure over time. X and Width are in percent of the whole.
type chart struct {
	Name  string // such as "Starts"
	Class string
	Title string // in words, for those who do not see it
	About string
	Value string // of the whole window
	Peak  string // the highest bar
	Bars  []chartBar
	Gaps  []chartBar // times of which nothing, or not all, is known
	Lines []string   // X of marks
}

type chartBar struct {
	X, Width string
	Y, High  string
	Part     bool // of a gap: something is known
}

// chartRow is a point in numbers. A text is "unknown" where there is none.
type chartRow struct {
	At    time.Time
	Cells []string
}

// shownMarks is how many marks stand in words.
const shownMarks = 8

// series are the charts: what they show of a point, and how much of its time that tells of.
//
//nolint:gochecknoglobals // constant table
var series = []struct {
	name, class string
	most        bool // the whole is the highest value, not the sum
	value       func(p *client.FiguresPoint) (int64, client.FiguresKnown)
}{
	{"Starts", "starts", false, ofCounts(func(c *client.FiguresCounts) int64 { return c.Started })},
	{"Ends", "ends", false, ofCounts(func(c *client.FiguresCounts) int64 { return c.Ended() })},
	{"Failures", "failures", false, ofCounts(func(c *client.FiguresCounts) int64 { return c.Failed })},
	{"Retries", "retries", false, ofCounts(func(c *client.FiguresCounts) int64 { return c.Retried })},
	{"Backlog", "backlog", true, func(p *client.FiguresPoint) (int64, client.FiguresKnown) {
		if p.Backlog == nil {
			return 0, client.FiguresNone
		}
		return *p.Backlog, p.BacklogKnown
	}},
}

func ofCounts(of func(*client.FiguresCounts) int64) func(*client.FiguresPoint) (int64, client.FiguresKnown) {
	return func(p *client.FiguresPoint) (int64, client.FiguresKnown) {
		if p.Counts == nil {
			return 0, client.FiguresNone
		}
		return of(p.Counts), p.Known
	}
}

// figures returns the figures of a window, which are kept for ten seconds.
func (c *call) figures(ctx context.Context, window client.FiguresWindow) (*client.Figures, error) {
	kept := c.s.figures[window]
	if kept == nil {
		return nil, badInput("parameter window is %q: give hour, day or week", clip(40, string(window)))
	}
	return kept.get(ctx, func(ctx context.Context) (*client.Figures, error) {
		return c.s.client.Figures(ctx, client.FiguresRequest{Window: window})
	})
}

// window returns the window that a request names; the hour if none.
func (c *call) window() client.FiguresWindow {
	if w := c.param("window"); w != "" {
		return client.FiguresWindow(w)
	}
	return client.FiguresHour
}

// newCharts draws figures.
func newCharts(f *client.Figures) *charts {
	all := &charts{Figures: f}
	for i := len(f.Marks) - 1; i >= 0 && len(all.Recent) < shownMarks; i-- {
		all.Recent = append(all.Recent, f.Marks[i])
	}
	all.Older = len(f.Marks) - len(all.Recent)
	for i := range series {
		all.Charts = append(all.Charts, drawChart(f, i))
	}
	for i := len(f.Points) - 1; i >= 0; i-- {
		p := &f.Points[i]
		row := chartRow{At: p.At}
		for j := range series {
			if n, known := series[j].value(p); known != client.FiguresNone {
				row.Cells = append(row.Cells, atLeast(n, known == client.FiguresPart))
			} else {
				row.Cells = append(row.Cells, "unknown")
			}
		}
		all.Rows = append(all.Rows, row)
	}
	return all
}

// atLeast writes a number, which may be a lower bound.
func atLeast(n int64, bound bool) string {
	if bound {
		return "≥ " + group(n)
	}
	return group(n)
}

func drawChart(f *client.Figures, which int) chart {
	s := &series[which]
	c := chart{Name: s.name, Class: s.class}
	whole, most, unknown, some := int64(0), int64(0), 0, false
	for i := range f.Points {
		if n, known := s.value(&f.Points[i]); known != client.FiguresNone {
			most, whole, some = max(most, n), whole+n, true
		}
	}
	if s.most {
		whole = most
	}
	length := float64(f.Slot) * float64(len(f.Points))
	percent := func(d time.Duration) string { return fmt.Sprintf("%.3f%%", 100*min(max(float64(d)/length, 0), 1)) }
	var gap *chartBar
	gapFrom := 0
	for i := range f.Points {
		n, known := s.value(&f.Points[i])
		if n > 0 {
			high := max(float64(n)/float64(most)*barMost, 2)
			c.Bars = append(c.Bars, chartBar{
				X: percent(time.Duration(i) * f.Slot), Width: percent(f.Slot * 4 / 5),
				Y: fmt.Sprintf("%.1f", chartHeight-high), High: fmt.Sprintf("%.1f", high),
			})
		}
		if known == client.FiguresAll {
			gap = nil
			continue
		}
		unknown++
		if part := known == client.FiguresPart; gap == nil || gap.Part != part {
			c.Gaps = append(c.Gaps, chartBar{X: percent(time.Duration(i) * f.Slot), Part: part})
			gap, gapFrom = &c.Gaps[len(c.Gaps)-1], i
		}
		gap.Width = percent(time.Duration(i+1-gapFrom) * f.Slot)
	}
	for i := range f.Marks {
		c.Lines = append(c.Lines, percent(f.Marks[i].At.Sub(f.From)))
	}
	c.Value, c.Peak = atLeast(whole, unknown > 0), group(most)
	if !some {
		c.Value = "unknown"
	}
	c.Title = fmt.Sprintf("%s in the last %s: %s", s.name, f.Window, strings.Replace(c.Value, "≥", "at least", 1))
	c.About = fmt.Sprintf("Bars of %s each, the highest is %s.", slotText(f.Slot), c.Peak)
	if unknown > 0 {
		c.About += fmt.Sprintf(" Of %d of %d times not all is known.", unknown, len(f.Points))
	}
	return c
}

// slotText says how long a point of the figures is.
func slotText(d time.Duration) string {
	switch d {
	case time.Hour:
		return "an hour"
	case time.Minute:
		return "a minute"
	default:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
}
