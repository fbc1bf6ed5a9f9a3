package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

func newVersions(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "versions [NAME]",
		Short: "Show the versions of orchestrations, their nodes and instances",
		Long: "Versions shows which versions of an orchestration's code the nodes have registered, and how many instances run each.\n" +
			"An instance that runs a version of NO NODE waits until a node registers it, or until it is moved to another version.",
		Example: "  perdure versions Order --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			if len(args) > 0 && name == "" {
				return badUsage("NAME is empty: give the name of an orchestration, or leave it out")
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := operate.New(c).Versions(ctx, name)
				if err != nil {
					return err
				}
				return a.showLines(cmd, list, each(list), func(w *grid) { versionsTable(w, list) })
			})
		},
	}
}

func versionsTable(w *grid, list []operate.VersionUse) {
	row(w, "ORCHESTRATION", "VERSION", "NODES", "RUNNING", "OLDEST")
	for i := range list {
		v := &list[i]
		nodes := fmt.Sprint(len(v.Nodes))
		switch {
		case v.NoNode():
			nodes = "NO NODE"
		case v.Unlisted && len(v.Nodes) == 0:
			nodes = "not known" // a node has registered more than it lists
		}
		version := v.Version
		if version == "" {
			version = "-"
		}
		row(w, v.Orchestration, version, nodes, v.Instances(), instant(v.Oldest))
	}
}

// moved is the output of move.
type moved struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

func newMove(a *app) *cobra.Command {
	to, suspend := "", false
	cmd := &cobra.Command{
		Use:   "move ID",
		Short: "Move an instance to another version of its code",
		Long: "Move makes the current execution of an instance go on with another version of its code, older or newer. A node that\n" +
			"has registered that version replays the history first. If the code differs, nothing changes, and the error names\n" +
			"the first difference. --to= names the code without a version.",
		Example: "  perdure move order-42 --to 2 --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("to") {
				return badUsage("flag --to is missing: give the version")
			}
			var opts []client.MoveOption
			if suspend {
				opts = append(opts, client.SuspendToMove())
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Move(ctx, args[0], to, opts...); err != nil {
					return err
				}
				out := moved{ID: args[0], Version: to}
				return a.show(cmd, out, func(w *grid) {
					if to == "" {
						row(w, out.ID+" runs code without a version")
						return
					}
					row(w, fmt.Sprintf("%s runs version %s", out.ID, out.Version))
				})
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the version")
	cmd.Flags().BoolVar(&suspend, "suspend", false, "suspend the instance while it is moved, if it is too busy")
	return cmd
}
