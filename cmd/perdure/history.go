package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// events is the output of history.
type events struct {
	ID     string                `json:"id"`
	Events []client.HistoryEvent `json:"events"`
}

// historyFlags are the flags of history.
type historyFlags struct {
	historyRange client.HistoryRange
	last         int
	follow       bool
	across       bool
	compact      bool
	export       string
	sample       int
	name         string // of the orchestration
	redact       string
}

func newHistory(a *app) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history [ID]",
		Short: "Print the events of an instance",
		Long: "History prints the events of an execution of an instance. --compact prints an activity, timer, child or update and its end\n" +
			"as one line. --follow goes on with each event as it is stored, until the execution is over.\n\n" +
			"With --export it writes the events to a file, which the replay check of your service reads. The file has payloads, as\n" +
			"the database does: only its owner may read it. --sample 50 in place of the ID exports the histories of up to 50\n" +
			"instances, of as many orchestrations, versions and statuses as it finds among the newest 10,000. --redact gives each\n" +
			"payload and each text of an error, as a line of JSON with the fields event, kind, field and value, to a command of\n" +
			"the shell, which prints a line with the new value for each.",
		Example: "  perdure history order-42 --compact --db orders.db\n  perdure history order-42 --last 20 --db orders.db\n" +
			"  perdure history order-42 --follow --failed -o jsonl --db orders.db\n" +
			"  perdure history order-42 --export order-42.history --db orders.db\n" +
			"  perdure history --sample 50 --export shop.history --redact ./redact.sh --db orders.db",
		Args: arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args, a.output); err != nil {
			return err
		}
		return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if f.sample > 0 {
				return a.exportSample(ctx, cmd, c, &f)
			}
			h, err := instanceOf(ctx, c, args[0], *byKey)
			switch {
			case err != nil:
				return err
			case f.export != "":
				return a.exportHistory(ctx, cmd, h, &f)
			case f.follow:
				return a.followHistory(ctx, cmd, h, &f)
			}
			list, err := f.read(ctx, h)
			if err != nil {
				return err
			}
			return a.showHistory(ctx, cmd, h, list, f.compact)
		})
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.historyRange.Execution, "execution", 0, "number of the execution, from 1 (default: the current one)")
	flags.Int64Var(&f.historyRange.From, "from", 1, "first event")
	flags.Int64Var(&f.historyRange.To, "to", 0, "last event (default: the end)")
	flags.IntVar(&f.last, "last", 0, "only so many events, the last ones (default: all)")
	flags.StringSliceVar(&f.historyRange.Kinds, "kind", nil, "only events of this kind, such as ActivityFailed; repeatable")
	flags.BoolVar(&f.historyRange.Failed, "failed", false, "only events that hold a failure")
	flags.BoolVar(&f.compact, "compact", false, "print an activity, timer, child or update and its end as one line")
	flags.BoolVar(&f.follow, "follow", false, "go on with each event as it is stored, until the execution is over")
	flags.BoolVar(&f.across, "across", false, "with --follow: go on with the next execution, until the instance has ended")
	flags.StringVar(&f.export, "export", "", "write the history to this file in place of printing it")
	flags.IntVar(&f.sample, "sample", 0, "with --export, without an ID: the histories of up to so many instances")
	flags.StringVar(&f.name, "orchestration", "", "with --sample: only of this orchestration (default: all)")
	flags.StringVar(&f.redact, "redact", "", "with --export: a command of the shell that replaces payloads")
	return cmd
}

// check refuses flags that do not fit together.
func (f *historyFlags) check(cmd *cobra.Command, args []string, output string) error {
	changed := cmd.Flags().Changed
	part := changed("last") || changed("to") || f.compact
	for flag, length := range map[string]int{
		"export": len(f.export), "kind": len(f.historyRange.Kinds), "orchestration": len(f.name), "redact": len(f.redact),
	} {
		if err := notEmpty(cmd, flag, length); err != nil {
			return err
		}
	}
	switch {
	case changed("last") && f.last < 1:
		return badUsage("flag --last is %d: it must be 1 or more", f.last)
	case f.historyRange.From < 1:
		return badUsage("flag --from is %d: it must be 1 or more", f.historyRange.From)
	case f.export != "" && (part || f.follow || f.historyRange.Failed || changed("kind") || changed("from")):
		return badUsage("flag --export writes the whole history: leave out the flags that choose events")
	}
	if err := f.checkSample(cmd, args); err != nil {
		return err
	}
	return f.checkFollow(output, part)
}

// checkSample refuses flags that do not fit to --sample and --redact.
func (f *historyFlags) checkSample(cmd *cobra.Command, args []string) error {
	changed := cmd.Flags().Changed
	switch sampled := changed("sample"); {
	case !sampled && len(args) == 0:
		return badUsage("argument ID is missing: the command is 'perdure history ID', or 'perdure history --sample N --export FILE'")
	case !sampled && f.name != "":
		return badUsage("flag --orchestration without --sample: the ID names the instance")
	case f.redact != "" && f.export == "":
		return badUsage("flag --redact without --export: give both")
	case !sampled:
		return nil
	case f.sample < 1 || f.sample > maxSampled:
		return badUsage("flag --sample is %d: it must be from 1 to %d", f.sample, maxSampled)
	case f.export == "":
		return badUsage("flag --sample without --export: give the file that it writes")
	case len(args) > 0 || changed("key") || changed("execution"):
		return badUsage("flag --sample with an ID, --key or --execution: it chooses instances itself, and takes their current execution")
	}
	return nil
}

// checkFollow refuses flags that do not fit to --follow. part says that others choose a part of the history.
func (f *historyFlags) checkFollow(output string, part bool) error {
	switch {
	case f.across && !f.follow:
		return badUsage("flag --across without --follow: give both")
	case f.follow && part:
		return badUsage("flag --follow with --last, --to or --compact: leave one out; --from begins later")
	case f.follow && output == outputJSON:
		return badUsage("flag --follow with -o json: use -o jsonl, which prints each event at once")
	}
	return nil
}

// read reads the events that the flags choose, in order.
func (f *historyFlags) read(ctx context.Context, h client.Handle[json.RawMessage]) ([]client.HistoryEvent, error) {
	const page = 1_000
	list, wanted := []client.HistoryEvent{}, f.historyRange
	wanted.Newest = f.last > 0
	for {
		if wanted.Max = page; wanted.Newest {
			wanted.Max = min(page, f.last-len(list))
		}
		got, err := h.HistoryPage(ctx, wanted)
		if err != nil {
			return nil, err
		}
		list = append(list, got.Events...)
		if !got.More || wanted.Newest && len(list) == f.last {
			break
		}
		if wanted.Execution = got.Execution; wanted.Newest {
			wanted.To = got.Next
		} else {
			wanted.From = got.Next
		}
	}
	if wanted.Newest {
		slices.Reverse(list)
	}
	return list, nil
}

// showHistory prints events in order, or the steps that they are.
func (a *app) showHistory(
	ctx context.Context, cmd *cobra.Command, h client.Handle[json.RawMessage], list []client.HistoryEvent, compact bool,
) error {
	if !compact {
		out := events{ID: h.ID(), Events: list}
		return a.showLines(cmd, out, each(list), func(w *grid) { historyTable(w, list) })
	}
	steps, err := h.Steps(ctx, list)
	if err != nil {
		return err
	}
	out := struct {
		ID    string               `json:"id"`
		Steps []client.HistoryStep `json:"steps"`
	}{h.ID(), steps}
	return a.showLines(cmd, out, each(steps), func(w *grid) { compactTable(w, steps) })
}

// followHistory prints events as they are stored. Columns have fixed widths, since no table can wait for its last row.
func (a *app) followHistory(ctx context.Context, cmd *cobra.Command, h client.Handle[json.RawMessage], f *historyFlags) error {
	r := f.historyRange
	wanted := client.HistoryFollow{Execution: r.Execution, From: r.From, Kinds: r.Kinds, Failed: r.Failed, Across: f.across}
	say, execution := newEventDescriber(eventLimit), int64(0)
	for e, err := range h.FollowHistory(ctx, wanted) {
		if err != nil {
			return err
		}
		if a.output == outputJSONL {
			if err := writeLine(cmd.OutOrStdout(), e); err != nil {
				return err
			}
			continue
		}
		if execution != 0 && e.Execution != execution {
			say = newEventDescriber(eventLimit)
			fmt.Fprintf(cmd.OutOrStdout(), "execution %d\n", e.Execution)
		}
		execution = e.Execution
		line := fmt.Sprintf("%-5d  %s  %-23s  %s", e.ID, millis(e.Time), e.Kind, say.text(&e))
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(plain(line), " ")); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
