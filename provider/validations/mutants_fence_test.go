package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenFence() []brokenRule {
	return []brokenRule{
		{name: "a commit looks at the version before it locks", caught: "fence/racing-commits", racing: true, breaks: fencesTooEarly},
	}
}

func fencesTooEarly(m *mutant) {
	var mu sync.Mutex
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		seen := m.stored(ctx, req.Key)
		if seen.Version != req.Expected || seen.HistoryLength != req.Length {
			return commit(ctx, req)
		}
		window()
		mu.Lock()
		defer mu.Unlock()
		now := m.stored(ctx, req.Key)
		if !now.Key.IsZero() && now.Version != req.Commit {
			req.Expected, req.Length = now.Version, now.HistoryLength
		}
		return commit(ctx, req)
	})
}
