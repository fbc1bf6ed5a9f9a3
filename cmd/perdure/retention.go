package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
)

func newRetention(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Set and show what the store removes by itself",
		Long: "Retention removes ended instances and old executions by rules, once an hour, on any node. It is off until rules are\n" +
			"set, here or in the code of the service.",
	}
	cmd.AddCommand(newRetentionSet(a), newRetentionPreview(a), newRetentionShow(a), newRetentionRun(a))
	return cmd
}

// retentionFlags are the flags of retention set.
type retentionFlags struct {
	rules    []string
	file     string
	trim     time.Duration
	keep     int
	audit    time.Duration
	rate     float64
	off, yes bool
}

func newRetentionSet(a *app) *cobra.Command {
	var f retentionFlags
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Set the rules, in place of those before",
		Long: "Set stores rules. Each --rule is AGE, or NAME=AGE for the orchestration NAME, or NAME:STATUS=AGE or :STATUS=AGE. An\n" +
			"instance falls under the first rule that matches it. AGE is at least 24h, or 'forever'. Instances without a rule stay.",
		Example: "  perdure retention set --rule Checkout=168h --rule :failed=2160h --rule 720h --trim 168h --yes --db orders.db",
		Args:    arguments,
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.Float64Var(&f.rate, "rate", 0, "most instances to remove in a second; 0: 200")
	flags.BoolVar(&f.off, "off", false, "remove nothing any more")
	flags.BoolVar(&f.yes, "yes", false, "do it without asking; needed where there is no terminal to ask on")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := f.retention(cmd)
		if err != nil {
			return err
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if !f.off && !f.yes {
				what, err := retentionWould(ctx, c, r)
				if err != nil {
					return err
				}
				if err := a.confirm(cmd, false, what); err != nil { //nolint:contextcheck // it takes that of cmd, which is ctx
					return err
				}
			}
			if err := operate.New(c).SetRetention(ctx, r); err != nil {
				return err
			}
			return a.showRetention(ctx, cmd, c)
		})
	}
	return cmd
}

// retentionWould says what rules would let the store delete.
func retentionWould(ctx context.Context, c *client.Client, r operate.Retention) (string, error) {
	p, err := operate.New(c).PreviewRetention(ctx, r)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("let the store delete what the rules do not keep, for good: now %s, %s and %s", ofPreview(p.Instances(), "instance"),
		ofPreview(p.Executions, "old execution"), ofPreview(p.Records, "audit record")), nil
}

// add adds the flags that say what stays.
func (f *retentionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.rules, "rule", nil, "how long ended instances stay; repeatable, the first that matches counts")
	flags.StringVar(&f.file, "rules", "", "the rules as JSON, as 'retention show -o json' prints them; @file or -")
	flags.DurationVar(&f.trim, "trim", 0, "how long old executions of instances that continue as new stay; 0: for ever")
	flags.IntVar(&f.keep, "keep", 1, "how many executions before the current one stay")
	flags.DurationVar(&f.audit, "audit", 0, "how long audit records stay; 0: for ever")
}

func newRetentionPreview(a *app) *cobra.Command {
	var f retentionFlags
	cmd := &cobra.Command{
		Use:   "preview",
		Short: "Count what the rules would delete now",
		Long: "Preview counts what a round would delete if it began now, by the given rules, or by those that are set. It deletes\n" +
			"nothing. It counts each up to 10,000, for about three seconds. What an earlier rule matches is not counted again.",
		Example: "  perdure retention preview --rule Checkout=168h --rule 720h --db orders.db\n  perdure retention preview --db orders.db",
		Args:    arguments,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := slices.ContainsFunc([]string{"rule", "rules", "trim", "keep", "audit"}, cmd.Flags().Changed)
		var r operate.Retention
		if given {
			var err error
			if r, err = f.retention(cmd); err != nil {
				return err
			}
		}
		return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			o := operate.New(c)
			if !given {
				info, err := o.Retention(ctx)
				if err != nil {
					return err
				}
				r = info.Retention
			}
			p, err := o.PreviewRetention(ctx, r)
			if err != nil {
				return err
			}
			return a.show(cmd, p, func(w *grid) { previewTable(w, &r, &p) })
		})
	}
	return cmd
}

// previewTable shows what rules would delete.
func previewTable(w *grid, r *operate.Retention, p *operate.RetentionPreview) {
	if r.Off() {
		fmt.Fprintln(w, "there are no rules: nothing is removed")
		return
	}
	row(w, "ORCHESTRATIONS", "STATUSES", "STAY", "WOULD GO NOW")
	for i := range r.Rules {
		rule := &r.Rules[i]
		row(w, allOr(strings.Join(rule.Names, ",")), allOr(joined(rule.Statuses)), stay(rule.Age), ofPreview(p.Rules[i], "instance"))
	}
	if len(r.Rules) > 0 {
		row(w, "ended schedules and bulk jobs", "all", "720h", ofPreview(p.Own, "instance"))
	}
	if r.Trim != nil {
		row(w, "old executions, also of instances above", fmt.Sprintf("all but the last %d", max(r.Trim.Keep, 1)), stay(r.Trim.Age),
			ofPreview(p.Executions, "execution"))
	}
	if r.Audit > 0 {
		row(w, "audit records", "all", stay(r.Audit), ofPreview(p.Records, "audit record"))
	}
}

// retention returns what the flags say.
func (f *retentionFlags) retention(cmd *cobra.Command) (r operate.Retention, err error) {
	given := len(f.rules) > 0 || f.file != "" || f.trim != 0 || f.audit != 0
	switch {
	case f.off && given:
		return r, badUsage("flag --off goes alone: leave out the rules")
	case f.off:
		return r, nil
	case !given && cmd.Flags().Lookup("off") == nil:
		return r, badUsage("there are no rules: give --rule, --rules, --trim or --audit, or none of the flags for the rules that are set")
	case !given:
		return r, badUsage("there are no rules: give --rule, --rules, --trim or --audit, or --off")
	case f.trim == 0 && cmd.Flags().Changed("keep"):
		return r, badUsage("flag --keep is for --trim: give that, too")
	case f.file != "":
		text, err := readJSON(cmd, "rules", f.file)
		if err != nil {
			return r, err
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return r, badUsage("flag --rules: %v: give what 'perdure retention show -o json' prints", err)
		}
		return r, nil
	}
	for _, text := range f.rules {
		rule, err := operate.ParseRetentionRule(text)
		if err != nil {
			return r, badUsage("flag --rule: %v", err)
		}
		r.Rules = append(r.Rules, rule)
	}
	if f.trim != 0 {
		r.Trim = &operate.TrimRule{Age: f.trim, Keep: f.keep}
	}
	r.Audit, r.Rate = f.audit, f.rate
	return r, nil
}

func newRetentionShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the rules and the last round",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error { return a.showRetention(ctx, cmd, c) })
		},
	}
}

func (a *app) showRetention(ctx context.Context, cmd *cobra.Command, c *client.Client) error {
	info, err := operate.New(c).Retention(ctx)
	if err != nil {
		return err
	}
	return a.show(cmd, info, func(w *grid) { retentionTable(w, &info) })
}

func retentionTable(w *grid, info *operate.RetentionInfo) {
	if !info.On {
		fmt.Fprintln(w, "retention is off: nothing is removed")
		return
	}
	row(w, "ORCHESTRATIONS", "STATUSES", "STAY")
	for i := range info.Rules {
		r := &info.Rules[i]
		row(w, allOr(strings.Join(r.Names, ",")), allOr(joined(r.Statuses)), stay(r.Age))
	}
	if info.Trim != nil {
		row(w, "old executions", fmt.Sprintf("all but the last %d", info.Trim.Keep), stay(info.Trim.Age))
	}
	if info.Audit > 0 {
		row(w, "audit records", "all", stay(info.Audit))
	}
	fmt.Fprintln(w)
	switch {
	case info.Rounds == 0 && info.Problem != "":
		fmt.Fprintln(w, plain(info.Problem))
		return
	case info.Rounds == 0:
		fmt.Fprintln(w, "no round has begun since the rules were set: a node has to run")
		return
	}
	last := "last round"
	if info.EndedAt.IsZero() {
		last = "a round goes on, which began"
	}
	fmt.Fprintf(w, "%s at %s: removed %s and %s, freed %s\n", last, instant(info.BeganAt), amount.Of(info.Instances, "instance"),
		amount.Of(info.Executions, "execution"), mebibytes(info.Freed))
	if info.Problem != "" {
		fmt.Fprintf(w, "it ended early: %s\n", plain(info.Problem))
	}
}

func allOr(text string) string {
	if text == "" {
		return "all others"
	}
	return plain(text)
}

func joined(list []client.Status) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, ",")
}

func stay(age time.Duration) string {
	if age == orchestration.Off {
		return "for ever"
	}
	return amount.Span(age)
}

func newRetentionRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Begin a round now",
		Long:  "Run asks for a round and does not wait for it: see 'perdure retention show'. A node has to run.",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := operate.New(c).RunRetention(ctx); err != nil {
					return err
				}
				return a.show(cmd, steered{Action: "retention"}, func(w *grid) { fmt.Fprintln(w, "a round was asked for") })
			})
		},
	}
}
