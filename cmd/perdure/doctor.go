package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// finding is one line of what doctor prints.
type finding struct {
	Rule      invariant.Rule `json:"rule"`
	ID        string         `json:"id,omitempty"`
	Key       string         `json:"key"`
	Execution int64          `json:"execution,omitempty"`
	Event     int64          `json:"event,omitempty"`
	Detail    string         `json:"detail"`
	Means     string         `json:"means"`
	Advice    string         `json:"advice"`
}

// diagnosis is the output of doctor.
type diagnosis struct {
	Findings   []finding `json:"findings"`
	Repaired   []named   `json:"repaired,omitempty"`
	Instances  int64     `json:"instances"`
	Executions int64     `json:"executions"`
	Events     int64     `json:"events"`
	Unchecked  []string  `json:"unchecked,omitempty"`
	Notes      []string  `json:"notes,omitempty"` // that are no damage
}

func newDoctor(a *app) *cobra.Command {
	var options invariant.Options
	var repair bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a database for damage",
		Long: "Doctor reads the whole database and reports damage: work that can never finish, missing or unreadable events,\n" +
			"and leftovers. It also reports schedules that cannot do their work. It can run while workers use the database,\n" +
			"and changes nothing without --repair. With --repair it first gives instances that have lost the name of their\n" +
			"orchestration that name back, from the event that started them.\n\n" +
			"The exit code is 0 without findings and 1 with findings.",
		Example: "  perdure doctor --db orders.db\n  perdure doctor --quiet -o json --db orders.db",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shown := a.newProgress(cmd, "instance")
			defer shown.end()
			var repaired []named
			if repair {
				var err error
				if repaired, err = a.repairNames(cmd.Context(), options, shown); err != nil {
					return err
				}
			}
			report, more, notes, err := a.diagnose(cmd.Context(), options, shown)
			shown.end()
			if err != nil && len(report.Findings) == 0 {
				return err
			}
			out := diagnosisOf(&report)
			out.Findings, out.Notes, out.Repaired = append(out.Findings, more...), notes, repaired
			if err := a.showLines(cmd, out, each(out.Findings), func(w *grid) { doctorTable(w, &out) }); err != nil {
				return err
			}
			if err == nil && len(out.Findings) > 0 {
				err = fmt.Errorf("%s", amount.Of(len(out.Findings), "finding"))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&options.Idle, "quiet", false, "no process uses the database: report leases that are still valid, too")
	cmd.Flags().BoolVar(&repair, "repair", false, "give instances that have lost the name of their orchestration that name back")
	return cmd
}

// diagnose checks the database that the user named, and shows how far it has come. The report holds the findings up to the error. more are
// findings on schedules.
func (a *app) diagnose(ctx context.Context, options invariant.Options, shown *progress) (report invariant.Report, more []finding, notes []string, err error) {
	db, err := a.database()
	if err != nil {
		return report, nil, nil, err
	}
	view, err := db.view(ctx, a.logger)
	if err != nil {
		return report, nil, nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	total := storedInstances(ctx, provider.FullOf(view))
	options.Progress = func(n int64) { shown.set(n, total) }
	report, err = invariant.Check(ctx, provider.FullOf(view), options)
	if err != nil && ctx.Err() == nil {
		err = &storeError{fmt.Errorf("%w; the check ended early: %s", err, db.salvage())}
	}
	if err == nil {
		if f, ok := db.(file); ok {
			notes = linkNotes(f)
		}
		notes = append(notes, unservedNotes(ctx, provider.FullOf(view))...)
		notes = append(notes, growingNotes(ctx, provider.FullOf(view))...)
		more, err = a.scheduleFindings(ctx, view)
	}
	return report, more, notes, err
}

// storedInstances returns how many instances a store has, 0 if it cannot tell.
func storedInstances(ctx context.Context, store *provider.Full) (n int64) {
	stats, err := store.Stats(ctx, provider.StatsRequest{})
	if err != nil {
		return 0
	}
	for _, some := range stats.Instances {
		n += some
	}
	return n
}

// linkNotes says that a file has several names. Each has a log of its own.
func linkNotes(f file) []string {
	n := sqlite.Links(string(f))
	if n < 2 {
		return nil
	}
	return []string{fmt.Sprintf("the file has %d names (hard links): always open it by the same one, because each name has a log of its own", n)}
}

// growingNotes says that the store only grows. A store that cannot tell has none.
func growingNotes(ctx context.Context, store *provider.Full) []string {
	stats, err := store.Stats(ctx, provider.StatsRequest{})
	if err != nil {
		return nil
	}
	n, err := retention.Growing(ctx, store, stats.Instances)
	if err != nil || n == 0 {
		return nil
	}
	have := "have"
	if n == 1 {
		have = "has"
	}
	return []string{fmt.Sprintf("%s %s ended, and nothing removes them: set rules with 'perdure retention set'", amount.Of(n, "instance"), have)}
}

// unservedNotes names versions that instances run and no node has registered. They are no damage: a node with the version helps. A store that
// cannot tell has none.
func unservedNotes(ctx context.Context, store *provider.Full) (notes []string) {
	stats, err := store.Stats(ctx, provider.StatsRequest{Running: true})
	if err != nil {
		return nil
	}
	nodes, now, err := upgrade.Nodes(ctx, store)
	if err != nil {
		return nil
	}
	for _, u := range upgrade.Uses(nodes, now, stats.Running) {
		if u.Unserved {
			notes = append(notes, fmt.Sprintf("no node has version %q of %s, which %s: run a node with it, or move them",
				u.CodeVersion, u.Name, runs(u.Running)))
		}
	}
	return notes
}

func runs(n int64) string {
	if n == 1 {
		return "1 instance runs"
	}
	return amount.Of(n, "instance") + " run"
}

func diagnosisOf(r *invariant.Report) diagnosis {
	out := diagnosis{
		Findings: []finding{}, Instances: r.Instances, Executions: r.Executions, Events: r.Events, Unchecked: r.Skipped,
	}
	for _, f := range r.Findings {
		advice := adviceOn[f.Rule]
		out.Findings = append(out.Findings, finding{
			Rule: f.Rule, ID: f.InstanceID, Key: f.Key.String(), Execution: f.Execution, Event: f.EventID, Detail: f.Detail,
			Means: advice.means, Advice: advice.do,
		})
	}
	return out
}

func doctorTable(w *grid, d *diagnosis) {
	for _, r := range d.Repaired {
		row(w, fmt.Sprintf("repaired: %s is an instance of %s again", r.ID, r.Name))
	}
	if len(d.Findings) > 0 {
		row(w, "RULE", "INSTANCE", "EXECUTION", "EVENT", "DETAIL")
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		row(w, f.Rule, nameOf(f), number(f.Execution), number(f.Event), f.Detail)
	}
	explained := map[invariant.Rule]bool{}
	for i := range d.Findings {
		f := &d.Findings[i]
		if !explained[f.Rule] {
			row(w)
			row(w, fmt.Sprintf("%s: %s.", f.Rule, f.Means))
			row(w, fmt.Sprintf("Advice: %s.", f.Advice))
		}
		explained[f.Rule] = true
	}
	if len(d.Findings) > 0 {
		row(w)
	}
	for _, u := range d.Unchecked {
		row(w, "not checked: "+u)
	}
	for _, n := range d.Notes {
		row(w, "note: "+n)
	}
	row(w, fmt.Sprintf("checked %s, %s, %s: %s", amount.Of(d.Instances, "instance"), amount.Of(d.Executions, "execution"),
		amount.Of(d.Events, "event"), amount.Of(len(d.Findings), "finding")))
}

// nameOf returns the ID, or the key if the ID is not known.
func nameOf(f *finding) string {
	if f.ID == "" {
		return f.Key
	}
	return f.ID
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
