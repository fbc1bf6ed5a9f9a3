package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
)

// deadLettersListed is the output of dead-letters list.
type deadLettersListed struct {
	Letters []operate.DeadLetter `json:"deadLetters"`
	More    bool                 `json:"more"` // the limit cut the list
}

// deadLetterChanged is the output of dead-letters redrive and drop.
type deadLetterChanged struct {
	ID     int64  `json:"id"`
	Action string `json:"action"`
}

func newDeadLetters(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dead-letter",
		Aliases: []string{"dead-letters"},
		Short:   "List, redrive and drop undelivered events and lost activities",
		Long: "Dead letters are events that an instance accepted but did not receive before it ended, and activities that were\n" +
			"lost to crashes too often.",
	}
	cmd.AddCommand(
		newDeadLettersList(a),
		newDeadLetterAction(a, &cobra.Command{
			Use:   "redrive LETTER",
			Short: "Put a dead letter back where it came from",
			Long: "Redrive puts an event back into its instance's inbox, or an activity back into its queue. The instance must still\n" +
				"run. For an activity, the execution that scheduled it must still run. Its call may have ended when it was buried:\n" +
				"then the activity runs, and its result is dropped. LETTER is a number from 'perdure dead-letter list'.",
		}, "redrive", "put letter %d back\n", (*operate.Operator).RedriveDeadLetter),
		newDeadLetterAction(a, &cobra.Command{
			Use:   "drop LETTER",
			Short: "Delete a dead letter for good",
			Long:  "Drop deletes a dead letter. LETTER is a number from 'perdure dead-letter list'.",
		}, "drop", "dropped letter %d\n", (*operate.Operator).DropDeadLetter),
	)
	return cmd
}

func newDeadLettersList(a *app) *cobra.Command {
	instance, limit := "", 0
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List dead letters, oldest first",
		Example: "  perdure dead-letter list --instance order-42 -o json --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", limit)
			}
			if cmd.Flags().Changed("instance") && instance == "" {
				return badUsage("flag --instance is empty: give an ID, or leave the flag out for all")
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out := deadLettersListed{Letters: []operate.DeadLetter{}}
				for l, err := range operate.New(c).DeadLetters(ctx, operate.DeadLetterFilter{Instance: instance}) {
					if err != nil {
						return err
					}
					if out.More = len(out.Letters) == limit; out.More {
						break
					}
					out.Letters = append(out.Letters, l)
				}
				if out.More && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(), "the list is cut after %s: raise --limit for more\n", amount.Of(limit, "letter"))
				}
				return a.showLines(cmd, out, each(out.Letters), func(w *grid) { deadLettersTable(w, out.Letters) })
			})
		},
	}
	cmd.Flags().StringVar(&instance, "instance", "", "only letters of the instance with this ID")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of letters")
	return cmd
}

func deadLettersTable(w *grid, letters []operate.DeadLetter) {
	row(w, "LETTER", "INSTANCE", "KIND", "NAME", "SINCE", "REASON", "PAYLOAD")
	for i := range letters {
		l := &letters[i]
		shown := payloadText(l.Payload, eventLimit)
		if l.Unreadable != "" {
			shown = "cannot be read: " + l.Unreadable
		}
		row(w, l.ID, l.Instance, l.Kind, l.Name, instant(l.At), l.Reason, shown)
	}
}

// newDeadLetterAction completes a command that acts on one dead letter.
func newDeadLetterAction(
	a *app, cmd *cobra.Command, action, done string, act func(*operate.Operator, context.Context, int64) error,
) *cobra.Command {
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return badUsage("argument LETTER is %q: it must be a number that 'perdure dead-letter list' shows", args[0])
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if err := act(operate.New(c), ctx, id); err != nil {
				return err
			}
			return a.show(cmd, deadLetterChanged{ID: id, Action: action}, func(w *grid) { fmt.Fprintf(w, done, id) })
		})
	}
	return cmd
}
