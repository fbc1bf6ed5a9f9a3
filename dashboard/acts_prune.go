package dashboard

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
)

// pruneFields select ended instances.
func pruneFields() []field {
	return []field{
		{name: "age", kind: aSpan, label: "Ended at least so long ago", required: true, value: "720h", help: "At least 24h."},
		{name: "names", kind: aList, label: "Orchestrations", help: "One a line. None: all."},
		{name: "statuses", kind: aList, label: "Statuses", help: "One a line, such as Completed. None: all."},
	}
}

// trimFields select executions of instances that continue as new.
func trimFields() []field {
	return []field{
		{name: "age", kind: aSpan, label: "Left at least so long ago", required: true, value: "720h", help: "At least 24h."},
		{name: "keep", kind: anInt, label: "Keep", value: "1", help: "Executions before the current one, 1 to 1,000. Empty: 1."},
	}
}

func (in input) pruning() operate.Pruning {
	p := operate.Pruning{Age: in.span("age"), Names: in.list("names"), Limit: in.int("limit"), Cursor: in["cursor"]}
	for _, s := range in.list("statuses") {
		p.Statuses = append(p.Statuses, client.Status(s))
	}
	return p
}

// trimming returns the executions that the fields select. The package operate allows any age, which this page does not.
func (in input) trimming() (operate.Trimming, error) {
	t := operate.Trimming{Age: in.span("age"), Keep: int(in.int("keep")), Limit: in.int("limit"), Cursor: in["cursor"]}
	if t.Age < operate.MinPruneAge {
		return t, badInput("age is %v: give at least %v", t.Age, operate.MinPruneAge)
	}
	return t, nil
}

func prune(ctx context.Context, c *call, in input) (outcome, error) {
	p := in.pruning()
	if p.Limit < 1 || p.Limit > countLimit {
		return outcome{}, badInput("limit is %d: give 1 to %d", p.Limit, countLimit)
	}
	done, err := operate.New(c.client).Prune(ctx, p)
	return outcome{value: done, says: "Deleted: " + amount.Of(done.Instances, "instance") + "."}, err
}

func trim(ctx context.Context, c *call, in input) (outcome, error) {
	t, err := in.trimming()
	if err != nil {
		return outcome{}, err
	}
	if t.Limit < 1 || t.Limit > countLimit {
		return outcome{}, badInput("limit is %d: give 1 to %d", t.Limit, countLimit)
	}
	done, err := operate.New(c.client).Trim(ctx, t)
	return outcome{value: done, says: "Deleted: " + amount.Of(done.Executions, "execution") + "."}, err
}

// counting is what an act would remove of one kind.
type counting struct {
	What string
	client.Counted
}

// Number returns the count as the page shows it. What was not counted is not 0.
func (n counting) Number() string {
	switch {
	case n.Exact:
		return group(n.Count)
	case n.Count == 0:
		return "not counted: it would take too long"
	default:
		return "at least " + group(n.Count)
	}
}

func countPrune(ctx context.Context, c *call, in input) ([]counting, error) {
	n, err := operate.New(c.client).PreviewPrune(ctx, in.pruning())
	return []counting{{"Instances, children included", n}}, err
}

func countTrim(ctx context.Context, c *call, in input) ([]counting, error) {
	t, err := in.trimming()
	if err != nil {
		return nil, err
	}
	n, err := operate.New(c.client).PreviewTrim(ctx, t)
	return []counting{{"Executions", n}}, err
}

// countRules counts what the rules of a form would remove.
func countRules(ctx context.Context, c *call, in input) ([]counting, error) {
	r, err := in.rules(c)
	if err != nil {
		return nil, err
	}
	return countRetention(ctx, c, r)
}

// countRound counts what a round by the stored rules would remove.
func countRound(ctx context.Context, c *call, _ input) ([]counting, error) {
	info, err := operate.New(c.client).Retention(ctx)
	if err != nil {
		return nil, err
	}
	return countRetention(ctx, c, info.Retention)
}

// countRetention has a row for each kind of what rules would remove. Rules that keep all have none.
func countRetention(ctx context.Context, c *call, r operate.Retention) (rows []counting, err error) {
	p, err := operate.New(c.client).PreviewRetention(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range r.Rules {
		if r.Rules[i].Age == orchestration.Off {
			continue
		}
		lines := strings.Fields(ruleLines(&r.Rules[i]))
		rows = append(rows, counting{fmt.Sprintf("Instances by rule %d, %s", i+1, strings.Join(lines, ", ")), p.Rules[i]})
	}
	if len(r.Rules) > 0 {
		rows = append(rows, counting{"Ended schedules and bulk jobs", p.Own})
	}
	if r.Trim != nil {
		rows = append(rows, counting{"Executions", p.Executions})
	}
	if r.Audit != 0 {
		rows = append(rows, counting{"Records of the audit", p.Records})
	}
	return rows, nil
}

// apiCountPrune counts what a prune would delete.
func (c *call) apiCountPrune() error {
	in, err := c.readQuery(pruneFields())
	if err != nil {
		return err
	}
	n, err := operate.New(c.client).PreviewPrune(c.r.Context(), in.pruning())
	if err != nil {
		return err
	}
	return c.answer(n)
}

// apiCountTrim counts what a trim would delete.
func (c *call) apiCountTrim() error {
	in, err := c.readQuery(trimFields())
	if err != nil {
		return err
	}
	t, err := in.trimming()
	if err != nil {
		return err
	}
	n, err := operate.New(c.client).PreviewTrim(c.r.Context(), t)
	if err != nil {
		return err
	}
	return c.answer(n)
}

// apiCountRetention counts what rules would remove: those that are given, or else those that are set.
func (c *call) apiCountRetention() error {
	in, err := c.readQuery(ruleFields())
	if err != nil {
		return err
	}
	r, err := in.retention()
	if err != nil {
		return err
	}
	o := operate.New(c.client)
	if r.Off() {
		info, err := o.Retention(c.r.Context())
		if err != nil {
			return err
		}
		r = info.Retention
	}
	p, err := o.PreviewRetention(c.r.Context(), r)
	if err != nil {
		return err
	}
	return c.answer(p)
}
