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
	// auditBatch is how many audit records one step removes.
	auditBatch = 500
	// shareOfTime is how much longer a step rests than the storage took for it. A store under load takes longer, and so is left alone for longer.
	shareOfTime = 20
	// maxFreed is how many bytes one round gives back to the disk.
	maxFreed = 256 << 20
	// systemAge is how long ended schedules and bulk jobs stay.
	systemAge = 30 * 24 * time.Hour
)

// stepRetention makes a step for perdure's own activity: it removes a part of what the rules do not keep. The operator of a principal gets
// client.ErrForbidden: a step writes no audit.
func (o *Operator) stepRetention(
	ctx context.Context, req retention.StepRequest, from *retention.Stepped, heartbeat func(retention.Stepped, bool) error,
) (retention.Stepped, error) {
	if err := o.ofService(ctx, "making a step of retention"); err != nil {
		return retention.Stepped{}, err
	}
	s := retentionStep{o: o, done: retention.Stepped{To: req.From}, until: time.Now().Add(retention.StepTime), heartbeat: heartbeat}
	if from != nil {
		s.done = *from
	}
	if err := s.settle(ctx); err != nil {
		return s.done, err
	}
	rules, _, err := o.rules(ctx, "reading the retention rules")
	if err != nil {
		return s.done, err
	}
	if s.rules = rules; rules.Off() {
		s.done.Off = true
		return s.done, nil
	}
	s.cuts = rules.Cuts()
	for !s.done.Over && time.Now().Before(s.until) {
		began := time.Now()
		n, err := s.next(ctx)
		if err != nil {
			return s.done, err
		}
		if !s.done.Over && !access.Sleep(ctx, s.rest(n, time.Since(began))) {
			return s.done, access.Why(ctx)
		}
	}
	return s.done, nil
}

// A retentionStep is one step of a round.
type retentionStep struct {
	o         *Operator
	rules     retention.Rules
	cuts      []retention.Cut
	done      retention.Stepped
	until     time.Time
	heartbeat func(done retention.Stepped, store bool) error
}

// rest returns how long to leave the store alone after n removals took a time.
func (s *retentionStep) rest(n int64, took time.Duration) time.Duration {
	paced := time.Duration(float64(n) / s.rules.Rate * float64(time.Second))
	return max(paced-took, shareOfTime*took, 0)
}

// next makes one small step of the current part, and returns how much it has removed.
func (s *retentionStep) next(ctx context.Context) (int64, error) {
	switch part := s.done.To.Part - len(s.cuts); {
	case part < 0:
		return s.prune(ctx, s.cuts[s.done.To.Part])
	case part == 0 && len(s.cuts) > 0:
		return s.pruneOwn(ctx)
	case part == 0:
		s.finish("")
		return 0, nil
	case part == 1:
		return s.trim(ctx)
	case part == 2:
		return s.audit(ctx)
	case part == 3:
		return s.space(ctx)
	default:
		s.done.Over = true
		return 0, nil
	}
}

// finish goes on in the current part behind a cursor, or with the next part.
func (s *retentionStep) finish(cursor string) {
	if s.done.To.Cursor = cursor; cursor == "" {
		s.done.To.Part++
	}
}

func (s *retentionStep) prune(ctx context.Context, cut retention.Cut) (int64, error) {
	p := pruningOf(cut)
	return s.pruned(ctx, &p)
}

// pruningOf returns the instances of a cut.
func pruningOf(cut retention.Cut) Pruning {
	p := Pruning{Age: cut.Age, Names: cut.Names, ExceptNames: cut.Except}
	for _, status := range cut.Statuses {
		p.Statuses = append(p.Statuses, client.Status(status.String()))
	}
	return p
}

// systemPruning returns schedules and bulk jobs that ended long ago.
func systemPruning() Pruning { return Pruning{Age: systemAge, system: true} }

// pruneOwn removes schedules and bulk jobs that ended long ago.
func (s *retentionStep) pruneOwn(ctx context.Context) (int64, error) {
	p := systemPruning()
	return s.pruned(ctx, &p)
}

// pruned plans and makes one call of the store.
func (s *retentionStep) pruned(ctx context.Context, p *Pruning) (int64, error) {
	const op = "pruning instances"
	req, err := p.request()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", op, err)
	}
	if req.Spare, err = s.o.exemptRuns(ctx, op); err != nil {
		return 0, err
	}
	req.Max, req.Cursor, req.Look = min(pruneStep, s.rules.Batch), s.done.To.Cursor, true
	res, err := access.Read(ctx, s.o.caller.Store, op, s.o.caller.Store.Prune, req)
	if err != nil {
		return 0, access.Explain(op, 0, err)
	}
	if len(res.Trees) > 0 {
		plan := retention.Plan{}
		for _, t := range res.Trees {
			plan.Trees = append(plan.Trees, retention.Tree(t))
		}
		if err := s.planned(&plan); err != nil {
			return 0, err
		}
		req.Look = false
		if res, err = s.o.caller.Store.Prune(ctx, req); err != nil { // a repeat here would lose count of what went: the next attempt settles it
			return 0, access.Explain(op, 0, err)
		}
	}
	s.done.Plan, s.done.Instances = nil, s.done.Instances+res.Instances
	s.finish(res.Cursor)
	return res.Instances, nil
}

func (s *retentionStep) trim(ctx context.Context) (int64, error) {
	const op = "trimming executions"
	trimmer, ok := provider.As[provider.Trimmer](s.o.caller.Store.Provider)
	if s.rules.Trim == nil || !ok {
		s.finish("")
		return 0, nil
	}
	req := provider.TrimRequest{
		Age: s.rules.Trim.Age, Keep: s.rules.Trim.Keep, Max: min(pruneStep, s.rules.Batch), Cursor: s.done.To.Cursor, Look: true,
	}
	res, err := access.Read(ctx, s.o.caller.Store, op, trimmer.Trim, req)
	if err != nil {
		return 0, access.Explain(op, 0, err)
	}
	plan := retention.Plan{}
	for _, e := range res.Found {
		plan.Executions = append(plan.Executions, retention.Execution(e))
	}
	if err := s.planned(&plan); err != nil {
		return 0, err
	}
	req.Look = false // it also notes ends that an older release has not noted
	if res, err = trimmer.Trim(ctx, req); err != nil {
		return 0, access.Explain(op, 0, err)
	}
	s.done.Plan, s.done.Executions = nil, s.done.Executions+res.Executions
	s.finish(res.Cursor)
	return res.Executions, nil
}

func (s *retentionStep) audit(ctx context.Context) (n int64, err error) {
	if s.rules.Audit == 0 {
		s.finish("")
		return 0, nil
	}
	old, err := audit.Old(ctx, s.o.caller.Store, s.rules.Audit, auditBatch)
	if err != nil {
		return 0, err
	}
	plan := retention.Plan{}
	for i := range old {
		plan.Records = append(plan.Records, old[i].Key)
	}
	if err := s.planned(&plan); err != nil {
		return 0, err
	}
	if err := audit.Remove(ctx, s.o.caller.Store, old); err != nil {
		return 0, err
	}
	n = int64(len(old))
	s.done.Plan, s.done.Audit = nil, s.done.Audit+n
	if n < auditBatch {
		s.finish("")
	}
	return n, nil
}

// space gives free space back. Removals make it, so that a round without any has nothing to do.
func (s *retentionStep) space(ctx context.Context) (int64, error) {
	space, err := s.o.Compact(ctx, Compaction{Limit: compactStep})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return 0, err
	}
	if s.done.Freed += space.Freed; err != nil || space.Freed == 0 || space.Fixed || s.done.Freed >= maxFreed {
		s.finish("")
	}
	return 0, nil
}
