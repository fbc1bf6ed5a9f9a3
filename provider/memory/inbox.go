package memory

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// inboxes adds and removes messages in the inboxes of instances.
type inboxes struct{ *store }

// put stores a message in the inbox of i and returns its ID.
func (in *inboxes) put(i *instance, m provider.NewMessage, now provider.Time) int64 {
	i.row.EngineLevel = max(i.row.EngineLevel, m.EngineLevel)
	stored := provider.Message{
		ID: in.next(), Kind: m.Kind, Execution: m.Execution, EventID: m.EventID,
		VisibleAt: now.Add(m.Delay), Payload: slices.Clone(m.Payload),
	}
	in.insert(i, stored, now)
	return stored.ID
}

// putAll stores messages in their order.
func (in *inboxes) putAll(i *instance, list []provider.NewMessage, now provider.Time) {
	for _, m := range list {
		in.put(i, m, now)
	}
}

// room reports whether the messages fit within the limits of the inbox.
func (i *instance) room(list ...provider.NewMessage) bool {
	bytes := i.inboxBytes
	for _, m := range list {
		bytes += int64(len(m.Payload))
	}
	return len(i.inbox)+len(list) <= provider.MaxInboxMessages && bytes <= provider.MaxInboxBytes
}

// putTimer stores a timer of the current execution of i.
func (in *inboxes) putTimer(i *instance, t provider.Timer, now provider.Time) {
	in.insert(i, provider.Message{
		ID: in.next(), Kind: t.Kind, Execution: i.row.Execution, EventID: t.EventID, Timer: true,
		VisibleAt: t.Due, Payload: slices.Clone(t.Payload),
	}, now)
}

// insert keeps the inbox in the order (VisibleAt, ID). m has the highest ID.
func (in *inboxes) insert(i *instance, m provider.Message, now provider.Time) {
	at := len(i.inbox)
	for at > 0 && i.inbox[at-1].VisibleAt > m.VisibleAt {
		at--
	}
	if ready := i.readyAt(); i.leaseUntil > now && ready > now && m.VisibleAt < ready { // m is due before a claim ahead
		i.lease, i.leaseUntil = provider.UUID{}, 0
		i.row.Deliveries = max(0, i.row.Deliveries-1)
	}
	i.inbox = slices.Insert(i.inbox, at, m)
	i.inboxBytes += int64(len(m.Payload))
	in.write()
}

// remove removes the messages that match chooses, and returns them.
func (in *inboxes) remove(i *instance, match func(provider.Message) bool) []provider.Message {
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

// isTimer reports whether m is the timer. All timers in an inbox belong to its current execution, since older ones are removed
// with theirs.
func isTimer(m provider.Message) bool { return m.Timer }
