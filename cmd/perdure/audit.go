package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
)

// auditListed is the output of audit list.
type auditListed struct {
	Entries []operate.AuditEntry `json:"entries"`
	More    bool                 `json:"more"` // the limit cut the list
}

func newAudit(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what people and programs have done to instances",
	}
	cmd.AddCommand(newAuditList(a))
	return cmd
}

func newAuditList(a *app) *cobra.Command {
	f, act, limit := operate.AuditFilter{}, "", 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List acts, the newest first",
		Long: "List shows the acts of principals: of these commands, of the dashboard, and of clients of their own. An act is written\n" +
			"down before it begins. Its outcome is unknown while it goes on, and if it was interrupted.",
		Example: "  perdure audit list --instance order-42 --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", limit)
			}
			for flag, value := range map[string]string{"principal": f.Principal, "act": act, "instance": f.Instance} {
				if err := notEmpty(cmd, flag, len(value)); err != nil {
					return err
				}
			}
			f.Act = client.Act(act)
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out, err := auditUpTo(ctx, c, f, limit)
				if err != nil {
					return err
				}
				if out.More && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(), "the list is cut after %s: raise --limit for more\n", amount.Of(limit, "act"))
				}
				return a.showLines(cmd, out, each(out.Entries), func(w *grid) { auditTable(w, out.Entries) })
			})
		},
	}
	cmd.Flags().StringVar(&f.Principal, "principal", "", "only acts of this principal")
	cmd.Flags().StringVar(&act, "act", "", "only acts of this kind, such as terminate")
	cmd.Flags().StringVar(&f.Instance, "instance", "", "only acts on the instance with this ID")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of acts")
	return cmd
}

// auditUpTo reads pages until the limit is reached or the audit ends.
func auditUpTo(ctx context.Context, c *client.Client, f operate.AuditFilter, limit int) (auditListed, error) {
	out := auditListed{Entries: []operate.AuditEntry{}}
	for page := (client.Page{}); ; {
		found, err := operate.New(c).Audit(ctx, f, page)
		if err != nil {
			return out, err
		}
		out.Entries = append(out.Entries, found.Items...)
		if len(out.Entries) > limit {
			out.Entries, out.More = out.Entries[:limit], true
			return out, nil
		}
		if page.Cursor = found.Cursor; page.Cursor == "" {
			return out, nil
		}
	}
}

func auditTable(w *grid, entries []operate.AuditEntry) {
	row(w, "TIME", "PRINCIPAL", "ACT", "ON", "OUTCOME", "DETAIL")
	for i := range entries {
		e := &entries[i]
		on := e.Instance
		if on == "" {
			on = e.Other
		}
		detail := e.Detail
		if e.Error != "" {
			detail = e.Error
		}
		row(w, instant(e.At), e.Principal, e.Act, on, e.Outcome, short(detail, eventLimit))
	}
}
