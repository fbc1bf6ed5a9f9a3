package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
)

// deleted is the output of delete and prune.
type deleted struct {
	ID        string `json:"id,omitempty"`
	Action    string `json:"action"`
	Instances int64  `json:"instances"`
	More      bool   `json:"more,omitempty"` // the limit ended it
}

// trimmed is the output of trim.
type trimmed struct {
	Action     string `json:"action"`
	Executions int64  `json:"executions"`
}

func newDelete(a *app) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete an instance and its children for good",
		Long: "Delete removes the instance with its history, its dead letters and all children below it. A running instance stays\n" +
			"unless --force is given: prefer 'perdure cancel' or 'perdure terminate' first. The ID can be used again afterwards.",
		Example: "  perdure delete order-42 --yes --db orders.db",
		Args:    arguments,
	}
	yes := yesFlag(cmd)
	byKey := keyFlag(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "delete it also while it, or a child below it, is running")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.confirm(cmd, *yes, fmt.Sprintf("delete %s, its children and their histories for good", args[0])); err != nil {
			return err
		}
		var opts []client.DeleteOption
		if force {
			opts = append(opts, client.Force())
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			var n int64
			id, err := actOn(ctx, c, args[0], *byKey,
				func(id string) (err error) { n, err = c.Delete(ctx, id, opts...); return err },
				func(h client.Handle[json.RawMessage]) (err error) { n, err = h.Delete(ctx, opts...); return err })
			if err != nil {
				return err
			}
			out := deleted{ID: id, Action: "delete", Instances: n}
			return a.show(cmd, out, func(w *grid) {
				fmt.Fprintf(w, "deleted %s: %s\n", plain(out.ID), amount.Of(n, "instance"))
			})
		})
	}
	return cmd
}

func newPrune(a *app) *cobra.Command {
	var p operate.Pruning
	var statuses []string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete instances that ended long ago",
		Long: "Prune deletes instances that ended at least --older-than ago, with their children and histories. A repeated start\n" +
			"under the ID of a pruned instance starts it anew, so --older-than is at least 24h unless --young is given.\n" +
			"See 'perdure retention' for rules that do this by themselves.",
		Example: "  perdure prune --older-than 720h --status completed --preview --db orders.db\n" +
			"  perdure prune --older-than 720h --status completed --yes --db orders.db",
		Args: arguments,
	}
	yes := yesFlag(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&p.Age, "older-than", 0, "time since the end, such as 720h; required")
	flags.BoolVar(&p.Young, "young", false, "allow less than 24h")
	flags.StringSliceVar(&p.Names, "name", nil, "only of these orchestrations")
	flags.StringSliceVar(&p.ExceptNames, "except-name", nil, "not of these orchestrations")
	flags.StringSliceVar(&statuses, "status", nil, "only with these statuses: completed, failed, cancelled, terminated")
	flags.Int64Var(&p.Limit, "limit", 0, "stop after so many instances; 0 is no limit")
	flags.BoolVar(&p.Preview, "preview", false, "only count the instances that would be deleted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("older-than") {
			return badUsage("flag --older-than is missing: give the time since the end, such as 720h")
		}
		list, err := parseStatuses(statuses)
		if err != nil {
			return err
		}
		p.Statuses = list
		if p.Age < operate.MinPruneAge && p.Age >= 0 && !p.Young {
			return badUsage("flag --older-than is %v: give 24h or more, within which a repeated start must find its instance, or add --young", p.Age)
		}
		if p.Preview {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error { return a.prune(ctx, cmd, c, p) })
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			what := ""
			if !*yes {
				if what, err = a.prunable(ctx, c, p); err != nil {
					return err
				}
			}
			if err := a.confirm(cmd, *yes, what); err != nil { //nolint:contextcheck // it takes that of cmd, which is ctx
				return err
			}
			return a.prune(ctx, cmd, c, p)
		})
	}
	return cmd
}

// prunable says what a prune would delete now.
func (a *app) prunable(ctx context.Context, c *client.Client, p operate.Pruning) (string, error) {
	n, err := operate.New(c).PreviewPrune(ctx, p)
	what := fmt.Sprintf("delete %s that ended %s ago or earlier for good", ofPreview(n, "instance"), amount.Span(p.Age))
	if p.Limit > 0 && (n.Count > p.Limit || !n.Exact) {
		what = fmt.Sprintf("delete about %d at most, of %s that ended %s ago or earlier, for good", p.Limit, ofPreview(n, "instance"), amount.Span(p.Age))
	}
	return what, err
}

// ofPreview returns a count of what would go with its noun.
func ofPreview(n client.Counted, noun string) string {
	switch {
	case n.Exact:
		return amount.Of(n.Count, noun)
	case n.Count == 0:
		return "an unknown number of " + amount.Noun(0, noun)
	default:
		return "at least " + amount.Of(n.Count, noun)
	}
}

// prune shows how far it has come.
func (a *app) prune(ctx context.Context, cmd *cobra.Command, c *client.Client, p operate.Pruning) error {
	shown := a.newProgress(cmd, "instance")
	p.Progress = func(n int64) { shown.set(n, 0) }
	done, err := operate.New(c).Prune(ctx, p)
	shown.end()
	if err != nil && done.Instances > 0 {
		err = fmt.Errorf("after %s: %w", amount.Of(done.Instances, "instance"), err)
	}
	if err != nil {
		return err
	}
	out := deleted{Action: "prune", Instances: done.Instances, More: done.Cursor != ""}
	more := ""
	if out.More {
		more = "; the limit ended it, and there may be more"
	}
	if p.Preview {
		out.Action = "preview"
		return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "%s would be deleted%s\n", amount.Of(out.Instances, "instance"), more) })
	}
	return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "deleted %s%s\n", amount.Of(out.Instances, "instance"), more) })
}

func newTrim(a *app) *cobra.Command {
	var t operate.Trimming
	cmd := &cobra.Command{
		Use:   "trim",
		Short: "Delete old executions of instances that go on",
		Long: "Trim deletes executions that their instances left at least --older-than ago by continuing as new or by a reset, with\n" +
			"their histories. The last --keep of each instance stay. The instances go on.",
		Example: "  perdure trim --older-than 168h --keep 5 --preview --db orders.db\n  perdure trim --older-than 168h --keep 5 --yes --db orders.db",
		Args:    arguments,
	}
	yes := yesFlag(cmd)
	cmd.Flags().DurationVar(&t.Age, "older-than", 24*time.Hour, "time since the next execution began")
	cmd.Flags().IntVar(&t.Keep, "keep", 1, "how many executions before the current one stay")
	cmd.Flags().BoolVar(&t.Preview, "preview", false, "only count the executions that would be deleted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if t.Preview {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error { return a.trim(ctx, cmd, c, t) })
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			what := ""
			if !*yes {
				n, err := operate.New(c).PreviewTrim(ctx, t)
				if err != nil {
					return err
				}
				what = fmt.Sprintf("delete %s that instances left %s ago or earlier, with their histories, for good", ofPreview(n, "execution"), amount.Span(t.Age))
			}
			if err := a.confirm(cmd, *yes, what); err != nil { //nolint:contextcheck // it takes that of cmd, which is ctx
				return err
			}
			return a.trim(ctx, cmd, c, t)
		})
	}
	return cmd
}

// trim shows how far it has come.
func (a *app) trim(ctx context.Context, cmd *cobra.Command, c *client.Client, t operate.Trimming) error {
	shown := a.newProgress(cmd, "execution")
	t.Progress = func(n int64) { shown.set(n, 0) }
	done, err := operate.New(c).Trim(ctx, t)
	shown.end()
	if err != nil {
		return err
	}
	out, text := trimmed{Action: "trim", Executions: done.Executions}, "deleted %s\n"
	if t.Preview {
		out.Action, text = "preview", "%s would be deleted\n"
	}
	return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, text, amount.Of(out.Executions, "execution")) })
}

func newCompact(a *app) *cobra.Command {
	var k operate.Compaction
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Give free space of a SQLite file back to the disk",
		Long: "Compact gives back the space of what was deleted, in small steps beside other work. A file that an older release\n" +
			"created needs --rebuild once: it writes the file anew, so stop the nodes first, and have as much free space again on\n" +
			"the disk. Postgres needs neither: autovacuum uses the space again.",
		Example: "  perdure compact --db orders.db",
		Args:    arguments,
	}
	cmd.Flags().BoolVar(&k.Rebuild, "rebuild", false, "write the file anew; other processes wait until that is done")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			space, err := operate.New(c).Compact(ctx, k)
			if err != nil {
				return err
			}
			return a.show(cmd, space, func(w *grid) {
				fmt.Fprintf(w, "freed %s; the store has %s, %s of them free\n", mebibytes(space.Freed), mebibytes(space.Size), mebibytes(space.Free))
				if space.Fixed {
					fmt.Fprintln(w, "an older release created this file: it can give space back only with --rebuild")
				}
			})
		})
	}
	return cmd
}

// mebibytes shows bytes for people.
func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
