package memory

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// drop moves one message to the dead letters. The instance stays ready: a reset may have made it so.
func (tn *turns) drop(i *instance, req *provider.SteerRequest, now provider.Time) error {
	n := slices.IndexFunc(i.inbox, func(m provider.Message) bool { return m.ID == req.MessageID })
	if n < 0 {
		return provider.ErrNotFound
	}
	if ready := i.readyAt(); ready <= now {
		i.wokenAt = ready
	}
	m := i.inbox[n]
	i.inbox = slices.Delete(i.inbox, n, n+1)
	i.inboxBytes -= int64(len(m.Payload))
	tn.deadLetters.add(deadLetterOf(i, m), req.Reason, now)
	return nil
}
