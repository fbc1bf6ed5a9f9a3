package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

func newCount(a *app) *cobra.Command {
	var filter filterFlags
	most := int64(0)
	cmd := &cobra.Command{
		Use:   "count [SEARCH]",
		Short: "Count instances",
		Long: "Count counts the instances that the flags choose. It stops at the number of --up-to, and then prints it with a plus. It looks\n" +
			"at 20,000 rows of the database, or at twice --up-to if that is more. So where each of several conditions matches more rows,\n" +
			"it may print fewer, with a plus. --up-to 0 counts all, which takes long among a million; a search with OR ends after 600 ms, and\n" +
			"what retries after 5,000 activities, with a plus.\n" + searchHelp,
		Example: "  perdure count --status failed --ended-after 24h --db orders.db\n  perdure count --name Order --up-to 0 --db orders.db\n" +
			"  perdure count 'status:failed ended:<24h' --db orders.db",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 0 {
				return badUsage("flag --up-to is %d: it must be 1 or more, or 0 for all", most)
			}
			if err := cmp.Or(filter.check(cmd), checkSearch(args)); err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s, err := filter.selects(ctx, cmd, a, c, args, "")
				if err != nil {
					return err
				}
				n, err := s.count(ctx, c, most)
				if err != nil {
					return err
				}
				return a.show(cmd, n, func(w *grid) { row(w, n) })
			})
		},
	}
	filter.add(cmd)
	cmd.Flags().Int64Var(&most, "up-to", 10_000, "count no further than this; 0: count all")
	return cmd
}
