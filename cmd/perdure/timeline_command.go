package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/timeline"
)

const (
	// defaultWidth is that of an output whose width is not known. Narrower ones than minWidth are cut by the terminal.
	defaultWidth, minWidth = 80, 30
	// maxTimelineEvents bounds what timeline reads.
	maxTimelineEvents = 50_000
)

// timelineFlags are the flags of timeline.
type timelineFlags struct {
	execution int64
	events    int64
	rows      int
	width     int
	unfold    bool
}

func newTimelineOf(a *app) *cobra.Command {
	var f timelineFlags
	cmd := &cobra.Command{
		Use:   "timeline ID",
		Short: "Draw an execution of an instance over time",
		Long: "Timeline draws an execution from its first event to now, or to its end: activities with their attempts and the pauses\n" +
			"between these, timers, children, updates, and what the instance waits for. Steps of one name that follow each other are\n" +
			"one row; --unfold shows some of them, open and failed ones first. Of a history that is longer than --events it reads\n" +
			"both ends, and says what it has not read. What the database does not keep is shown as '?'.",
		Example: "  perdure timeline order-42 --db orders.db\n  perdure timeline order-42 --execution 3 --unfold --db orders.db\n" +
			"  perdure timeline order-42 -o json --db orders.db",
		Args: arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			h, err := instanceOf(ctx, c, args[0], *byKey)
			if err != nil {
				return err
			}
			d, err := h.Describe(ctx)
			if err != nil {
				return err
			}
			src, err := timeline.Read(ctx, h, d, f.execution, f.events)
			if err != nil {
				return err
			}
			line := timeline.New(&src, timeline.Options{MaxRows: f.rows})
			if a.output != outputTable {
				return a.show(cmd, line, nil)
			}
			return drawTimeline(cmd.OutOrStdout(), line, f.columns(cmd.OutOrStdout()), f.unfold)
		})
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.execution, "execution", 0, "number of the execution, from 1 (default: the current one)")
	flags.Int64Var(&f.events, "events", 10_000, "events to read at most, from both ends of the history, up to 50000")
	flags.IntVar(&f.rows, "rows", 200, "rows to print at most, without those of --unfold, from 10 to 1000")
	flags.BoolVar(&f.unfold, "unfold", false, "print some steps of each row that stands for several, at most ten of each and a hundred in all")
	flags.IntVar(&f.width, "width", 0, "columns to draw in, 30 or more (default: those of the terminal, or 80)")
	return cmd
}

func (f *timelineFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("execution") && f.execution < 1:
		return badUsage("flag --execution is %d: it must be 1 or more", f.execution)
	case f.events < 2 || f.events > maxTimelineEvents:
		return badUsage("flag --events is %d: it must be from 2 to %d", f.events, maxTimelineEvents)
	case f.rows < 10 || f.rows > 1000:
		return badUsage("flag --rows is %d: it must be from 10 to 1000", f.rows)
	case changed("width") && f.width < minWidth:
		return badUsage("flag --width is %d: it must be %d or more", f.width, minWidth)
	}
	return nil
}

// columns returns the width to draw in.
func (f *timelineFlags) columns(out io.Writer) int {
	return max(minWidth, cmp.Or(f.width, terminalWidth(out), defaultWidth))
}
