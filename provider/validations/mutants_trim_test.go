package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func forgetsExcept(req *provider.PruneRequest) { req.ExceptNames = nil }

func forgetsSpare(req *provider.PruneRequest) { req.Spare = nil }

// sparesRootsOnly spares an instance only from its own end.
func sparesRootsOnly(req *provider.PruneRequest) { req.Spare = req.Spare[:min(len(req.Spare), 1)] }

func prunesFromTheBeginning(req *provider.PruneRequest) { req.Cursor = "" }

func prunesWithoutCursor(m *mutant) {
	m.prune.after(func(_ provider.PruneRequest, res *provider.PruneResult, _ *error) { res.Cursor = "" })
}

func prunesAtALook(req *provider.PruneRequest) { req.Look = false }

// countsTrees counts each tree once, however many instances it has.
func countsTrees(m *mutant) {
	m.prune.after(func(_ provider.PruneRequest, res *provider.PruneResult, _ *error) {
		for n := range res.Trees {
			res.Trees[n].Instances = 1
		}
	})
}

func trimsAtALook(req *provider.TrimRequest) { req.Look = false }

// trims changes the requests of Trim.
func trims(change func(*provider.TrimRequest)) func(*mutant) {
	return func(m *mutant) { m.trim.before(change) }
}

func keepsOneLess(req *provider.TrimRequest) {
	if req.Keep > 1 {
		req.Keep--
	}
}

func trimsAnyAge(req *provider.TrimRequest) { req.Age = 0 }

func trimsLess(req *provider.TrimRequest) {
	if req.Max == 0 {
		req.Max = 1
	}
}

func looksFromTheBeginning(req *provider.TrimRequest) {
	if req.Look {
		req.Cursor = ""
	}
}

func trimsFromTheBeginning(req *provider.TrimRequest) { req.Cursor = "" }

// trimsOnlyRunning keeps all executions while some instance has ended.
func trimsOnlyRunning(m *mutant) {
	m.trim.around(func(ctx context.Context, req provider.TrimRequest, trim method[provider.TrimRequest, provider.TrimResult]) (provider.TrimResult, error) {
		if len(m.ended(ctx)) > 0 {
			return provider.TrimResult{}, nil
		}
		return trim(ctx, req)
	})
}

// readsTrimmed reads executions that were trimmed as empty ones.
func readsTrimmed(m *mutant) {
	m.history.after(func(req provider.ReadHistoryRequest, res *provider.ReadHistoryResult, err *error) {
		if i := m.stored(context.Background(), req.Key); *err != nil && !i.Key.IsZero() && req.Execution < i.Execution {
			*res, *err = provider.ReadHistoryResult{Execution: req.Execution, Status: provider.StatusContinuedAsNew}, nil
		}
	})
}

// trimsTheYoungest makes the first execution stay when another one goes.
func trimsTheYoungest(m *mutant) {
	var first sync.Map
	m.trim.around(func(ctx context.Context, req provider.TrimRequest, trim method[provider.TrimRequest, provider.TrimResult]) (provider.TrimResult, error) {
		list, _ := m.Provider.List(ctx, provider.ListRequest{})
		for _, i := range list.Instances {
			if kept, err := m.Provider.ReadHistory(ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: 1, From: 1}); err == nil {
				first.Store(i.Key, kept)
			}
		}
		return trim(ctx, req)
	})
	m.history.after(func(req provider.ReadHistoryRequest, res *provider.ReadHistoryResult, err *error) {
		if kept, ok := first.Load(req.Key); ok && *err != nil && req.Execution == 1 {
			*res, _ = kept.(provider.ReadHistoryResult)
			*err = nil
		}
	})
}
