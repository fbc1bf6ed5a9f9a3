package orchestrationtest

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// link is the store as one node sees it. It tells whose turns are stored.
type link struct {
	*store

	node *node
}

// Unwrap returns the store that all nodes share.
func (l *link) Unwrap() provider.Provider { return l.store }

// Create implements provider.Provider.
func (l *link) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return l.create(ctx, l.node, req)
}

// CommitTurn implements provider.Provider.
func (l *link) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return l.commitTurn(ctx, l.node, req)
}

// FetchAsks implements provider.Asker.
func (l *link) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	res, err := l.store.FetchAsks(ctx, req)
	for i := range res.Asks {
		l.observer.asked(ctx, &res.Asks[i])
	}
	return res, err
}

// Answer implements provider.Asker.
func (l *link) Answer(ctx context.Context, req provider.AnswerRequest) error {
	l.observer.answered(ctx, l.node, &req)
	return l.store.Answer(ctx, req)
}
