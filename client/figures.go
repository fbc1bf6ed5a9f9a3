package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/upgrade"
)

// FiguresWindow is how far back figures go.
type FiguresWindow string

// The windows. Each begins where a record of the figures begins, so it is somewhat longer than its name.
const (
	FiguresHour FiguresWindow = "hour" // by the minute, 60 to 70 minutes
	FiguresDay  FiguresWindow = "day"  // by ten minutes, 24 to 26 hours
	FiguresWeek FiguresWindow = "week" // by the hour, 7 to 8 days
)

// FiguresRequest chooses figures.
type FiguresRequest struct {
	Window FiguresWindow // "": FiguresHour
}

// FiguresKnown says how much is known of a time.
type FiguresKnown string

// What is known of a time. Counts of a part of it are a lower bound. It is a part if no node counted for some of the time, if a node was killed,
// so that what it counted last is lost, if a node ran that keeps no figures, or if a newer release wrote what this one cannot read.
const (
	FiguresAll  FiguresKnown = "all"
	FiguresPart FiguresKnown = "part"
	FiguresNone FiguresKnown = "none" // no node has counted, as far as the store tells
)

// FiguresCounts are numbers of things that nodes have done. What a client ends by Terminate is not among them.
type FiguresCounts struct {
	Started   int64 `json:"started"`   // instances whose first turn is stored
	Completed int64 `json:"completed"` // instances that have ended so
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	Retried   int64 `json:"retried"` // attempts of activities that failed, and that another one follows
}

// Ended returns how many instances have ended by their own code.
func (c FiguresCounts) Ended() int64 { return c.Completed + c.Failed + c.Cancelled }

// FiguresPoint is what happened in a part of the window.
type FiguresPoint struct {
	At    time.Time    `json:"at"`
	Until time.Time    `json:"until"` // the last point may be shorter than the others
	Known FiguresKnown `json:"known"`
	// Counts is nil if nothing is known.
	Counts *FiguresCounts `json:"counts,omitempty"`
	// Backlog is the most activities that waited at once in all queues, as a node has seen every ten seconds; nil: none has looked.
	Backlog *int64 `json:"backlog,omitempty"`
	// BacklogKnown says how much of the time a node has looked. Of a part of it, Backlog is a lower bound.
	BacklogKnown FiguresKnown `json:"backlogKnown"`
}

// FailedFigure is how many instances of an orchestration have failed.
type FailedFigure struct {
	Orchestration string `json:"orchestration"`
	Failed        int64  `json:"failed"`
}

// ActivityFigure is what happened to attempts of an activity. Latencies are of attempts from begin to end on a node, without waiting, and off by
// at most a fifth.
type ActivityFigure struct {
	Activity  string        `json:"activity"`
	Completed int64         `json:"completed"`
	Failed    int64         `json:"failed"` // for good, by a timeout or otherwise
	Cancelled int64         `json:"cancelled"`
	Retried   int64         `json:"retried"`
	Measured  int64         `json:"measured"` // attempts that the latencies are of; 0: there are none
	P50       time.Duration `json:"p50"`      // in nanoseconds
	P99       time.Duration `json:"p99"`
}

// QueueFigure is what waited in a queue of activities.
type QueueFigure struct {
	Queue   string        `json:"queue"`
	Peak    int64         `json:"peak"`              // the most that waited at once
	Longest time.Duration `json:"longest"`           // that one of them had waited, in nanoseconds
	Waiting *int64        `json:"waiting,omitempty"` // at the end of the window; nil: no node has looked
	Oldest  time.Time     `json:"oldest,omitzero"`   // since when the oldest of these waits
}

// FiguresMark is something that changed. Nodes that began, were shut down or were lost within the same ten minutes share a mark.
type FiguresMark struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // node-joined, node-left, node-lost, version, queue-paused or act
	Text string    `json:"text"`
}

// Figures are what all nodes did over time, by the storage's clock. Each node counts what its commits have confirmed, and writes it once a
// minute. A record of a node has the first 200 names of each kind that come in its time, which is 10 minutes for an hour, 2 hours for a day and a
// day for a week. Further ones count as "_other". Of all nodes together the 200 names with the most are shown, and the others count as "_other".
type Figures struct {
	Window     FiguresWindow    `json:"window"`
	From       time.Time        `json:"from"`
	Until      time.Time        `json:"until"` // one to four minutes ago: later counts are not complete yet
	Slot       time.Duration    `json:"slot"`  // of a point, in nanoseconds
	Points     []FiguresPoint   `json:"points"`
	Totals     FiguresCounts    `json:"totals"` // of all points
	Whole      bool             `json:"whole"`  // all is known of each point; false: totals and names are lower bounds
	Failed     []FailedFigure   `json:"failed,omitempty"`
	Activities []ActivityFigure `json:"activities,omitempty"`
	Queues     []QueueFigure    `json:"queues,omitempty"` // in which something waited
	Marks      []FiguresMark    `json:"marks,omitempty"`  // by time, at most 200, of these at most 100 acts: the newest
	// Silent are nodes that run and keep no figures: their option NoFigures is set, or their release is older. No point is wholly known then.
	Silent []string `json:"silent,omitempty"`
	// LeftOut is zero if all records were read. Otherwise more than 20,000 nodes have written within the window, and of the time before LeftOut nothing
	// is known, or only a part.
	LeftOut time.Time `json:"leftOut,omitzero"`
}

// recentLook is how long the last look at a queue counts as that of the end of the window.
const recentLook = 2 * time.Minute

// Figures returns what the nodes of the store did within a window. It reads some records for each node, and no instances.
//
// A store without provider.Keeper keeps no figures: the error wraps errors.ErrUnsupported. Other errors are ErrInvalid, or the error of ctx.
func (c *Client) Figures(ctx context.Context, req FiguresRequest) (*Figures, error) {
	const op = "reading figures"
	if err := c.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	req.Window = cmp.Or(req.Window, FiguresHour)
	window := figures.Window(slices.Index([]FiguresWindow{FiguresHour, FiguresDay, FiguresWeek}, req.Window))
	if window < 0 {
		return nil, fmt.Errorf("%s: %w: there is no window %s: give hour, day or week", op, ErrInvalid, check.Quote(string(req.Window)))
	}
	f := &Figures{Window: req.Window}
	_, err := c.store.Write(ctx, op, func(ctx context.Context) error { // the same patience as for a write, since these are several calls
		nodes, now, err := upgrade.AllNodes(ctx, c.store)
		if err != nil {
			return err
		}
		m, err := figures.Read(ctx, c.store, window, nodes, now)
		if err != nil {
			return err
		}
		marks, err := c.figureMarks(ctx, m)
		if err != nil {
			return err
		}
		f.set(m, marks)
		return nil
	})
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	return f, nil
}

// figuresKnown are the names of figures.Known.
//
//nolint:gochecknoglobals // constant table
var figuresKnown = [...]FiguresKnown{FiguresNone, FiguresPart, FiguresAll}

// set shows what was read.
func (f *Figures) set(m *figures.Merged, marks []FiguresMark) {
	f.From, f.Until, f.Slot, f.Silent, f.Marks, f.Whole = m.From.Std(), m.Until.Std(), m.Slot, m.Silent, marks, true
	if f.LeftOut = (time.Time{}); m.LeftOut != 0 {
		f.LeftOut = m.LeftOut.Std()
	}
	f.Points = make([]FiguresPoint, 0, len(m.Points))
	f.Totals = FiguresCounts{}
	for i := range m.Points {
		p := &m.Points[i]
		shown := FiguresPoint{At: p.At.Std(), Until: p.Until.Std(), Known: figuresKnown[p.Known], BacklogKnown: FiguresNone}
		if p.Known != figures.None {
			shown.Counts = new(FiguresCounts(p.Counts))
			f.Totals.Started += p.Counts.Started
			f.Totals.Completed += p.Counts.Completed
			f.Totals.Failed += p.Counts.Failed
			f.Totals.Cancelled += p.Counts.Cancelled
			f.Totals.Retried += p.Counts.Retried
			if shown.BacklogKnown = figuresKnown[p.Looked]; p.Looked != figures.None {
				shown.Backlog = &p.Backlog
			}
		}
		f.Whole = f.Whole && p.Known == figures.All
		f.Points = append(f.Points, shown)
	}
	f.Failed, f.Activities, f.Queues = nil, nil, nil
	for _, name := range slices.Sorted(maps.Keys(m.Failed)) {
		f.Failed = append(f.Failed, FailedFigure{name, m.Failed[name]})
	}
	slices.SortStableFunc(f.Failed, func(a, b FailedFigure) int { return cmp.Compare(b.Failed, a.Failed) })
	for _, name := range slices.Sorted(maps.Keys(m.Activities)) {
		a := m.Activities[name]
		shown := ActivityFigure{Activity: name, Completed: a.Completed, Failed: a.Failed, Cancelled: a.Cancelled, Retried: a.Retried, Measured: a.Latency.Count()}
		shown.P50, _ = a.Latency.Quantile(0.5)
		shown.P99, _ = a.Latency.Quantile(0.99)
		f.Activities = append(f.Activities, shown)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Queues)) {
		q := m.Queues[name]
		shown := QueueFigure{Queue: name, Peak: q.Peak, Longest: q.Longest}
		if m.Looked {
			shown.Waiting = new(int64)
			if q.Waiting > 0 && m.Until.Sub(q.At) < recentLook {
				*shown.Waiting, shown.Oldest = q.Waiting, q.Oldest.Std()
			}
		}
		f.Queues = append(f.Queues, shown)
	}
}
