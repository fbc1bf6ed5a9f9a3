package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// load returns the execution of the turn: the cached one if it is at the stored version, else one rebuilt from the history.
func (f *fetched) load(working context.Context) (*replay.Execution, error) {
	a, inst := f.a, &f.fetch.Instance
	// A longer cached execution is ahead of the fetch, because a fast turn has committed since. If it is on another branch, the fence fails
	// the commit.
	if a.x != nil && a.x.View().Info().Execution == inst.Execution && a.x.View().Info().Runs == inst.CodeVersion && // it was moved otherwise
		(a.version == inst.Version || a.x.View().Length() > inst.HistoryLength) {
		f.ts.begin(&f.run, a.x)
		return a.x, nil
	}
	f.ts.evictor.evict(a)
	body := f.ts.Config.Orchestration(provider.Capability{Name: inst.Name, CodeVersion: inst.CodeVersion})
	if body == nil {
		return nil, fmt.Errorf("orchestration %q version %q is not registered on this node", inst.Name, inst.CodeVersion)
	}
	began := time.Now()
	events, err := f.ts.histories.read(working, inst)
	if err != nil {
		return nil, err
	}
	x := replay.New(f.ts.Config.Env, infoOf(inst), body)
	a.x, a.version, a.limit = x, inst.Version, executionLimit(inst.Attributes)
	if waits(inst.Attributes) {
		x.MayShowWaiting()
	}
	f.source = observe.FromHistory // before the watch knows of the run
	f.ts.begin(&f.run, x)
	if len(events) > 0 {
		f.ts.Count.ColdReplays.Add(1)
		if err := x.Replay(events); err != nil {
			return nil, err
		}
		f.ts.reporter.replayed(x.View(), began)
	}
	return x, nil
}

// readOutcomes reads the outcomes of the actor's instance unless they are known.
func (f *fetched) readOutcomes(working context.Context, x *replay.Execution) error {
	if f.a.outcomesOf == x {
		return nil
	}
	var stored provider.GetResult
	if info := x.View().Info(); info.Execution > 1 || x.View().Stored() > 0 {
		ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
		defer cancel()
		var err error
		if stored, err = f.ts.Store.Get(ctx, provider.GetRequest{Key: info.Key, WithValues: true}); err != nil {
			return &core.StorageError{Err: fmt.Errorf("reading the outcomes of updates: %w", err)}
		}
	}
	all, err := engine.ReadOutcomes(stored.Values)
	if err == nil {
		f.a.outcomes, f.a.outcomesOf = all, x
	}
	return err
}

// historyReader reads histories.
type historyReader struct{ *core.Node }

// read reads and decodes the events up to the length that the fetch returned.
func (h historyReader) read(working context.Context, inst *provider.Instance) ([]history.Event, error) {
	events := make([]history.Event, 0, inst.HistoryLength)
	for int64(len(events)) < inst.HistoryLength {
		page, err := h.readPage(working, inst, int64(len(events))+1)
		if err != nil {
			return nil, err
		}
		for _, stored := range page.Events {
			if stored.ID != int64(len(events))+1 {
				return nil, fmt.Errorf("event %d follows event %d: %w", stored.ID, len(events), history.ErrCorrupt)
			}
			e, err := history.Decode(stored.ID, stored.Data)
			if err != nil {
				return nil, fmt.Errorf("reading history: %w", err)
			}
			events = append(events, e)
		}
		if len(page.Events) == 0 {
			return nil, fmt.Errorf("history has %d events, the instance row says %d: %w",
				len(events), inst.HistoryLength, history.ErrCorrupt)
		}
	}
	return events, nil
}

func (h historyReader) readPage(working context.Context, inst *provider.Instance, from int64) (provider.ReadHistoryResult, error) {
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	page, err := h.Store.ReadHistory(ctx, provider.ReadHistoryRequest{
		Key: inst.Key, Execution: inst.Execution, From: from, To: inst.HistoryLength,
	})
	if err != nil {
		return page, &core.StorageError{Err: fmt.Errorf("reading history: %w", err)}
	}
	return page, nil
}
