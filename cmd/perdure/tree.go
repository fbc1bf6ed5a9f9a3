package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
	"github.com/perdure/perdure/internal/timeline"
)

// countedChildren is how far tree counts children of one status.
const countedChildren = 10_000

// treeFlags are the flags of tree.
type treeFlags struct {
	limits   client.TreeLimits
	children bool
	cursor   string
}

func newTree(a *app) *cobra.Command {
	var f treeFlags
	cmd := &cobra.Command{
		Use:   "tree ID",
		Short: "Show an instance with its children, their children and so on",
		Long: "Tree shows an instance with all that it has started as children. Children that run or are suspended come first, then\n" +
			"failed ones, then the others. Before the table it says how many children have which status. --children lists only the\n" +
			"instance's own children, in this order and page by page, however many there are.",
		Example: "  perdure tree order-42 --db orders.db\n  perdure tree order-42 --depth 2 --limit 500 -o json --db orders.db\n" +
			"  perdure tree order-42 --children --limit 500 --db orders.db",
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
			if f.children {
				return a.showChildren(ctx, cmd, c, h, &f)
			}
			tree, err := h.Tree(ctx, f.limits)
			if err != nil {
				return err
			}
			timeline.SortTree(tree)
			counts := timeline.CountTree(tree)
			if tree.More && a.output == outputTable {
				if counts, err = timeline.CountChildren(ctx, c, h.Key(), countedChildren); err != nil {
					return err
				}
			}
			return a.show(cmd, tree, func(w *grid) {
				countRow(w, counts)
				row(w, "INSTANCE", "ORCHESTRATION", "STATUS", "EXECUTION", "CREATED", "ENDED")
				treeRows(w, tree, 0)
			})
		})
	}
	cmd.Flags().IntVar(&f.limits.Depth, "depth", 5, "levels below the instance, at most 100")
	cmd.Flags().IntVar(&f.limits.Size, "limit", 100, "maximum number of instances, at most 10000; levels are filled from the top")
	cmd.Flags().BoolVar(&f.children, "children", false, "list only the instance's own children, up to --limit, at most 1000 on a page")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "with --children: continue behind the page that printed this cursor")
	return cmd
}

// check refuses flags that do not fit together.
func (f *treeFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.limits.Depth < 1:
		return badUsage("flag --depth is %d: it must be 1 or more", f.limits.Depth)
	case f.limits.Size < 1:
		return badUsage("flag --limit is %d: it must be 1 or more", f.limits.Size)
	case f.children && f.limits.Size > 1_000:
		return badUsage("flag --limit is %d: with --children it must be at most 1000", f.limits.Size)
	case f.children && changed("depth"):
		return badUsage("flag --depth with --children: leave one out, because --children lists one level")
	case changed("cursor") && !f.children:
		return badUsage("flag --cursor without --children: give both")
	}
	return notEmpty(cmd, "cursor", len(f.cursor))
}

// showChildren prints a page of the instance's own children.
func (a *app) showChildren(ctx context.Context, cmd *cobra.Command, c *client.Client, h client.Handle[json.RawMessage], f *treeFlags) error {
	list, err := timeline.ReadChildren(ctx, c, h.Key(), f.limits.Size, f.cursor)
	if err != nil {
		return err
	}
	if list.Counts, err = timeline.CountChildren(ctx, c, h.Key(), countedChildren); err != nil {
		return err
	}
	return a.showLines(cmd, list, each(list.Items), func(w *grid) {
		countRow(w, list.Counts)
		row(w, "INSTANCE", "ORCHESTRATION", "STATUS", "EXECUTION", "CREATED", "ENDED")
		for i := range list.Items {
			d := &list.Items[i]
			row(w, d.ID, d.Orchestration, statusText(d), d.Execution, instant(d.CreatedAt), instant(d.EndedAt))
		}
		if list.Cursor != "" {
			row(w, "... more: --cursor "+shell.Word(list.Cursor))
		}
	})
}

// countRow prints how many children have which status.
func countRow(w *grid, counts []timeline.Count) {
	parts := make([]string, 0, len(counts))
	for _, c := range counts {
		text := c.Counted.String() + " " + strings.ToLower(c.Status)
		if c.Blocked { // which run
			text = "of these " + text
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		row(w, "children: "+strings.Join(parts, ", "))
	}
}

// treeRows prints a node and what is below it.
func treeRows(w *grid, n *client.TreeNode, depth int) {
	indent := strings.Repeat("  ", depth)
	row(w, indent+n.ID, n.Orchestration, statusText(&n.Description), n.Execution, instant(n.CreatedAt), instant(n.EndedAt))
	for _, child := range n.Children {
		treeRows(w, child, depth+1)
	}
	if n.More {
		row(w, indent+"  ... more, which the limits left out: perdure tree "+shell.Word(n.ID)+" --children")
	}
}
