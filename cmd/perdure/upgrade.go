package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// upgradeStatus is the output of upgrade status.
type upgradeStatus struct {
	Level     int64          `json:"level"`    // that new executions may use
	Recorded  bool           `json:"recorded"` // false: the store has no record, so it counts as one of the releases before
	Binary    int64          `json:"binary"`   // the level of this program
	Release   string         `json:"release"`  // of this program
	Nodes     []nodeStatus   `json:"nodes"`
	Unknown   []string       `json:"unknown,omitempty"`  // lease owners that are not in the list
	Unchecked string         `json:"unlooked,omitempty"` // why there may be more of them
	Running   []runningLevel `json:"running"`
	Cut       bool           `json:"cut,omitempty"` // there are more running instances than were counted
}

type nodeStatus struct {
	Owner          string    `json:"owner"`
	Release        string    `json:"release"`
	Level          int64     `json:"level"`
	Orchestrations int       `json:"orchestrations"`
	Above          int64     `json:"above"` // running instances that it cannot run
	StartedAt      time.Time `json:"startedAt"`
	RenewedAt      time.Time `json:"renewedAt"`
}

type runningLevel struct {
	Level     int64 `json:"level"`
	Instances int64 `json:"instances"`
}

// upgradeFinished is the output of upgrade --finish.
type upgradeFinished struct {
	Before  int64 `json:"before"`
	Level   int64 `json:"level"`
	Changed bool  `json:"changed"` // false: it was finished before
}

func newUpgrade(a *app) *cobra.Command {
	finish, force := false, false
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Show or finish the upgrade of a database to a newer release",
		Long: "Nodes of two releases can share a database. New executions use only what the database allows, so that nodes of\n" +
			"the release before can run them. Upgrade --finish raises what the database allows to the level of this program.\n" +
			"Run it when all nodes have the new release, and when there is no way back to the release before.\n\n" +
			"It refuses while a node of an older release may be at work, and names it. A node that was killed counts for an\n" +
			"hour. --force raises the level in any case: an older node then leaves newer instances to newer nodes.",
		Example: "  perdure upgrade status --db orders.db\n  perdure upgrade --finish --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case finish:
				return a.finishUpgrade(cmd, force)
			case force:
				return badUsage("flag --force without --finish: give both")
			}
			if a.named() == "" {
				return cmd.Help()
			}
			return a.upgradeStatus(cmd)
		},
	}
	cmd.Flags().BoolVar(&finish, "finish", false, "allow new executions what this release brought")
	cmd.Flags().BoolVar(&force, "force", false, "finish although a node of an older release may be at work")
	cmd.AddCommand(&cobra.Command{
		Use:   "status",
		Short: "Show the level of a database, its nodes and what they cannot run",
		Long: "Status shows the level that the database allows to new executions, and the nodes with their releases and levels.\n" +
			"A node leaves instances above its level to newer nodes: they wait until one runs.",
		Args: arguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.upgradeStatus(cmd) },
	})
	return cmd
}

func (a *app) upgradeStatus(cmd *cobra.Command) error {
	return a.withStore(cmd.Context(), database.read, func(ctx context.Context, store provider.Provider) error {
		s, err := upgrade.ReadStatus(ctx, provider.FullOf(store))
		if err != nil {
			return err
		}
		out := upgradeStatusOf(&s)
		return a.show(cmd, out, func(w *grid) { upgradeTable(w, &out) })
	})
}

func (a *app) finishUpgrade(cmd *cobra.Command, force bool) error {
	return a.withStore(cmd.Context(), database.open, func(ctx context.Context, store provider.Provider) error {
		before, changed, err := upgrade.Finish(ctx, provider.FullOf(store), replay.EngineLevel, force)
		if errors.Is(err, upgrade.ErrOlder) {
			return fmt.Errorf("finishing the upgrade to level %d: %w: upgrade or stop it first, or add --force", replay.EngineLevel, err)
		}
		if err != nil {
			return fmt.Errorf("finishing the upgrade: %w", err)
		}
		out := upgradeFinished{Before: before, Level: max(before, replay.EngineLevel), Changed: changed}
		return a.show(cmd, out, func(w *grid) {
			if !out.Changed {
				fmt.Fprintf(w, "the database allows level %d already\n", out.Level)
				return
			}
			fmt.Fprintf(w, "the database allows level %d now, level %d before\n", out.Level, out.Before)
		})
	})
}

func upgradeStatusOf(s *upgrade.Status) upgradeStatus {
	out := upgradeStatus{
		Level: s.Allowed, Recorded: s.Recorded, Binary: replay.EngineLevel, Release: upgrade.Release(),
		Nodes: []nodeStatus{}, Unknown: s.Unknown, Unchecked: s.Unchecked, Running: []runningLevel{}, Cut: s.Cut,
	}
	for _, n := range s.Nodes {
		out.Nodes = append(out.Nodes, nodeStatus{
			Owner: n.Owner, Release: n.Release, Level: n.Level, Orchestrations: n.Count, Above: s.Above(n.Level),
			StartedAt: n.Started.Std(), RenewedAt: n.Renewed.Std(),
		})
	}
	for _, c := range s.Running {
		out.Running = append(out.Running, runningLevel(c))
	}
	return out
}

func upgradeTable(w *grid, s *upgradeStatus) {
	row(w, "database", "level "+levelText(s))
	row(w, "this program", fmt.Sprintf("level %d, release %s", s.Binary, s.Release))
	row(w, "running", runningText(s))
	for _, owner := range s.Unknown {
		row(w, "not listed", owner+" holds a lease: a node of an older release, or one that was killed")
	}
	if s.Unchecked != "" {
		row(w, "not listed", "there may be more: "+s.Unchecked)
	}
	if len(s.Nodes) == 0 {
		row(w, "nodes", "none is listed")
		return
	}
	row(w)
	row(w, "NODE", "RELEASE", "LEVEL", "ORCHESTRATIONS", "CANNOT RUN", "STARTED", "RENEWED")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		row(w, n.Owner, n.Release, n.Level, n.Orchestrations, n.Above, instant(n.StartedAt), instant(n.RenewedAt))
	}
}

func levelText(s *upgradeStatus) string {
	switch {
	case !s.Recorded:
		return fmt.Sprintf("%d, for lack of a record; finish with 'perdure upgrade --finish'", s.Level)
	case s.Level < s.Binary:
		return fmt.Sprintf("%d; finish with 'perdure upgrade --finish'", s.Level)
	case s.Level > s.Binary:
		return fmt.Sprintf("%d, which is newer than this program", s.Level)
	}
	return fmt.Sprint(s.Level)
}

// runningText counts the running instances by level.
func runningText(s *upgradeStatus) string {
	if len(s.Running) == 0 {
		return "no instance"
	}
	parts := make([]string, 0, len(s.Running))
	for _, r := range s.Running {
		parts = append(parts, fmt.Sprintf("%s of level %d", amount.Of(r.Instances, "instance"), r.Level))
	}
	text := strings.Join(parts, ", ")
	if s.Cut {
		text += ", and more that were not counted"
	}
	return text
}
