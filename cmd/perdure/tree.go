package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

func newTree(a *app) *cobra.Command {
	var limits client.TreeLimits
	cmd := &cobra.Command{
		Use:     "tree ID",
		Short:   "Show an instance with its children, their children and so on",
		Example: "  perdure tree order-42 --db orders.db\n  perdure tree order-42 --depth 2 --limit 500 -o json --db orders.db",
		Args:    arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if limits.Depth < 1 {
			return badUsage("flag --depth is %d: it must be 1 or more", limits.Depth)
		}
		if limits.Size < 1 {
			return badUsage("flag --limit is %d: it must be 1 or more", limits.Size)
		}
		return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			h, err := instanceOf(ctx, c, args[0], *byKey)
			if err != nil {
				return err
			}
			tree, err := h.Tree(ctx, limits)
			if err != nil {
				return err
			}
			return a.show(cmd, tree, func(w *grid) {
				row(w, "INSTANCE", "ORCHESTRATION", "STATUS", "EXECUTION", "CREATED", "ENDED")
				treeRows(w, tree, 0)
			})
		})
	}
	cmd.Flags().IntVar(&limits.Depth, "depth", 5, "levels below the instance, at most 100")
	cmd.Flags().IntVar(&limits.Size, "limit", 100, "maximum number of instances, at most 10000; levels are filled from the top")
	return cmd
}

// treeRows prints a node and what is below it.
func treeRows(w *grid, n *client.TreeNode, depth int) {
	indent := strings.Repeat("  ", depth)
	row(w, indent+n.ID, n.Orchestration, statusText(&n.Description), n.Execution, instant(n.CreatedAt), instant(n.EndedAt))
	if n.More {
		row(w, indent+"  ... more, which the limits left out")
	}
	for _, child := range n.Children {
		treeRows(w, child, depth+1)
	}
}
