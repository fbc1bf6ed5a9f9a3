package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// queried is the output of query.
type queried struct {
	ID     string          `json:"id"`
	Query  string          `json:"query"`
	Answer json.RawMessage `json:"answer"`
}

func newQuery(a *app) *cobra.Command {
	var input string
	var evenBlocked, byKey bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "query ID NAME",
		Short: "Ask the code of an instance",
		Long: "Query asks the instance by the handler that its code has registered under NAME, and prints the answer. It changes\n" +
			"nothing and works in any status. A service that runs the orchestration must be running on the database. Two\n" +
			"queries are always there: 'queries' lists the names, and 'stack' says where the code waits.",
		Example: "  perdure query order-42 cart --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return badUsage("flag --timeout is %v: give more than zero", timeout)
			}
			payload, err := inputFlag(cmd, input)
			if err != nil {
				return err
			}
			var opts []client.QueryOption
			if evenBlocked {
				opts = append(opts, client.EvenBlocked())
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				ctx, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				h, err := instanceOf(ctx, c, args[0], byKey)
				if err != nil {
					return err
				}
				answer, err := client.Query[json.RawMessage](ctx, h, args[1], payload, opts...)
				if err != nil {
					return err
				}
				out := queried{ID: h.ID(), Query: args[1], Answer: answer}
				return a.show(cmd, out, func(w *grid) { fmt.Fprintln(w, answerText(out.Answer)) })
			})
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "input as JSON, @file, or - for standard input (default: none)")
	cmd.Flags().BoolVar(&byKey, "key", false, keyUsage)
	cmd.Flags().BoolVar(&evenBlocked, "even-blocked", false, "answer from the stored history of a blocked instance")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait for the answer")
	return cmd
}

// answerText returns an answer as JSON. A text of several lines, such as that of stack, is printed as it is.
func answerText(answer json.RawMessage) string {
	text := ""
	if err := json.Unmarshal(answer, &text); err != nil || !strings.Contains(text, "\n") {
		return plain(string(answer))
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range all {
		indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
		all[i] = strings.Repeat("  ", len(indent)) + plain(strings.TrimLeft(line, "\t"))
	}
	return strings.Join(all, "\n")
}
