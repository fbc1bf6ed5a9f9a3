package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// Provider is a provider whose calls go wrong as its plan says.
type Provider struct {
	inner provider.Provider
	plan  *Plan
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)
)

// Wrap decorates p.
func Wrap(p provider.Provider, plan *Plan) *Provider { return &Provider{inner: p, plan: plan} }

// Unwrap returns the decorated provider.
func (p *Provider) Unwrap() provider.Provider { return p.inner }

// call makes one call under the plan.
func call[Req, Res any](
	ctx context.Context, plan *Plan, op Op, req Req, next func(context.Context, Req) (Res, error),
) (res Res, err error) {
	v := plan.judge(op, req)
	for _, r := range v.delays {
		if err := plan.delay(ctx, r); err != nil {
			return res, err
		}
	}
	if v.before != nil {
		return res, v.before
	}
	got, err := next(ctx, req)
	if err == nil && v.after != nil {
		return res, v.after
	}
	return got, err
}

func (p *Plan) delay(ctx context.Context, r *armed) error {
	if r.Delay > 0 {
		if err := p.Sleep(ctx, r.Delay); err != nil {
			return err
		}
	}
	if r.Until == nil {
		return nil
	}
	select {
	case <-r.Until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Notify implements provider.Notifier. When nothing below has notices, there are none.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) {
	notifier, ok := provider.As[provider.Notifier](p.inner)
	if !ok {
		return func() {}
	}
	return notifier.Notify(func(n provider.Notice) {
		if !p.plan.drops() {
			fn(n)
		}
	})
}

// Close implements provider.Provider.
func (p *Provider) Close() error { return p.inner.Close() }

// Answer implements provider.Provider.
func (p *Provider) Answer(ctx context.Context, req provider.AnswerRequest) error {
	_, err := call(ctx, p.plan, Answer, req, func(ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
		return struct{}{}, p.inner.Answer(ctx, req)
	})
	return err
}
