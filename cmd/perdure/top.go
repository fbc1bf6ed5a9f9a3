package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

const (
	// topEvery is how often top reads. A slow store is read less often: a read takes at most one part in topShare of the time.
	topEvery = 5 * time.Second
	topMost  = time.Minute
	topShare = 10
	// topTime bounds one read.
	topTime = 10 * time.Second
	// topRows is how many queues, nodes, activities and changes are shown.
	topRows = 10
	// topWidth is how many columns a line has, and topName how many of them a name has.
	topWidth = 80
	topName  = 24
)

// topSeen is what top shows, and its output as JSON.
type topSeen struct {
	Figures *client.Figures     `json:"figures"`
	Nodes   []operate.NodeInfo  `json:"nodes"`
	Queues  []operate.QueueInfo `json:"queues"` // null: the store does not measure what waits
}

func newTop(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Show live what starts, ends, fails, retries and waits",
		Long: "Top shows every five seconds what the nodes have done within the last hour, as they have counted it, and what waits in\n" +
			"queues. It changes nothing, and reads no instances. It reads less often while the database is slow or does not answer.\n" +
			"End it with Ctrl-C. With -o json, or if standard output is no terminal, it prints once.",
		Example: "  perdure top --db orders.db\n  perdure top -o json --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if a.output != outputTable || !a.onTerminal(cmd.OutOrStdout()) {
					seen, err := readTop(ctx, c)
					if err != nil {
						return err
					}
					return a.show(cmd, seen, func(w *grid) { topTable(w, seen) })
				}
				return followTop(ctx, cmd.OutOrStdout(), func(ctx context.Context) (*topSeen, error) { return readTop(ctx, c) })
			})
		},
	}
}

// readTop reads records, and what waits: nothing that takes longer the more instances there are.
func readTop(ctx context.Context, c *client.Client) (*topSeen, error) {
	ctx, cancel := context.WithTimeout(ctx, topTime)
	defer cancel()
	var seen topSeen
	var err error
	if seen.Figures, err = c.Figures(ctx, client.FiguresRequest{Window: client.FiguresHour}); err != nil {
		return nil, err
	}
	o := operate.New(c)
	if seen.Nodes, err = o.Nodes(ctx); err != nil {
		return nil, err
	}
	if seen.Queues, err = o.Queues(ctx); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	return &seen, nil
}

// topPause returns how long to wait before the next read. before is the pause before this one.
func topPause(before, took time.Duration, failed bool) time.Duration {
	if failed {
		return min(max(2*before, topEvery), topMost)
	}
	return min(max(topEvery, (topShare-1)*took), topMost)
}

// followTop shows what read returns until ctx is done. A failed read leaves what was shown, and says so.
func followTop(ctx context.Context, out io.Writer, read func(context.Context) (*topSeen, error)) error {
	var last *topSeen
	pause := topEvery
	for {
		began := time.Now()
		seen, err := read(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Ctrl-C is how top ends
		}
		pause = topPause(pause, time.Since(began), err != nil)
		var screen grid
		if err != nil {
			for _, line := range wrap(fmt.Sprintf("Reading has failed, trying again in %v: %s", pause.Round(time.Second), err), topWidth, 3) {
				row(&screen, line)
			}
		} else {
			last = seen
		}
		if last != nil {
			topTable(&screen, last)
		}
		if _, err := io.WriteString(out, "\x1b[H\x1b[2J"); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		if err := screen.flush(out); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// topTable writes what was seen.
func topTable(w *grid, seen *topSeen) {
	f := seen.Figures
	row(w, fmt.Sprintf("Counted until %s, from %s.", instant(f.Until), instant(f.From)))
	row(w, "SINCE", sinceOf(f.Points, 1), sinceOf(f.Points, 5), sinceOf(f.Points, len(f.Points)))
	spans := []topSpan{spanOf(f.Points, 1), spanOf(f.Points, 5), spanOf(f.Points, len(f.Points))}
	for _, line := range []struct {
		name string
		of   func(*client.FiguresCounts) int64
	}{
		{"starts", func(c *client.FiguresCounts) int64 { return c.Started }},
		{"completed", func(c *client.FiguresCounts) int64 { return c.Completed }},
		{"failed", func(c *client.FiguresCounts) int64 { return c.Failed }},
		{"cancelled", func(c *client.FiguresCounts) int64 { return c.Cancelled }},
		{"retries", func(c *client.FiguresCounts) int64 { return c.Retried }},
	} {
		cells := make([]any, 1, 1+len(spans))
		cells[0] = line.name
		for i := range spans {
			cells = append(cells, spans[i].text(line.of(&spans[i].counts)))
		}
		row(w, cells...)
	}
	if !f.LeftOut.IsZero() {
		row(w, fmt.Sprintf("More than 20,000 nodes wrote: what was before %s is left out.", instant(f.LeftOut)))
	}
	for _, owner := range f.Silent {
		row(w, fmt.Sprintf("Node %s keeps no figures, so all counts are lower bounds.", topCut(owner, topName)))
	}
	topNodes(w, seen.Nodes)
	topQueues(w, seen)
	topActivities(w, f)
	if n := len(f.Marks); n > 0 {
		row(w)
		row(w, "CHANGED", "WHAT")
		for i := n - 1; i >= max(0, n-topRows); i-- {
			at := instant(f.Marks[i].At)
			row(w, at, topCut(f.Marks[i].Text, topWidth-columnGap-len(at)))
		}
	}
}

// topCut cuts stored text to a number of columns. Its end is in the output as JSON.
func topCut(s string, columns int) string { return cut(plain(s), columns) }

// sinceOf returns when the last points begin, to the minute.
func sinceOf(points []client.FiguresPoint, last int) string {
	if len(points) == 0 {
		return "unknown"
	}
	return points[max(0, len(points)-last)].At.UTC().Format("15:04")
}

// topSpan are the counts of some points.
type topSpan struct {
	counts client.FiguresCounts
	known  bool // of some time
	part   bool // not of all of it
}

// spanOf adds up the last points.
func spanOf(points []client.FiguresPoint, last int) (s topSpan) {
	for i := max(0, len(points)-last); i < len(points); i++ {
		p := &points[i]
		s.part = s.part || p.Known != client.FiguresAll
		if c := p.Counts; c != nil {
			s.known = true
			s.counts.Started += c.Started
			s.counts.Completed += c.Completed
			s.counts.Failed += c.Failed
			s.counts.Cancelled += c.Cancelled
			s.counts.Retried += c.Retried
		}
	}
	return s
}

func (s *topSpan) text(n int64) string {
	switch {
	case !s.known:
		return "unknown"
	case s.part:
		return fmt.Sprintf("%d or more", n)
	default:
		return fmt.Sprint(n)
	}
}

func topNodes(w *grid, nodes []operate.NodeInfo) {
	row(w)
	if len(nodes) == 0 {
		row(w, "No node is listed.")
		return
	}
	row(w, "NODE", "STATE", "TURNS", "ACTIVITIES")
	for i := range nodes[:min(len(nodes), topRows)] {
		n := &nodes[i]
		turns, activities := "unknown", "unknown"
		if l := n.Load; l != nil {
			turns, activities = fmt.Sprintf("%d of %d", l.Turns, l.TurnSlots), fmt.Sprintf("%d of %d", l.Activities, l.ActivitySlots)
		}
		row(w, topCut(n.Owner, topName), n.State, turns, activities)
	}
	topMore(w, len(nodes))
}

func topQueues(w *grid, seen *topSeen) {
	row(w)
	if seen.Queues == nil {
		row(w, "What waits in queues is not known: the store does not measure it.")
		return
	}
	row(w, "QUEUE", "STATE", "WAITING", "OLDEST SINCE", "RUNNING")
	for i := range seen.Queues[:min(len(seen.Queues), topRows)] {
		q := &seen.Queues[i]
		state := "open"
		if q.Paused != nil {
			state = "paused"
		}
		row(w, topCut(q.Queue, topName), state, q.Waiting, instant(q.Oldest), q.Running)
	}
	topMore(w, len(seen.Queues))
}

func topActivities(w *grid, f *client.Figures) {
	if len(f.Activities) == 0 {
		return
	}
	row(w)
	row(w, "ACTIVITY", "DONE", "FAILED", "RETRIED", "HALF WITHIN", "99 % WITHIN")
	for i := range f.Activities[:min(len(f.Activities), topRows)] {
		act := &f.Activities[i]
		half, most := "-", "-"
		if act.Measured > 0 {
			half, most = act.P50.Round(10*time.Microsecond).String(), act.P99.Round(10*time.Microsecond).String()
		}
		row(w, topCut(act.Activity, topName), act.Completed, act.Failed, act.Retried, half, most)
	}
	topMore(w, len(f.Activities))
}

// topMore says how many rows are not shown.
func topMore(w *grid, all int) {
	if all > topRows {
		row(w, fmt.Sprintf("and %d more", all-topRows))
	}
}
