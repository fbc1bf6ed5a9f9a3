package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// An ask lives as long as the call that made it.
type ask struct {
	id       provider.UUID
	sequence int64
	key      provider.UUID
	payload  []byte
	taken    provider.Time // until then nobody else gets it
	answered bool
	answer   []byte
}

// Ask implements provider.Provider.
func (p *Provider) Ask(ctx context.Context, req provider.AskRequest) (res provider.AskResult, err error) {
	var mine *ask
	defer func() {
		if mine != nil {
			p.mu.Lock()
			delete(p.asks, req.AskID)
			p.mu.Unlock()
		}
	}()
	err = p.wait(ctx, req, req.Wait, func(now provider.Time) (bool, provider.Time, error) {
		if mine == nil {
			i, err := p.find(req.ID, req.Key)
			if err != nil {
				return false, 0, err
			}
			if p.asks[req.AskID] != nil {
				return false, 0, provider.ErrExists
			}
			p.asked++
			mine = &ask{id: req.AskID, sequence: p.asked, key: i.row.Key, payload: slices.Clone(req.Payload)}
			p.asks[req.AskID] = mine
			p.write()
		}
		if mine.answered {
			res = provider.AskResult{Payload: mine.answer, Now: now}
			return true, 0, nil
		}
		if p.instances[mine.key] == nil {
			return false, 0, provider.ErrNotFound
		}
		return false, 0, nil
	})
	if err == nil && res.Now == 0 {
		err = provider.ErrNoAnswer
	}
	return res, err
}

// FetchAsks implements provider.Provider.
func (p *Provider) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (res provider.FetchAsksResult, err error) {
	able := capabilitySet(req.Capabilities)
	err = p.wait(ctx, req, req.Wait, func(now provider.Time) (bool, provider.Time, error) {
		var open []*ask
		var again provider.Time
		for _, a := range p.asks {
			i := p.instances[a.key]
			if a.answered || i == nil || i.row.EngineLevel > req.EngineLevel ||
				!able[provider.Capability{Name: i.row.Name, CodeVersion: i.row.CodeVersion}] {
				continue
			}
			if a.taken <= now {
				open = append(open, a)
			} else {
				again = sooner(again, a.taken)
			}
		}
		slices.SortFunc(open, func(a, b *ask) int { return cmp.Compare(a.sequence, b.sequence) })
		res = provider.FetchAsksResult{Now: now}
		for _, a := range open[:min(len(open), req.Max)] {
			a.taken = now.Add(req.Lease)
			res.Asks = append(res.Asks, provider.OpenAsk{
				AskID: a.id, Instance: p.instances[a.key].view(), Payload: slices.Clone(a.payload),
			})
		}
		return len(open) > 0, again, nil
	})
	return res, err
}

// Answer implements provider.Provider.
func (p *Provider) Answer(ctx context.Context, req provider.AnswerRequest) error {
	return p.do(ctx, req, func(provider.Time) error {
		a := p.asks[req.AskID]
		if a == nil || a.answered {
			return provider.ErrNotFound
		}
		a.answered, a.answer = true, slices.Clone(req.Payload)
		p.write()
		return nil
	})
}
