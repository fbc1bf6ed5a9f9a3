package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/provider"
)

const (
	// prunePreviewCount is how far a preview counts each kind of what goes.
	prunePreviewCount = 10_000
	// prunePreviewTime is how long a preview counts. It ends between two steps.
	prunePreviewTime = 3 * time.Second
)

// PreviewPrune counts what Prune would delete now, children included: up to 10,000 instances, for about 3 s. Pruning.Limit, Cursor and Progress do not
// matter. A viewer has the right. A child of an execution that its parent has left can go by itself or with the parent, and may be counted
// twice. Errors are those of Prune.
func (o *Operator) PreviewPrune(ctx context.Context, p Pruning) (client.Counted, error) {
	const op = "previewing a prune"
	p.Limit = 0
	req, err := p.request()
	if err == nil {
		err = o.usable(ctx)
	}
	if err != nil {
		return client.Counted{}, fmt.Errorf("%s: %w", op, err)
	}
	if req.Spare, err = o.exemptRuns(ctx, op); err != nil {
		return client.Counted{}, err
	}
	return o.countPrunable(ctx, op, req, time.Now().Add(prunePreviewTime))
}

// PreviewTrim counts what Trim would delete now: up to 10,000 executions, for about 3 s. Trimming.Limit, Cursor and Progress do not matter. A viewer has
// the right. Errors are those of Trim.
func (o *Operator) PreviewTrim(ctx context.Context, t Trimming) (client.Counted, error) {
	const op = "previewing a trim"
	t.Limit = 0
	trimmer, err := o.trimmer(ctx, &t)
	if err != nil {
		return client.Counted{}, fmt.Errorf("%s: %w", op, err)
	}
	return o.countTrimmable(ctx, op, trimmer, provider.TrimRequest{Age: t.Age, Keep: t.Keep}, time.Now().Add(prunePreviewTime))
}

// RetentionPreview says what a round of retention would remove if it began now. Each count goes up to 10,000.
type RetentionPreview struct {
	// Rules has the instances of each of Retention.Rules, in their order, children included. Those that an earlier rule matches are left out. A child
	// may be counted twice, as PreviewPrune says, also by two rules.
	Rules      []client.Counted `json:"rules"`
	Own        client.Counted   `json:"own"` // ended schedules and bulk jobs, which go after 30 days if there are rules
	Executions client.Counted   `json:"executions"`
	Records    client.Counted   `json:"records"` // of the audit
}

// PreviewRetention counts what a round of retention with these rules would remove if it began now, for about 3 s. What it did not come to has the count
// 0, which is not exact. Nothing is stored. A viewer has the right. Errors are those of SetRetention.
func (o *Operator) PreviewRetention(ctx context.Context, r Retention) (RetentionPreview, error) {
	const op = "previewing the retention"
	err := o.usable(ctx)
	var rules retention.Rules
	if err == nil {
		rules, err = r.stored()
	}
	if err != nil {
		return RetentionPreview{}, fmt.Errorf("%s: %w", op, err)
	}
	until := time.Now().Add(prunePreviewTime)
	var spare []provider.UUID
	if len(rules.Rules) > 0 {
		if spare, err = o.exemptRuns(ctx, op); err != nil {
			return RetentionPreview{}, err
		}
	}
	p := RetentionPreview{
		Rules: make([]client.Counted, 0, len(rules.Rules)), Own: client.Counted{Exact: true}, Executions: client.Counted{Exact: true}, Records: client.Counted{Exact: true},
	}
	for n := range rules.Rules {
		count, err := o.countCuts(ctx, op, rules.CutsOf(n), spare, until)
		if err != nil {
			return p, err
		}
		p.Rules = append(p.Rules, count)
	}
	if len(rules.Cuts()) > 0 {
		own := systemPruning()
		req, err := own.request()
		if err != nil {
			return p, fmt.Errorf("%s: %w", op, err)
		}
		req.Spare = spare
		if p.Own, err = o.countPrunable(ctx, op, req, until); err != nil {
			return p, err
		}
	}
	if trimmer, ok := provider.As[provider.Trimmer](o.caller.Store.Provider); ok && rules.Trim != nil {
		req := provider.TrimRequest{Age: rules.Trim.Age, Keep: rules.Trim.Keep}
		if p.Executions, err = o.countTrimmable(ctx, op, trimmer, req, until); err != nil {
			return p, err
		}
	}
	if rules.Audit != 0 {
		p.Records, err = o.countRecords(ctx, op, rules.Audit, until)
	}
	return p, err
}

// countCuts counts what the cuts of a rule remove. No instance is in two of them.
func (o *Operator) countCuts(
	ctx context.Context, op string, cuts []retention.Cut, spare []provider.UUID, until time.Time,
) (sum client.Counted, err error) {
	sum.Exact = true
	for _, cut := range cuts {
		p := pruningOf(cut)
		req, err := p.request()
		if err != nil {
			return sum, fmt.Errorf("%s: %w", op, err)
		}
		req.Spare = spare
		n, err := o.countPrunable(ctx, op, req, until)
		if err != nil {
			return sum, err
		}
		sum = client.Counted{Count: sum.Count + n.Count, Exact: sum.Exact && n.Exact}
	}
	return sum, nil
}

func (o *Operator) countPrunable(ctx context.Context, op string, req provider.PruneRequest, until time.Time) (n client.Counted, err error) {
	req.Look = true
	for n.Count < prunePreviewCount && time.Now().Before(until) {
		res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Prune, req)
		if err != nil {
			return n, access.Explain(op, 0, err)
		}
		n.Count += res.Instances
		if req.Cursor = res.Cursor; req.Cursor == "" {
			n.Exact = true
			break
		}
	}
	return n, nil
}

func (o *Operator) countTrimmable(
	ctx context.Context, op string, trimmer provider.Trimmer, req provider.TrimRequest, until time.Time,
) (n client.Counted, err error) {
	req.Max, req.Look = pruneStep, true
	for n.Count < prunePreviewCount && time.Now().Before(until) {
		res, err := access.Read(ctx, o.caller.Store, op, trimmer.Trim, req)
		if err != nil {
			return n, access.Explain(op, 0, err)
		}
		n.Count += res.Executions
		if req.Cursor = res.Cursor; req.Cursor == "" {
			n.Exact = true
			break
		}
	}
	return n, nil
}

func (o *Operator) countRecords(ctx context.Context, op string, age time.Duration, until time.Time) (client.Counted, error) {
	if !time.Now().Before(until) {
		return client.Counted{}, nil
	}
	old, err := audit.Old(ctx, o.caller.Store, age, prunePreviewCount)
	if err != nil {
		return client.Counted{}, access.Explain(op, 0, err)
	}
	return client.Counted{Count: int64(len(old)), Exact: len(old) < prunePreviewCount}, nil
}
