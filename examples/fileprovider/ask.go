package fileprovider

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// Asks stay in memory, because an ask lives only as long as its call.

// unlocked makes a call about asks. The call blocks in memory, so it does not hold the lock. It returns only when the
// instance states that it saw are on disk.
func unlocked[Req, Res any](ctx context.Context, p *Provider, op string, req Req, call func(context.Context, Req) (Res, error)) (res Res, err error) {
	if err := p.enter(); err != nil {
		return res, err
	}
	defer p.calls.Done()
	got, err := call(ctx, req)
	if failed := p.journal.wait(ctx, op); failed != nil {
		return res, failed
	}
	return got, err
}

// Ask implements provider.Asker.
func (p *Provider) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	return unlocked(ctx, p, "ask", req, p.state.Ask)
}

// FetchAsks implements provider.Asker.
func (p *Provider) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	return unlocked(ctx, p, "fetch asks", req, p.state.FetchAsks)
}

// Answer implements provider.Asker.
func (p *Provider) Answer(ctx context.Context, req provider.AnswerRequest) error {
	_, err := unlocked(ctx, p, "answer", req, func(ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
		return struct{}{}, p.state.Answer(ctx, req)
	})
	return err
}
