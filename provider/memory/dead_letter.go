package memory

import "github.com/perdure/perdure/provider"

// deadLetters holds the dead letters.
type deadLetters struct {
	*store

	list []*deadLetter // by ID
}

// A deadLetter is one of them.
type deadLetter struct {
	provider.DeadLetter

	timer bool             // the message was a timer
	task  provider.NewTask // what a redrive queues again, if it is a task
}

func deadLetterOf(i *instance, m provider.Message) *deadLetter {
	return &deadLetter{timer: m.Timer, DeadLetter: provider.DeadLetter{
		Key: i.row.Key, InstanceID: i.row.ID, Execution: m.Execution, EventID: m.EventID, Kind: m.Kind, Payload: m.Payload,
	}}
}

// add adds a dead letter.
func (ls *deadLetters) add(l *deadLetter, reason string, now provider.Time) {
	l.ID, l.Reason, l.At = ls.next(), reason, now
	ls.list = append(ls.list, l)
	ls.write()
}
