package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/provider"
)

const (
	// prunePreviewCount is how far a preview counts each kind of what goes. It may count the rest of a step besides.
	prunePreviewCount = 10_000
	// prunePreviewTime is how long a preview counts.
	prunePreviewTime = 3 * time.Second
)

// PreviewPrune counts what Prune would delete now if it had no limit, children included: up to about 10,000 instances, for 3 s at most. Pruning.Limit,
// Cursor and Progress do not matter. A viewer has the right. A child of an execution that its parent has left can go by itself or with the
// parent, and may be counted twice. Errors are those of Prune.
func (o *Operator) PreviewPrune(ctx context.Context, p Pruning) (client.Counted, error) {
	const op = "previewing a prune"
	req, err := p.request()
	if err == nil {
		err = o.usable(ctx)
	}
	if err != nil {
		return client.Counted{}, fmt.Errorf("%s: %w", op, err)
	}
	bounded, cancel := context.WithTimeout(ctx, prunePreviewTime)
	defer cancel()
	if req.Spare, err = o.exemptRuns(bounded, op); err != nil {
		return client.Counted{}, inTime(ctx, bounded, err)
	}
	n, err := o.countPrunable(bounded, op, req, prunePreviewCount)
	return n, inTime(ctx, bounded, err)
}

// PreviewTrim counts what Trim would delete now if it had no limit: up to about 10,000 executions, for 3 s at most. Trimming.Limit, Cursor and
// Progress do not matter. A viewer has the right. Errors are those of Trim.
func (o *Operator) PreviewTrim(ctx context.Context, t Trimming) (client.Counted, error) {
	const op = "previewing a trim"
	trimmer, err := o.trimmer(ctx, &t)
	if err != nil {
		return client.Counted{}, fmt.Errorf("%s: %w", op, err)
	}
	bounded, cancel := context.WithTimeout(ctx, prunePreviewTime)
	defer cancel()
	n, err := o.countTrimmable(bounded, op, trimmer, provider.TrimRequest{Age: t.Age, Keep: t.Keep})
	return n, inTime(ctx, bounded, err)
}

// RetentionPreview says what a round of retention would remove if it began now. Each count goes up to about 10,000.
type RetentionPreview struct {
	// Rules has the instances of each of Retention.Rules, in their order, children included. Those that an earlier rule matches are left out. A child
	// may be counted twice, as PreviewPrune says, also by two rules.
	Rules []client.Counted `json:"rules"`
	Own   client.Counted   `json:"own"` // ended schedules and bulk jobs, which go after 30 days if there are rules
	// Executions has old executions, also those of instances that Rules counts. These go with their instances, and a round counts them there.
	Executions client.Counted `json:"executions"`
	Records    client.Counted `json:"records"` // of the audit
}

// Instances returns the sum of Rules and Own.
func (p *RetentionPreview) Instances() client.Counted {
	sum := p.Own
	for _, n := range p.Rules {
		sum = plus(sum, n)
	}
	return sum
}

// PreviewRetention counts what a round of retention with these rules would remove if it began now, for 3 s at most. What it did not come to has the
// count 0, which is not exact. Nothing is stored. A viewer has the right. Errors are those of SetRetention.
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
	bounded, cancel := context.WithTimeout(ctx, prunePreviewTime)
	defer cancel()
	p := RetentionPreview{Rules: make([]client.Counted, len(rules.Rules))}
	return p, inTime(ctx, bounded, o.countRetention(bounded, op, &rules, &p))
}

// countRetention fills a preview in the order of a round.
func (o *Operator) countRetention(ctx context.Context, op string, rules *retention.Rules, p *RetentionPreview) error {
	cuts := rules.Cuts()
	var spare []provider.UUID
	if len(cuts) > 0 {
		var err error
		if spare, err = o.exemptRuns(ctx, op); err != nil {
			return err
		}
	}
	for n := range rules.Rules {
		if err := o.countCuts(ctx, op, rules.CutsOf(n), spare, &p.Rules[n]); err != nil {
			return err
		}
	}
	if err := o.countOwn(ctx, op, len(cuts) > 0, spare, &p.Own); err != nil {
		return err
	}
	p.Executions.Exact = true
	if trimmer, ok := provider.As[provider.Trimmer](o.caller.Store.Provider); ok && rules.Trim != nil {
		var err error
		p.Executions, err = o.countTrimmable(ctx, op, trimmer, provider.TrimRequest{Age: rules.Trim.Age, Keep: rules.Trim.Keep})
		if err != nil {
			return err
		}
	}
	return o.countRecords(ctx, op, rules.Audit, &p.Records)
}

// countCuts counts what the cuts of a rule remove. No instance is in two of them.
func (o *Operator) countCuts(ctx context.Context, op string, cuts []retention.Cut, spare []provider.UUID, sum *client.Counted) error {
	for _, cut := range cuts {
		p := pruningOf(cut)
		req, err := p.request()
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		req.Spare = spare
		n, err := o.countPrunable(ctx, op, req, prunePreviewCount-sum.Count)
		if sum.Count += n.Count; err != nil || !n.Exact {
			return err
		}
	}
	sum.Exact = true
	return nil
}

// countOwn counts the instances of perdure itself, which go if a rule removes any instances.
func (o *Operator) countOwn(ctx context.Context, op string, rules bool, spare []provider.UUID, own *client.Counted) error {
	if !rules {
		own.Exact = true
		return nil
	}
	p := systemPruning()
	req, err := p.request()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	req.Spare = spare
	*own, err = o.countPrunable(ctx, op, req, prunePreviewCount)
	return err
}

// countPrunable returns what it has counted also with an error.
func (o *Operator) countPrunable(ctx context.Context, op string, req provider.PruneRequest, most int64) (n client.Counted, err error) {
	req.Look, req.Max = true, provider.MaxBatch
	for n.Count < most && !n.Exact {
		res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Prune, req)
		if err != nil {
			return n, access.Explain(op, 0, err)
		}
		req.Cursor = res.Cursor
		n = client.Counted{Count: n.Count + res.Instances, Exact: res.Cursor == ""}
	}
	return n, nil
}

// countTrimmable returns what it has counted also with an error.
func (o *Operator) countTrimmable(ctx context.Context, op string, trimmer provider.Trimmer, req provider.TrimRequest) (n client.Counted, err error) {
	req.Look, req.Max = true, provider.MaxBatch
	for n.Count < prunePreviewCount && !n.Exact {
		res, err := access.Read(ctx, o.caller.Store, op, trimmer.Trim, req)
		if err != nil {
			return n, access.Explain(op, 0, err)
		}
		req.Cursor = res.Cursor
		n = client.Counted{Count: n.Count + res.Executions, Exact: res.Cursor == ""}
	}
	return n, nil
}

// countRecords counts records of the audit of an age; 0: they stay.
func (o *Operator) countRecords(ctx context.Context, op string, age time.Duration, n *client.Counted) error {
	if age == 0 {
		n.Exact = true
		return nil
	}
	old, err := audit.Old(ctx, o.caller.Store, age, prunePreviewCount)
	if err != nil {
		return access.Explain(op, 0, err)
	}
	*n = client.Counted{Count: int64(len(old)), Exact: len(old) < prunePreviewCount}
	return nil
}

// inTime returns an error of a count, unless it only says that the time of the count is over: what was counted until then is the answer. A store that
// fails until then is an error.
func inTime(ctx, bounded context.Context, err error) error {
	_, failed := errors.AsType[*provider.Error](err)
	if bounded.Err() != nil && ctx.Err() == nil && !failed {
		return nil
	}
	return err
}

func plus(a, b client.Counted) client.Counted {
	return client.Counted{Count: a.Count + b.Count, Exact: a.Exact && b.Exact}
}
