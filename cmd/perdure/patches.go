package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
)

func newPatches(a *app) *cobra.Command {
	scan := operate.PatchScan{}
	cmd := &cobra.Command{
		Use:   "patches",
		Short: "Show which patches running instances have, and which may need the old code",
		Long: "Patches reads the histories of running instances. MAY NEED OLD are those that were started before the patch was\n" +
			"first seen and do not have it: the old branch of the code must stay for them. LATER are those that were started\n" +
			"since and do not have it. They have not come to the patch, or began on a node with older code.\n" +
			"A patch that no running instance has is not shown.",
		Example: "  perdure patches --name Order --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if scan.Limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", scan.Limit)
			}
			if err := notEmpty(cmd, "name", len(scan.Orchestration)); err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				p := a.newProgress(cmd, "instance")
				scan.Progress = func(read int) { p.set(int64(read), int64(scan.Limit)) }
				report, err := operate.New(c).Patches(ctx, scan)
				p.end()
				if err != nil {
					return err
				}
				if report.Cut && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(),
						"the scan is cut after %s: older ones may need the old code, too; raise --limit\n", amount.Of(report.Read, "instance"))
				}
				return a.showLines(cmd, report, each(report.Patches), func(w *grid) { patchesTable(w, report.Patches) })
			})
		},
	}
	cmd.Flags().StringVar(&scan.Orchestration, "name", "", "only instances of this orchestration")
	cmd.Flags().IntVar(&scan.Limit, "limit", 10_000, "maximum number of instances to read, newest first")
	return cmd
}

func patchesTable(w *grid, patches []operate.PatchUse) {
	row(w, "ORCHESTRATION", "PATCH", "FIRST SEEN", "HAVE IT", "MAY NEED OLD", "LATER", "SUCH AS")
	for i := range patches {
		p := &patches[i]
		row(w, p.Orchestration, p.Patch, instant(p.FirstSeen), p.Marked, p.MayNeedOld, p.Later, strings.Join(p.Examples[:min(3, len(p.Examples))], " "))
	}
}
