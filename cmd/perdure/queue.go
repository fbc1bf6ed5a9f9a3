package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// queuesListed is the output of queue list.
type queuesListed struct {
	Queues []operate.QueueInfo `json:"queues"`
}

// ordered is the output of orders to nodes.
type ordered struct {
	Queue       string   `json:"queue,omitempty"`
	Node        string   `json:"node,omitempty"`
	Action      string   `json:"action"`
	Reason      string   `json:"reason,omitempty"`
	Unconfirmed []string `json:"unconfirmed,omitempty"`
	Ignoring    []string `json:"ignoring,omitempty"`
	NoNode      bool     `json:"noNode,omitempty"` // no listed node serves the queue, or has that name
}

func newQueue(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List, pause and resume queues of activities",
		Long: "A paused queue begins no activity, on any node. What runs goes on, and what is called meanwhile waits in the queue.\n" +
			"The time limits of these calls go on.",
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List queues: what waits, what runs, and which nodes serve them",
			Long: "List shows the queues in which activities wait or run, that a node serves, or that are paused. Running activities are\n" +
				"as the nodes have written them within the last minute. Below the table it says why activities have not begun.",
			Args: arguments,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
					list, err := operate.New(c).Queues(ctx)
					if err != nil {
						return err
					}
					return a.showLines(cmd, queuesListed{Queues: list}, each(list), func(w *grid) { queuesTable(w, list) })
				})
			},
		},
		newOrder(a, &cobra.Command{
			Use:   "pause QUEUE",
			Short: "Begin no activity of a queue, on any node",
			Long: "Pause stops a queue within five seconds. The command waits until the nodes that serve the queue have confirmed, and\n" +
				"names those that have not. A node of a release that knows no orders goes on; stop it.",
			Example: "  perdure queue pause payments --reason 'the bank is down' --db orders.db",
		}, "pause", "queue %s is paused\n", (*operate.Operator).PauseQueue),
		newOrder(a, &cobra.Command{
			Use:   "resume QUEUE",
			Short: "Let a paused queue go on",
		}, "resume", "queue %s goes on\n", (*operate.Operator).ResumeQueue),
	)
	return cmd
}

func queuesTable(w *grid, list []operate.QueueInfo) {
	row(w, "QUEUE", "STATE", "WAITING", "OLDEST", "RUNNING", "NODES", "REASON")
	for i := range list {
		q := &list[i]
		state, reason := "open", ""
		switch {
		case q.Paused != nil:
			state, reason = "PAUSED", orderText(q.Paused)
		case len(q.Unserved) > 0:
			state = "NO NODE"
		}
		row(w, q.Queue, state, q.Waiting, instant(q.Oldest), q.Running, len(q.Nodes), reason)
	}
	for i := range list {
		if list[i].Paused == nil {
			notBegunRows(w, &list[i])
		}
	}
}

// notBegunRows says why activities of a queue have not begun. What waits only for its turn has no row.
func notBegunRows(w *grid, q *operate.QueueInfo) {
	for i := range q.NotBegun {
		if a := &q.NotBegun[i]; a.NotBegun.Reason != client.NotBegunNext {
			fmt.Fprintf(w, "%s of %s, %d waiting: %s\n", plain(a.Activity), plain(q.Queue), a.Waiting, plain(a.NotBegun.Text))
		}
	}
}

func orderText(o *operate.Order) string {
	parts := []string{"since " + instant(o.At)}
	if o.By != "" {
		parts = append(parts, "by "+o.By)
	}
	if o.Reason != "" {
		parts = append(parts, o.Reason)
	}
	return strings.Join(parts, ", ")
}

// newOrder completes a command that gives an order to nodes, about a queue or one of them.
func newOrder(
	a *app, cmd *cobra.Command, action, done string,
	order func(*operate.Operator, context.Context, string, string, ...operate.OrderOption) (operate.Confirmation, error),
) *cobra.Command {
	reason, wait := "", time.Duration(0)
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if wait < 0 {
			return badUsage("flag --wait is %v: it must be 0 or more", wait)
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			confirmed, err := order(operate.New(c), ctx, args[0], reason, operate.ConfirmWithin(wait))
			if err != nil {
				return err
			}
			out := ordered{Action: action, Reason: reason, Unconfirmed: confirmed.Unconfirmed, Ignoring: confirmed.Ignoring, NoNode: confirmed.NoNode}
			if strings.HasSuffix(cmd.Use, " OWNER") {
				out.Node = args[0]
			} else {
				out.Queue = args[0]
			}
			return a.show(cmd, out, func(w *grid) {
				fmt.Fprintf(w, done, plain(args[0]))
				if confirmed.NoNode && out.Queue != "" {
					fmt.Fprintf(w, "no node serves a queue %s now: 'perdure queue list' shows the names\n", plain(out.Queue))
				}
				confirmationText(w, &confirmed)
			})
		})
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for people to read, kept in the audit")
	cmd.Flags().DurationVar(&wait, "wait", 6*time.Second, "how long to wait until the nodes have confirmed")
	return cmd
}

// confirmationText names the nodes that do not obey.
func confirmationText(w io.Writer, c *operate.Confirmation) {
	for _, owner := range c.Unconfirmed {
		fmt.Fprintf(w, "node %s has not confirmed yet\n", plain(owner))
	}
	for _, owner := range c.Ignoring {
		fmt.Fprintf(w, "node %s is of a release that knows no orders and goes on: stop it\n", plain(owner))
	}
}
