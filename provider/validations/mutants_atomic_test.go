package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

// brokenAtomic lists mutants that store part of a refused commit, or more than a commit says.
func brokenAtomic() []brokenRule {
	return []brokenRule{
		{name: "a commit sends before it checks completions", caught: "commit/each-part-fails", breaks: sendsThoughLost},
		{name: "a refused commit ends the lease", caught: "commit/refused-keeps-the-lease", breaks: endsLeaseOfRefused},
		{name: "a commit consumes results that came meanwhile", caught: "commit/later-messages-wait", breaks: consumesResults},
	}
}

func sendsThoughLost(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		res, err := commit(ctx, req)
		for _, s := range req.Sends {
			if errors.Is(err, provider.ErrLeaseLost) && s.Key != req.Key {
				_, _ = m.Provider.Send(ctx, provider.SendRequest{ID: s.ID, Key: s.Key, Message: s.Message})
			}
		}
		return res, err
	})
}

func endsLeaseOfRefused(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		res, err := commit(ctx, req)
		if errors.Is(err, provider.ErrConflict) && !req.Lease.IsZero() {
			item := provider.TurnRelease{Key: req.Key, Token: req.Lease}
			_, _ = m.Provider.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
		}
		return res, err
	})
}

func consumesResults(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		inspector, _ := provider.As[provider.Inspector](m.Provider)
		rows, _ := inspector.Inspect(ctx, provider.InspectRequest{Kind: provider.InspectMessages, Key: req.Key})
		named := idSet(req.Consumed)
		for _, row := range rows.Messages {
			if row.EventID != 0 && !row.Timer && !named[row.ID] && !req.Lease.IsZero() {
				req.Consumed = append(req.Consumed, row.ID)
			}
		}
		return commit(ctx, req)
	})
}

func idSet(ids []int64) map[int64]bool {
	set := make(map[int64]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}
