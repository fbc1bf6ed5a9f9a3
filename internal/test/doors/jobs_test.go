package doors_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
)

// startingBulk has the doors of bulk jobs.
func startingBulk() section {
	return section{
		title: "PreviewBulk, StartBulk and Bulk",
		intro: "Nothing is stored. Each job is to suspend at most one instance, with one input changed. No job exists.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			start := func(change func(j *operate.BulkJob)) func(context.Context) error {
				return func(ctx context.Context) error {
					j := operate.BulkJob{ID: "j", Act: client.ActSuspend, Max: 1}
					change(&j)
					_, err := operate.New(c).StartBulk(ctx, j)
					return err
				}
			}
			as := func(role client.Role, act func(ctx context.Context, c *client.Client) error) func(context.Context) error {
				return func(ctx context.Context) error {
					of, err := c.As(client.Principal{Name: "ann", Role: role})
					if err != nil {
						return err
					}
					return act(ctx, of)
				}
			}
			long := strings.Repeat("x", 513)
			return []row{
				{"an act that no job can do", start(func(j *operate.BulkJob) { j.Act = client.ActPrune }), clientInvalid, `starting a bulk job: invalid request: a bulk job cannot do "prune": give cancel, delete, fork, move, raise, redrive, reset, restart, resume, retry-now, suspend, terminate, unblock`, "Use one of `BulkActs`."},
				{"an ID of 257 bytes", start(func(j *operate.BulkJob) { j.ID = long[:257] }), clientInvalid, `starting a bulk job: invalid request: bulk job ID "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"... has 257 bytes: shorten it to 256`, "Shorten it."},
				{"a reason of 4 KiB and a byte", start(func(j *operate.BulkJob) { j.Reason = strings.Repeat("x", 4<<10+1) }), clientTooLarge, `starting a bulk job: too large: the reason has 4097 bytes: shorten it to 4096`, "Shorten it."},
				{"no `Max`", start(func(j *operate.BulkJob) { j.Max = 0 }), clientInvalid, `starting a bulk job: invalid request: the most instances are 0: give the count of a preview, or the most that the job may act on`, "Pass `BulkPreview.Count`."},
				{"a negative rate", start(func(j *operate.BulkJob) { j.Rate = -1 }), clientInvalid, `starting a bulk job: invalid request: rate -1: give instances a second, at most 10000, or 0 for no limit`, "Give 0 for no limit."},
				{"a rate above `MaxBulkRate`", start(func(j *operate.BulkJob) { j.Rate = 10_001 }), clientInvalid, `starting a bulk job: invalid request: rate 10001: give instances a second, at most 10000, or 0 for no limit`, "Give 0 for no limit."},
				{"`Before` in the year 300000", start(func(j *operate.BulkJob) { j.Before = time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC) }), clientInvalid, `starting a bulk job: invalid request: filter Before is in the year 300000: give 1 to 9999`, "Pass `BulkPreview.At`."},
				{"a filter with an unknown status", start(func(j *operate.BulkJob) { j.Filter.Statuses = []client.Status{"Sleeping"} }), clientInvalid, `starting a bulk job: invalid request: status "Sleeping" is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated`, "Use the constants."},
				{"a filter of perdure's own instances", start(func(j *operate.BulkJob) { j.Filter.System = true }), clientInvalid, `starting a bulk job: invalid request: a bulk job leaves the instances of perdure itself alone: use the calls for schedules and bulk jobs`, "Use the calls for schedules and jobs."},
				{"a filter of more than 32 KiB", start(func(j *operate.BulkJob) {
					for range 80 {
						j.Filter.CodeVersions = append(j.Filter.CodeVersions, fmt.Sprint(len(j.Filter.CodeVersions), long[:500]))
					}
				}), clientTooLarge, `starting a bulk job: too large: filter and payload have more than 32768 bytes: shorten them`, "Give the instances an attribute, and filter by that."},
				{"raise without an event", start(func(j *operate.BulkJob) { j.Act = client.ActRaise }), clientInvalid, `starting a bulk job: invalid request: event name is empty: give 1 to 512 bytes of UTF-8`, "Name the event."},
				{"raise of a channel", start(func(j *operate.BulkJob) { j.Act, j.Event, j.Payload = client.ActRaise, "go", make(chan int) }), clientInvalid, `starting a bulk job: invalid request: event: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write`, "Raise data."},
				{"reset to an event and to a kind of point", start(func(j *operate.BulkJob) { j.Act, j.Point, j.To = client.ActReset, 1, client.BeforeLastFailure() }), clientInvalid, `starting a bulk job: invalid request: there is an event, and a kind of point: give one of them`, "Leave out `Point`."},
				{"a kind of point for another act", start(func(j *operate.BulkJob) { j.Act, j.To = client.ActCancel, client.BeforeLastFailure() }), clientInvalid, `starting a bulk job: invalid request: cancel looks for no point in a history: that is for reset and fork`, "Leave out `To`."},
				{"reset without a point", start(func(j *operate.BulkJob) { j.Act = client.ActReset }), clientInvalid, `starting a bulk job: invalid request: the point is 0: give the event to go back to, 1 for the beginning`, "Set `Point`."},
				{"fork without a prefix", start(func(j *operate.BulkJob) { j.Act, j.Point = client.ActFork, 1 }), clientInvalid, `starting a bulk job: invalid request: a fork has no prefix: give what the IDs of the new instances begin with`, "Set `Prefix`."},
				{"fork with a reserved prefix", start(func(j *operate.BulkJob) { j.Act, j.Point, j.Prefix = client.ActFork, 1, "perdure/" }), clientInvalid, `starting a bulk job: invalid request: IDs that begin with perdure/ belong to perdure itself: give another prefix`, "Choose another prefix."},
				{"retry-now without a rate", start(func(j *operate.BulkJob) { j.Act = client.ActRetryNow }), clientInvalid, `starting a bulk job: invalid request: retry-now has no rate: give activities a second, so that what they call is not overrun`, "Set `Rate`."},
				{"a group without a choice of texts", start(func(j *operate.BulkJob) { j.Filter.FailureGroup = "g" }), clientInvalid, `starting a bulk job: invalid request: a group may have several texts: choose one that a preview has shown, or all of them`, "Set `Text` or `AllTexts`."},
				{"a text without a group", start(func(j *operate.BulkJob) { j.Text = "x" }), clientInvalid, `starting a bulk job: invalid request: the text of an error needs the group of it: filter by that group, too`, "Set `Filter.FailureGroup`."},
				{"a text that no instance has", start(func(j *operate.BulkJob) { j.Filter.FailureGroup, j.Text = "g", "x" }), clientInvalid, `starting a bulk job: invalid request: no instance that matches failed with the text "x": take one that a preview shows`, "Take a text of `BulkPreview.Texts`."},
				{"a job of a viewer", as(client.RoleViewer, func(ctx context.Context, c *client.Client) error {
					_, err := operate.New(c).StartBulk(ctx, operate.BulkJob{Act: client.ActSuspend, Max: 1})
					return err
				}), clientForbidden, `starting a bulk job: not allowed: "ann" has the role viewer, and the act "suspend" needs the role operator`, "Ask an operator."},
				{"a job of an operator that deletes", as(client.RoleOperator, func(ctx context.Context, c *client.Client) error {
					_, err := operate.New(c).StartBulk(ctx, operate.BulkJob{Act: client.ActDelete, Max: 1})
					return err
				}), clientForbidden, `starting a bulk job: not allowed: "ann" has the role operator, and the act "delete" needs the role admin`, "Ask an admin."},
				{"`As` of a client that `As` has made", as(client.RoleViewer, func(_ context.Context, c *client.Client) error {
					_, err := c.As(client.Principal{Name: "bob", Role: client.RoleAdmin})
					return err
				}), clientForbidden, `making the client of a principal: not allowed: the client acts for "ann" already: use the client that client.New has made`, "Keep the service's own client for that."},
				{"`PreviewBulk` of perdure's own instances", func(ctx context.Context) error {
					_, err := operate.New(c).PreviewBulk(ctx, client.Filter{IDPrefix: "perdure/"})
					return err
				}, clientInvalid, `previewing a bulk job: invalid request: a bulk job leaves the instances of perdure itself alone: use the calls for schedules and bulk jobs`, "Use the calls for schedules and jobs."},
				{"`Bulk` of an unknown job", func(ctx context.Context) error {
					_, err := operate.New(c).Bulk(ctx, "nobody")
					return err
				}, clientNotFound, `looking up bulk job "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Take the ID from `Bulks`."},
				{"`Stop` of a zero `Bulk`", func(ctx context.Context) error { return operate.Bulk{}.Stop(ctx) }, clientInvalid, `using a bulk job: invalid request: there is no job: take one from Operator.StartBulk or Bulk`, "Take it from `StartBulk` or `Bulk`."},
				{"`Failures` of a zero `Bulk`", func(ctx context.Context) error {
					for _, err := range (operate.Bulk{}).Failures(ctx) {
						return err
					}
					return nil
				}, clientInvalid, `using a bulk job: invalid request: there is no job: take one from Operator.StartBulk or Bulk`, "Take it from `StartBulk` or `Bulk`."},
			}
		},
	}
}

// settingRetention has the doors of retention.
func settingRetention() section {
	return section{
		title: "SetRetention, RunRetention, Prune, Trim and their previews",
		intro: "Nothing is stored. `runtime.Options.Retention` refuses the same rules. No rules are set.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			set := func(r operate.Retention) func(context.Context) error {
				return func(ctx context.Context) error { return operate.New(c).SetRetention(ctx, r) }
			}
			rule := func(change func(r *operate.RetentionRule)) func(context.Context) error {
				one := operate.RetentionRule{Age: operate.MinPruneAge}
				change(&one)
				return set(operate.Retention{Rules: []operate.RetentionRule{one}})
			}
			return []row{
				{"a rule of an hour", rule(func(r *operate.RetentionRule) { r.Age = time.Hour }), clientInvalid, `setting the retention: rule 1: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: give more`, "Prune by hand, with `Pruning.Young`."},
				{"a rule without an age", rule(func(r *operate.RetentionRule) { r.Age = 0 }), clientInvalid, `setting the retention: rule 1: invalid request: age 0s is less than 24h0m0s, within which a repeated start must find its instance: give more`, "Give `orchestration.Off` for instances that stay."},
				{"a rule of running instances", rule(func(r *operate.RetentionRule) { r.Statuses = []client.Status{client.StatusRunning} }), clientInvalid, `setting the retention: rule 1: invalid request: status "Running" is none of an ended instance: give Completed, Failed, Cancelled or Terminated`, "Use a bulk job."},
				{"a rule of an empty name", rule(func(r *operate.RetentionRule) { r.Names = []string{""} }), clientInvalid, `setting the retention: rule 1: invalid request: orchestration name is empty: give 1 to 512 bytes of UTF-8`, "Leave `Names` out for all."},
				{"a rule of perdure's own orchestration", rule(func(r *operate.RetentionRule) { r.Names = []string{"perdure.bulk"} }), clientInvalid, `setting the retention: rule 1: invalid request: orchestration name "perdure.bulk" belongs to perdure itself, whose instances stay`, "Retention removes old jobs by itself."},
				{"101 rules", set(operate.Retention{Rules: make([]operate.RetentionRule, 101)}), clientInvalid, `setting the retention: invalid request: 101 rules: give at most 100`, "Name several orchestrations in one rule."},
				{"a batch of 1,001", set(operate.Retention{Batch: 1001}), clientInvalid, `setting the retention: invalid request: batch 1001: give 1 to 1000, or 0 for 100`, "Leave it out."},
				{"a negative rate", set(operate.Retention{Rate: -1}), clientInvalid, `setting the retention: invalid request: rate -1: give instances a second, at most 10000, or 0 for 200`, "Leave it out."},
				{"an age of audit records of a second", set(operate.Retention{Audit: time.Second}), clientInvalid, `setting the retention: audit: invalid request: age 1s is less than 24h0m0s, within which a repeated start must find its instance: give more`, "Keep them for a day at least."},
				{"a trim of a minute", set(operate.Retention{Trim: &operate.TrimRule{Age: time.Minute}}), clientInvalid, `setting the retention: trim: invalid request: age 1m0s is less than 24h0m0s, within which a repeated start must find its instance: give more`, "Use `Operator.Trim`."},
				{"a trim that keeps -1", set(operate.Retention{Trim: &operate.TrimRule{Age: operate.MinPruneAge, Keep: -1}}), clientInvalid, `setting the retention: trim: invalid request: keep -1: give 1 to 1000, or 0 for 1`, "Leave it out."},
				{"rules of an operator", func(ctx context.Context) error {
					of, err := c.As(client.Principal{Name: "ann", Role: client.RoleOperator})
					if err != nil {
						return err
					}
					return operate.New(of).SetRetention(ctx, operate.Retention{})
				}, clientForbidden, `setting the retention: not allowed: "ann" has the role operator, and the act "retention" needs the role admin`, "Ask an admin."},
				{"`RunRetention` without rules", operate.New(c).RunRetention, clientNotFound, `running the retention: not found: there are no rules; set some with SetRetention`, "Set rules first."},
				{"`Prune` with a negative limit", func(ctx context.Context) error {
					_, err := operate.New(c).Prune(ctx, operate.Pruning{Age: operate.MinPruneAge, Limit: -1})
					return err
				}, clientInvalid, `pruning instances: invalid request: limit -1: give 1 or more, or 0 for none`, "Leave it out."},
				{"`Trim` with a negative age", func(ctx context.Context) error {
					_, err := operate.New(c).Trim(ctx, operate.Trimming{Age: -1})
					return err
				}, clientInvalid, `trimming executions: invalid request: age -1ns is negative: give the time since the execution was left`, "Give the time since the execution was left."},
				{"`PreviewPrune` of an hour", func(ctx context.Context) error {
					_, err := operate.New(c).PreviewPrune(ctx, operate.Pruning{Age: time.Hour})
					return err
				}, clientInvalid, `previewing a prune: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: give more, or set Young`, "Preview what `Prune` would do."},
				{"`PreviewTrim` that keeps -1", func(ctx context.Context) error {
					_, err := operate.New(c).PreviewTrim(ctx, operate.Trimming{Keep: -1})
					return err
				}, clientInvalid, `previewing a trim: invalid request: keep -1: give 1 to 1000, or 0 for 1`, "Leave it out."},
				{"`PreviewRetention` of a rule of an hour", func(ctx context.Context) error {
					_, err := operate.New(c).PreviewRetention(ctx, operate.Retention{Rules: []operate.RetentionRule{{Age: time.Hour}}})
					return err
				}, clientInvalid, `previewing the retention: rule 1: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: give more`, "Preview rules that can be set."},
			}
		},
	}
}
