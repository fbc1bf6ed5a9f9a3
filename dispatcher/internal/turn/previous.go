package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// previousRows is among how many instances, the newest first, the run before is looked for. Others may have IDs that begin like those of runs.
const previousRows = 20

// readPrevious returns how the run of the schedule before this one has ended, for the first turn of a run; nil: there is none, or the store does
// not allow its level.
func (f *fetched) readPrevious(working context.Context) (*history.Previous, error) {
	inst := &f.fetch.Instance
	if inst.Execution != 1 || inst.HistoryLength != 0 || !reserved.ID(inst.RequestID) || f.ts.Config.Level.Allowed() < replay.LevelOfLanguage {
		return nil, nil //nolint:nilnil // see above
	}
	schedule, _, ok := reserved.Run(inst.ID, inst.RequestID)
	if !ok {
		return nil, nil //nolint:nilnil // see above
	}
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	list, err := f.ts.Store.List(ctx, provider.ListRequest{Max: previousRows, Filter: provider.Filter{
		IDPrefix: schedule + "/", Name: inst.Name, CreatedBefore: inst.CreatedAt, Statuses: []provider.Status{
			provider.StatusCompleted, provider.StatusFailed, provider.StatusCancelled, provider.StatusTerminated,
		},
	}})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil //nolint:nilnil // the store lists nothing
	case err != nil:
		return nil, &core.StorageError{Err: fmt.Errorf("looking for the run before: %w", err)}
	}
	for i := range list.Instances {
		run := &list.Instances[i]
		if of, _, ok := reserved.Run(run.ID, run.RequestID); ok && of == schedule && run.Key != inst.Key {
			return f.outcomeOf(ctx, run.Key)
		}
	}
	return nil, nil //nolint:nilnil // it is the first
}

// outcomeOf reads how an instance has ended. A list does not say so.
func (f *fetched) outcomeOf(ctx context.Context, key provider.UUID) (*history.Previous, error) {
	res, err := f.ts.Store.Get(ctx, provider.GetRequest{Key: key})
	in := &res.Instance
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return nil, nil //nolint:nilnil // it was deleted
	case err != nil:
		return nil, &core.StorageError{Err: fmt.Errorf("reading the run before: %w", err)}
	case !in.Status.Ended():
		return nil, nil //nolint:nilnil // it was reset
	}
	o, err := history.DecodeOutcome(in.Result)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // a later release has written it
	}
	p := &history.Previous{ID: in.ID, Key: in.Key, Status: int64(in.Status), Ended: int64(in.EndedAt)}
	p.Take(o)
	return p, nil
}
