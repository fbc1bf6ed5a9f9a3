package faulty

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// A look is a call that blocks for up to wait and reports whether it has found anything.
type look[Res any] func(ctx context.Context, wait time.Duration) (res Res, found bool, err error)

// block makes one call that may block, under the plan.
func block[Res any](ctx context.Context, p *Provider, op Op, req any, wait time.Duration, next look[Res]) (Res, error) {
	return fly(ctx, p, op, req, wait > 0, func(f *flight, wake *armed) (res Res, err error) {
		switch {
		case wake == nil:
			res, _, err = next(f.ctx, wait)
			return res, err
		case wake.Kind == DuplicateWake:
			res, _, err = next(f.ctx, min(wait, wake.Delay))
			return res, err
		default:
			return deaf(f.ctx, p.plan, min(wait, provider.MaxWait), wake.Delay, next)
		}
	})
}

// deaf blocks without wake-ups: it looks at the beginning, at each interval and at the end.
func deaf[Res any](ctx context.Context, plan *Plan, wait, interval time.Duration, next look[Res]) (Res, error) {
	for {
		res, found, err := next(ctx, 0)
		if found || err != nil || wait <= 0 {
			return res, err
		}
		nap := wait
		if interval > 0 {
			nap = min(nap, interval)
		}
		if err := plan.Sleep(ctx, nap); err != nil {
			return res, err
		}
		wait -= nap
	}
}

// FetchTurns implements provider.Provider.
func (p *Provider) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return block(ctx, p, FetchTurns, req, req.Wait, func(ctx context.Context, wait time.Duration) (provider.FetchTurnsResult, bool, error) {
		req.Wait = wait
		res, err := p.inner.FetchTurns(ctx, req)
		return res, len(res.Turns) > 0, err
	})
}

// FetchTasks implements provider.Provider.
func (p *Provider) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return block(ctx, p, FetchTasks, req, req.Wait, func(ctx context.Context, wait time.Duration) (provider.FetchTasksResult, bool, error) {
		req.Wait = wait
		p.invents()
		res, err := p.inner.FetchTasks(ctx, req)
		for i := range res.Tasks {
			p.leases(res.Tasks[i].TaskRef)
		}
		return res, len(res.Tasks) > 0, err
	})
}

// FetchAsks implements provider.Asker.
func (p *Provider) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	return block(ctx, p, FetchAsks, req, req.Wait, func(ctx context.Context, wait time.Duration) (provider.FetchAsksResult, bool, error) {
		req.Wait = wait
		res, err := p.inner.FetchAsks(ctx, req)
		return res, len(res.Asks) > 0, err
	})
}

// Get implements provider.Provider. An ID means the same instance at each look.
func (p *Provider) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	wait := req.Wait
	if !req.Waits() {
		wait = 0
	}
	var began provider.Time
	return block(ctx, p, Get, req, wait, func(ctx context.Context, wait time.Duration) (provider.GetResult, bool, error) {
		req.Wait = wait
		res, err := p.inner.Get(ctx, req)
		req.Key = res.Instance.Key
		if began == 0 {
			began = res.Now
		}
		early := req.Mark != "" && wait == 0 && res.Now < began.Add(provider.MarkPace)
		return res, !early && req.Ends(&res), err
	})
}
