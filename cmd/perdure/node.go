package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// nodesListed is the output of node list.
type nodesListed struct {
	Nodes []operate.NodeInfo `json:"nodes"`
}

func newNode(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "List nodes, and take them out of service",
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List nodes: state, release, what they serve and what runs on them",
			Long: "List shows the nodes that run on the database. A node writes its load at most every 15 seconds, and its record once\n" +
				"a minute. A node that was killed is LOST after three minutes, and stays in the list for an hour.",
			Args: arguments,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
					list, err := operate.New(c).Nodes(ctx)
					if err != nil {
						return err
					}
					return a.showLines(cmd, nodesListed{Nodes: list}, each(list), func(w *grid) { nodesTable(w, list) })
				})
			},
		},
		newOrder(a, &cobra.Command{
			Use:   "drain OWNER",
			Short: "Let a node finish what runs and take no new work",
			Long: "Drain takes a node out of service without stopping its process: it takes no new work, and what runs goes on to its\n" +
				"end. 'perdure node list' then shows it as drained. OWNER is the name in that list.",
			Example: "  perdure node drain web-3-4711-0a1b2c3d --reason 'new disk' --db orders.db",
		}, "drain", "node %s drains\n", (*operate.Operator).DrainNode),
		newOrder(a, &cobra.Command{
			Use:   "undrain OWNER",
			Short: "Put a drained node back into service",
		}, "undrain", "node %s takes work again\n", (*operate.Operator).UndrainNode),
	)
	return cmd
}

func nodesTable(w *grid, list []operate.NodeInfo) {
	row(w, "NODE", "STATE", "RELEASE", "LEVEL", "ORCHESTRATIONS", "QUEUES", "TURNS", "ACTIVITIES", "STARTED", "RENEWED")
	for i := range list {
		n := &list[i]
		turns, activities := "-", "-"
		if l := n.Load; l != nil {
			turns, activities = fmt.Sprintf("%d of %d", l.Turns, l.TurnSlots), fmt.Sprintf("%d of %d", l.Activities, l.ActivitySlots)
		}
		state := string(n.State)
		if n.State == operate.NodeLost {
			state = "LOST"
		}
		row(w, n.Owner, state, n.Release, n.EngineLevel, n.Registered, len(n.Queues), turns, activities, instant(n.StartedAt), instant(n.RenewedAt))
	}
}
