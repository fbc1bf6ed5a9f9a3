package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// done returns the answer if the act was stored before. A node may have died after that, or the question went to two of them.
func (o *opening) done(ctx context.Context) (*history.Answer, error) {
	if o.request.ForkID != "" {
		return o.forked(ctx)
	}
	return o.reset(ctx)
}

// reset returns the answer of a reset that the instance remembers among its last acts.
func (o *opening) reset(ctx context.Context) (*history.Answer, error) {
	asking, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	// If the act is none that the instance remembers, the fence refuses the rest of the request.
	res, err := o.Store.Reset(asking, provider.ResetRequest{
		Key: o.inst.Key, Commit: storage.NewToken(), Expected: storage.NewToken(), RequestID: o.request.RequestID,
		Name: o.inst.Name, EngineLevel: o.inst.EngineLevel, Prefix: provider.Prefix{Events: [][]byte{{0}}},
	})
	switch {
	case errors.Is(err, provider.ErrConflict):
		return nil, nil //nolint:nilnil // it was not
	case err != nil:
		return nil, err
	}
	// Other resets and continue-as-new may have come since.
	for n := res.Instance.Execution; n > 1; n-- {
		point, _, err := o.point(ctx, o.inst.Key, n)
		if err != nil {
			return nil, err
		}
		if point != nil {
			return openedAs(o.inst.Key, point.Execution+1), nil
		}
	}
	return &history.Answer{Outcome: history.AnswerOver, Message: fmt.Sprintf(
		"the reset was made, and its execution is not stored any more: execution %d is the current one", res.Instance.Execution)}, nil
}

// forked returns the answer of a fork that was stored before. Another act may have started the instance, even under the same request ID.
func (o *opening) forked(ctx context.Context) (*history.Answer, error) {
	asking, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	res, err := o.Store.Get(asking, provider.GetRequest{ID: o.request.ForkID})
	switch {
	case errors.Is(err, provider.ErrNotFound), err == nil && res.Instance.RequestID != o.request.RequestID:
		return nil, nil //nolint:nilnil // it was not
	case err != nil:
		return nil, err
	}
	return o.isFork(ctx, &res.Instance)
}

// isFork returns the answer for an instance that has the ID and the request ID of the fork.
func (o *opening) isFork(ctx context.Context, found *provider.Instance) (*history.Answer, error) {
	if found.Key != o.request.ForkKey { // else nobody but this question has made it
		switch point, stored, err := o.point(ctx, found.Key, 1); {
		case err != nil:
			return nil, err
		case !stored && found.Execution > 1: // its beginning was trimmed; a fork has a history at once
		case point == nil || point.Key != o.inst.Key:
			return &history.Answer{Outcome: history.AnswerTaken, Message: fmt.Sprintf(
				"instance %q has the request ID of the fork, and is not a fork of %q", found.ID, o.inst.ID)}, nil
		}
	}
	return openedAs(found.Key, 1), nil
}

// point returns the ForkPoint that the act has put into an execution or into the one that it was copied from, nil if there is none. It reports
// whether the history is stored.
func (o *opening) point(ctx context.Context, key provider.UUID, execution int64) (p *history.ForkPoint, stored bool, _ error) {
	for from := int64(1); ; {
		res, err := o.events(ctx, provider.ReadHistoryRequest{Key: key, Execution: execution, From: from})
		if err != nil || len(res.Events) == 0 {
			return nil, from > 1, err
		}
		for _, event := range res.Events {
			e, err := history.Decode(event.ID, event.Data)
			if err != nil {
				return nil, true, fmt.Errorf("event %d of execution %d: %w", event.ID, execution, err)
			}
			switch b := e.Body.(type) {
			case *history.ExecutionStarted:
				if b.Seed == nil { // it opened from no prefix
					return nil, true, nil
				}
			case *history.ForkPoint:
				if b.RequestID == o.request.RequestID {
					return b, true, nil
				}
			}
			from = event.ID + 1
		}
		if !res.More {
			return nil, true, nil
		}
	}
}

// events reads a page of a history, which is empty if the execution is not stored any more.
func (o *opening) events(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	res, err := o.Store.ReadHistory(ctx, req)
	if errors.Is(err, provider.ErrNotFound) {
		return provider.ReadHistoryResult{}, nil
	}
	return res, err
}
