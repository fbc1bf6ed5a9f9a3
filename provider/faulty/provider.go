package faulty

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure/provider"
)

// Provider is a provider whose calls fail as its plan says.
type Provider struct {
	inner  *provider.Full
	plan   *Plan
	closed bool // guarded by the plan's lock, as are the next two

	leased   []provider.TaskRef // recently
	invented int

	listeners sync.RWMutex
	notices   map[*func(provider.Notice)]struct{} // guarded by listeners
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Asker    = (*Provider)(nil)
	_ provider.Lister   = (*Provider)(nil)
	_ provider.Meter    = (*Provider)(nil)
	_ provider.Cleaner  = (*Provider)(nil)
	_ provider.Redriver = (*Provider)(nil)
	_ provider.Keeper   = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)

	_ provider.FailureGrouper = (*Provider)(nil)
)

// Wrap decorates p. The result has the optional interfaces of p, as far as provider.As finds them.
func Wrap(p provider.Provider, plan *Plan) *Provider {
	return &Provider{inner: provider.FullOf(p), plan: plan}
}

// Unwrap returns the decorated provider.
func (p *Provider) Unwrap() provider.Provider { return p.inner.Provider }

// call makes one call under the plan.
func call[Req, Res any](
	ctx context.Context, p *Provider, op Op, req Req, next func(context.Context, Req) (Res, error),
) (Res, error) {
	return fly(ctx, p, op, req, false, func(f *flight, _ *armed) (Res, error) {
		if op.reads() || op == Ask {
			return next(f.ctx, req) //nolint:contextcheck // it comes from ctx
		}
		return next(ctx, req) // continues in the store when the connection breaks
	})
}

// fly makes one call, which may block, under the plan.
func fly[Res any](ctx context.Context, p *Provider, op Op, req any, blocks bool, next func(*flight, *armed) (Res, error)) (res Res, err error) {
	v := p.plan.begin(ctx, p, op, req, blocks)
	defer p.plan.land(v.flight)
	for _, r := range v.delays {
		if err := p.plan.delay(v.flight.ctx, r); err != nil { //nolint:contextcheck // it comes from ctx
			v.cut = v.flight.lost()
			if !v.cut {
				return res, v.flight.why()
			}
			break
		}
	}
	if v.before != nil {
		return res, v.before
	}
	if v.cut {
		if v.served && !op.reads() && !blocks && op != Ask {
			_, _ = next(&flight{ctx: ctx}, nil) // the call had reached the store, and no caller waits for the result
		}
		return res, failure(op, op.outcome())
	}
	got, err := next(v.flight, v.wake)
	switch {
	case v.flight.lost():
		return res, failure(op, op.outcome())
	case err != nil && v.flight.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return res, v.flight.why()
	case err == nil && v.after != nil:
		return res, v.after
	}
	return got, err
}

// reads reports whether the method changes nothing.
func (o Op) reads() bool {
	switch o {
	case Get, ReadHistory, List, Count, ListTasks, FailureGroups, Stats, Export, Seals:
		return true
	default:
		return false
	}
}

// outcome returns what is known of a call whose connection broke.
func (o Op) outcome() provider.Outcome {
	if o.reads() {
		return provider.OutcomeNothing
	}
	return provider.OutcomeUnknown
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

// Close implements provider.Provider.
func (p *Provider) Close() error {
	p.plan.ground(p)
	return p.inner.Close()
}

// Answer implements provider.Asker.
func (p *Provider) Answer(ctx context.Context, req provider.AnswerRequest) error {
	_, err := call(ctx, p, Answer, req, func(ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
		return struct{}{}, p.inner.Answer(ctx, req)
	})
	return err
}
