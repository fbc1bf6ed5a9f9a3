package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// turns implements the calls that create and change instances: by turns, messages and operators.
type turns struct {
	*store

	instances   *instances
	inboxes     *inboxes
	deadLetters *deadLetters
	tasks       *tasks
}

// FetchTurns implements provider.Provider.
func (tn *turns) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (res provider.FetchTurnsResult, err error) {
	able := capabilitySet(req.Capabilities)
	err = tn.wait(ctx, req, req.Wait, func(now provider.Time) (bool, provider.Time, error) {
		var ready []*instance
		var again provider.Time
		for _, i := range tn.instances.live {
			if !able[provider.Capability{Name: i.row.Name, CodeVersion: i.row.CodeVersion}] || i.row.EngineLevel > req.EngineLevel {
				continue
			}
			at := i.fetchableAt(req.Owner, now)
			if at == i.readyAt() && at <= now.Add(req.Ahead) {
				at = min(at, now)
			}
			switch {
			case at == 0:
			case at <= now:
				ready = append(ready, i)
			case at == i.readyAt():
				again = sooner(again, at.Add(-req.Ahead))
			default:
				again = sooner(again, at)
			}
		}
		slices.SortFunc(ready, func(a, b *instance) int {
			return cmp.Or(cmp.Compare(a.readyAt(), b.readyAt()), slices.Compare(a.row.Key[:], b.row.Key[:]))
		})
		res = provider.FetchTurnsResult{Now: now}
		for _, i := range ready[:min(len(ready), req.Max)] {
			res.Turns = append(res.Turns, i.take(&req, now))
			tn.write()
		}
		return len(ready) > 0, again, nil
	})
	return res, err
}

func capabilitySet(list []provider.Capability) map[provider.Capability]bool {
	set := make(map[provider.Capability]bool, len(list))
	for _, c := range list {
		set[c] = true
	}
	return set
}

// fetchableAt is when owner can fetch the instance, as far as is known now. It is 0 if only a change of the store can make it
// fetchable.
func (i *instance) fetchableAt(owner string, now provider.Time) provider.Time {
	at := i.readyAt()
	if at == 0 || i.row.Status != provider.StatusRunning {
		return 0
	}
	if b := i.row.Blocked; b != nil {
		if b.RetryAt == 0 {
			return 0
		}
		at = max(at, b.RetryAt)
	}
	if i.ownerUntil > now && i.owner != owner {
		at = max(at, i.ownerUntil)
	}
	return max(at, i.leaseUntil, i.heldUntil)
}

// take leases the instance and returns its visible messages.
func (i *instance) take(req *provider.FetchTurnsRequest, now provider.Time) provider.Turn {
	i.lease, i.leaseOwner, i.leaseUntil = req.Token, req.Owner, now.Add(req.Lease)
	i.row.Deliveries++
	turn := provider.Turn{Instance: i.view()}
	count, room := cmp.Or(req.MaxMessages, provider.MaxFetchMessages), cmp.Or(req.MaxBytes, provider.MaxFetchBytes)
	for n, m := range i.inbox {
		if m.VisibleAt > now.Add(req.Ahead) {
			break
		}
		room -= len(m.Payload)
		if n == count || (n > 0 && room < 0) {
			turn.More = true
			break
		}
		m.Payload = slices.Clone(m.Payload)
		turn.Messages = append(turn.Messages, m)
	}
	return turn
}

// ReleaseTurns implements provider.Provider.
func (tn *turns) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (res provider.ReleaseTurnsResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		for _, item := range req.Items {
			if item.Kind == provider.ReleaseToken {
				tn.releaseAll(item, now)
				res.Errs = append(res.Errs, nil)
				continue
			}
			i := tn.instances.live[item.Key]
			if item.Kind == provider.ReleaseUnpin {
				tn.unpin(i, item.Owner)
				res.Errs = append(res.Errs, nil)
				continue
			}
			if i == nil || i.lease != item.Token {
				res.Errs = append(res.Errs, provider.ErrLeaseLost)
				continue
			}
			i.release(item, now)
			tn.write()
			res.Errs = append(res.Errs, nil)
		}
		return nil
	})
	return res, err
}

// releaseAll ends the unexpired leases that a token holds.
func (tn *turns) releaseAll(item provider.TurnRelease, now provider.Time) {
	for _, i := range tn.instances.live {
		if i.lease == item.Token && i.leaseUntil > now {
			i.release(item, now)
			tn.write()
		}
	}
}

// unpin ends the stickiness of an instance, if owner has it.
func (tn *turns) unpin(i *instance, owner string) {
	if i != nil && i.owner == owner {
		i.owner, i.ownerUntil = "", 0
		tn.write()
	}
}

func (i *instance) release(item provider.TurnRelease, now provider.Time) {
	i.lease, i.leaseUntil = provider.UUID{}, 0
	i.owner, i.ownerUntil = "", 0
	if item.Kind != provider.ReleaseFailed {
		i.row.Deliveries = max(0, i.row.Deliveries-1)
		i.heldUntil = now.Add(item.Delay)
		return
	}
	b := i.row.Blocked
	if b == nil {
		b = &provider.Blocked{Since: now}
		i.row.Blocked = b
	}
	b.Count++
	b.Reason, b.Message = item.Failure.Reason, item.Failure.Message
	b.RetryAt = now.Add(item.Delay)
	if item.Failure.Hold {
		b.RetryAt = 0
	}
}
