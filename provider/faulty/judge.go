package faulty

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/perdure/perdure/provider"
)

// verdict is the decision on one call.
type verdict struct {
	delays []*armed
	wake   *armed // nil: the provider wakes the call
	before error
	after  error
	cut    bool // the connection breaks during the call
	flight *flight
	served bool // with cut: the call had reached the store
}

// begin decides on one call and begins it. blocks means that the call may wait for a wake-up.
func (p *Plan) begin(ctx context.Context, owner *Provider, op Op, req any, blocks bool) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.judge(op, req, blocks)
	v.flight = p.depart(ctx, owner)
	return v
}

func (p *Plan) judge(op Op, req any, blocks bool) verdict {
	p.calls[op]++
	v := verdict{served: p.chance(0, op, uint64(p.calls[op])) < 0.5}
	if p.outage || p.line.down(p.Now()) {
		p.strike(op, Before)
		v.before = failure(op, provider.OutcomeNothing)
		return v
	}
	for _, r := range p.rules {
		failed := v.before != nil || v.after != nil || v.cut
		if r.Kind.aboutWaking() && !blocks || op == Notify && !r.Kind.aboutWaking() || !p.strikes(r, op, req) {
			continue
		}
		switch {
		case r.Kind == Delay:
			v.delays = append(v.delays, r)
		case r.Kind.aboutWaking():
			if v.wake != nil {
				continue
			}
			v.wake = r
		case failed:
			continue
		case r.Kind == Before:
			v.before = r.error(op, provider.OutcomeNothing)
		case r.Kind == After:
			v.after = r.error(op, provider.OutcomeUnknown)
		case r.Kind == Disconnect:
			v.cut = true
			p.disconnect(line{broken: true, until: r.Until, back: p.Now().Add(r.Delay)})
		}
		p.strike(op, r.Kind)
	}
	return v
}

func (p *Plan) strikes(r *armed, op Op, req any) bool {
	if (len(r.Ops) > 0 && !slices.Contains(r.Ops, op)) || (r.Match != nil && !r.Match(req)) {
		return false
	}
	r.seen++
	r.chosen[op]++
	always := r.First == 0 && r.Every == 0 && r.Probability == 0
	return always || r.seen <= r.First || (r.Every > 0 && r.seen%r.Every == 0) ||
		p.chance(r.number, op, r.chosen[op]) < r.Probability
}

// chance returns a number from 0 up to 1 for the n-th call of op under a rule. It does not depend on calls of other methods,
// whose order among goroutines varies.
func (p *Plan) chance(rule uint64, op Op, n uint64) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(op)) // it never fails
	return rand.New(rand.NewPCG(p.seed^h.Sum64(), rule<<32^n)).Float64()
}

func (r *armed) error(op Op, outcome provider.Outcome) error {
	if r.Err != nil {
		return r.Err
	}
	return failure(op, outcome)
}

func failure(op Op, outcome provider.Outcome) error {
	return &provider.Error{Op: string(op), Outcome: outcome, Retryable: true, Err: ErrInjected}
}
