package operate

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/provider"
)

// planned stores what is removed next, unless that is nothing.
func (s *retentionStep) planned(p *retention.Plan) error {
	if len(p.Trees)+len(p.Executions)+len(p.Records) == 0 {
		return nil
	}
	s.done.Plan = p
	return s.heartbeat(s.done, true)
}

// settle counts what a lost attempt has removed of its plan. The rest of the plan is found again.
func (s *retentionStep) settle(ctx context.Context) error {
	p := s.done.Plan
	if p == nil {
		return nil
	}
	gone := s.done.Removed
	for _, t := range p.Trees {
		is, err := s.treeIsGone(ctx, t.Key)
		if err != nil {
			return err
		}
		if is {
			gone.Instances += t.Instances
		}
	}
	for _, e := range p.Executions {
		is, err := s.executionIsGone(ctx, e)
		if err != nil {
			return err
		}
		if is {
			gone.Executions++
		}
	}
	records, err := audit.Gone(ctx, s.o.caller.Store, p.Records)
	if err != nil {
		return err
	}
	gone.Audit += records
	s.done.Removed, s.done.Plan = gone, nil
	return nil
}

// treeIsGone reports whether a tree is gone. One whose removal has begun is removed.
func (s *retentionStep) treeIsGone(ctx context.Context, key provider.UUID) (bool, error) {
	const op = "looking for a pruned instance"
	res, err := access.Read(ctx, s.o.caller.Store, op, s.o.caller.Store.Get, provider.GetRequest{Key: key})
	if err == nil && res.Instance.Deleting {
		_, err = access.Read(ctx, s.o.caller.Store, op, s.o.caller.Store.Delete, provider.DeleteRequest{Key: key})
		if err == nil {
			return true, nil
		}
	}
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return true, nil
	case err != nil && !errors.Is(err, provider.ErrMoved): // an instance that moves reads as one whose removal has begun
		return false, access.Explain(op, 0, err)
	}
	return false, nil
}

func (s *retentionStep) executionIsGone(ctx context.Context, e retention.Execution) (bool, error) {
	const op = "looking for a trimmed execution"
	_, err := access.Read(ctx, s.o.caller.Store, op, s.o.caller.Store.ReadHistory, provider.ReadHistoryRequest{Key: e.Key, Execution: e.Execution, From: 1, To: 1})
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return true, nil
	case err != nil:
		return false, access.Explain(op, 0, err)
	}
	return false, nil
}
