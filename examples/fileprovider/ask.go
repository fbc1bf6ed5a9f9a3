package fileprovider

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// A question lives as long as the call that asks it, so that questions stay in memory: who asked is gone after a crash.

// beside makes a call that concerns questions. It blocks in memory, so it does not hold the lock; what it tells of
// instances must be on disk all the same.
func beside[Req, Res any](ctx context.Context, p *Provider, op string, req Req, call func(context.Context, Req) (Res, error)) (res Res, err error) {
	if err := p.enter(); err != nil {
		return res, err
	}
	defer p.calls.Done()
	got, err := call(ctx, req)
	rests, _ := p.journal.state() // of a disk that has failed, the last group says so
	if failed := rests.wait(ctx, op); failed != nil {
		return res, failed
	}
	return got, err
}

// Ask implements provider.Provider.
func (p *Provider) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	return beside(ctx, p, "ask", req, p.state.Ask)
}

// FetchAsks implements provider.Provider.
func (p *Provider) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	return beside(ctx, p, "fetch asks", req, p.state.FetchAsks)
}

// Answer implements provider.Provider.
func (p *Provider) Answer(ctx context.Context, req provider.AnswerRequest) error {
	_, err := beside(ctx, p, "answer", req, func(ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
		return struct{}{}, p.state.Answer(ctx, req)
	})
	return err
}
