package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// asks holds the open questions.
type asks struct {
	*store

	instances *instances
	open      map[provider.UUID]*ask
	count     int64 // number of questions so far; they leave no gaps in other numbers
}

// An ask lives as long as the call that made it.
type ask struct {
	id          provider.UUID
	sequence    int64
	key         provider.UUID
	as          provider.Capability // zero: that of the instance
	ownerOnly   provider.Time       // left to the owner of the instance until then
	payload     []byte
	hiddenUntil provider.Time // hidden from other fetches until then
	answered    bool
	answer      []byte
	changed     chan struct{} // has room for one
}

// wake wakes the call that asked.
func (a *ask) wake() {
	select {
	case a.changed <- struct{}{}:
	default: // it has not polled since the last time
	}
}

// wakeAll wakes the calls that asked an instance, which is removed.
func (as *asks) wakeAll(key provider.UUID) {
	for _, a := range as.open {
		if a.key == key {
			a.wake()
		}
	}
}

// Ask implements provider.Asker.
func (as *asks) Ask(ctx context.Context, req provider.AskRequest) (res provider.AskResult, err error) {
	var mine *ask
	defer func() {
		if mine != nil {
			as.mu.Lock()
			delete(as.open, req.AskID)
			as.mu.Unlock()
		}
	}()
	changed := make(chan struct{}, 1)
	err = as.waitFor(ctx, req, req.Wait, changed, func(now provider.Time) (bool, provider.Time, error) {
		as.counts.AskLooks++
		if mine == nil {
			i, err := as.instances.find(req.ID, req.Key)
			if err == nil && i.row.Deleting {
				err = i.free()
			}
			if err != nil {
				return false, 0, err
			}
			if as.open[req.AskID] != nil {
				return false, 0, provider.ErrExists
			}
			as.count++
			mine = &ask{
				id: req.AskID, sequence: as.count, key: i.row.Key, as: req.As, ownerOnly: now.Add(provider.AskHome),
				payload: slices.Clone(req.Payload), changed: changed,
			}
			as.open[req.AskID] = mine
			as.write()
		}
		if mine.answered {
			res = provider.AskResult{Payload: mine.answer, Now: now}
			return true, 0, nil
		}
		if as.instances.byKey[mine.key] == nil {
			return false, 0, provider.ErrNotFound
		}
		return false, 0, nil
	})
	if err == nil && res.Now == 0 {
		err = provider.ErrNoAnswer
	}
	return res, err
}

// wants returns the capability that the question needs.
func (a *ask) wants(i *instance) provider.Capability {
	if a.as != (provider.Capability{}) {
		return a.as
	}
	return provider.Capability{Name: i.row.Name, CodeVersion: i.row.CodeVersion}
}

// ownerOnlyFor returns until when a fetch of owner must leave the question alone.
func (a *ask) ownerOnlyFor(i *instance, owner string) provider.Time {
	if owner == "" || i.owner == owner {
		return 0
	}
	return min(a.ownerOnly, i.ownerUntil)
}

// FetchAsks implements provider.Asker.
func (as *asks) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (res provider.FetchAsksResult, err error) {
	able := capabilitySet(req.Capabilities)
	err = as.wait(ctx, req, req.Wait, func(now provider.Time) (bool, provider.Time, error) {
		var open []*ask
		var again provider.Time
		for _, a := range as.open {
			i := as.instances.byKey[a.key]
			if a.answered || i == nil || i.row.EngineLevel > req.EngineLevel || !able[a.wants(i)] {
				continue
			}
			if free := max(a.hiddenUntil, a.ownerOnlyFor(i, req.Owner)); free <= now {
				open = append(open, a)
			} else {
				again = sooner(again, free)
			}
		}
		slices.SortFunc(open, func(a, b *ask) int { return cmp.Compare(a.sequence, b.sequence) })
		res = provider.FetchAsksResult{Now: now}
		for _, a := range open[:min(len(open), req.Max)] {
			a.hiddenUntil = now.Add(req.Lease)
			res.Asks = append(res.Asks, provider.OpenAsk{
				AskID: a.id, Instance: as.instances.byKey[a.key].view(), Payload: slices.Clone(a.payload),
			})
		}
		return len(open) > 0, again, nil
	})
	return res, err
}

// Answer implements provider.Asker.
func (as *asks) Answer(ctx context.Context, req provider.AnswerRequest) error {
	return as.do(ctx, req, func(provider.Time) error {
		a := as.open[req.AskID]
		if a == nil || a.answered {
			return provider.ErrNotFound
		}
		a.answered, a.answer = true, slices.Clone(req.Payload)
		a.wake()
		as.counts.Commits++ // it concerns no other call
		return nil
	})
}
