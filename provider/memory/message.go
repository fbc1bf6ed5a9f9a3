package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// put stores a message in the inbox of i and answers its ID.
func (p *Provider) put(i *instance, m provider.NewMessage, now provider.Time) int64 {
	stored := provider.Message{
		ID: p.next(), Kind: m.Kind, Execution: m.Execution, EventID: m.EventID,
		VisibleAt: now.Add(m.Delay), Payload: slices.Clone(m.Payload),
	}
	p.insert(i, stored, now)
	return stored.ID
}

// putTimer stores a timer of the current execution of i.
func (p *Provider) putTimer(i *instance, t provider.Timer, now provider.Time) {
	p.insert(i, provider.Message{
		ID: p.next(), Kind: t.Kind, Execution: i.row.Execution, EventID: t.EventID, Timer: true,
		VisibleAt: t.Due, Payload: slices.Clone(t.Payload),
	}, now)
}

// insert keeps the inbox in the order (VisibleAt, ID). m has the highest ID.
func (p *Provider) insert(i *instance, m provider.Message, now provider.Time) {
	at := len(i.inbox)
	for at > 0 && i.inbox[at-1].VisibleAt > m.VisibleAt {
		at--
	}
	if ready := i.readyAt(); i.leaseUntil > now && ready > now && m.VisibleAt < ready { // it overtakes a claim ahead
		i.lease, i.leaseUntil = provider.UUID{}, 0
		i.row.Deliveries = max(0, i.row.Deliveries-1)
	}
	i.inbox = slices.Insert(i.inbox, at, m)
	i.inboxBytes += int64(len(m.Payload))
	p.write()
}

// remove takes the messages out of the inbox that match chooses, and answers them.
func (p *Provider) remove(i *instance, match func(provider.Message) bool) []provider.Message {
	var kept, removed []provider.Message
	for _, m := range i.inbox {
		if match(m) {
			removed = append(removed, m)
			i.inboxBytes -= int64(len(m.Payload))
		} else {
			kept = append(kept, m)
		}
	}
	i.inbox = kept
	return removed
}

// isTimer tells whether m is a timer; all timers in an inbox are of its current execution,
// as those of older ones are removed with it.
func isTimer(m provider.Message) bool { return m.Timer }

// receiver answers the instance if it takes messages.
func (p *Provider) receiver(id string, key provider.UUID) (*instance, error) {
	i, err := p.find(id, key)
	if err == nil && i.row.Status.Ended() {
		return nil, provider.ErrEnded
	}
	return i, err
}

// Send implements provider.Provider.
func (p *Provider) Send(ctx context.Context, req provider.SendRequest) (res provider.SendResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		i, id, err := p.send(req, now)
		if err != nil {
			return err
		}
		res = provider.SendResult{Key: i.row.Key, MessageID: id, Now: now}
		return nil
	})
	return res, err
}

// send puts a message into the inbox of whom it names.
func (p *Provider) send(req provider.SendRequest, now provider.Time) (to *instance, id int64, err error) {
	to, err = p.receiver(req.ID, req.Key)
	if err != nil {
		return nil, 0, err
	}
	if len(to.inbox) >= provider.MaxInboxMessages || to.inboxBytes+int64(len(req.Message.Payload)) > provider.MaxInboxBytes {
		return nil, 0, provider.ErrInboxFull
	}
	return to, p.put(to, req.Message, now), nil
}
