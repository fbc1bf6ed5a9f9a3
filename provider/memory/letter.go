package memory

import "github.com/perdure/perdure/provider"

// letters holds the dead letters.
type letters struct {
	*store

	list []*letter // by ID
}

// A letter is a dead letter.
type letter struct {
	provider.DeadLetter

	timer bool             // the message was a timer
	task  provider.NewTask // what a redrive queues again, if it is a task
}

func letterOf(i *instance, m provider.Message) *letter {
	return &letter{timer: m.Timer, DeadLetter: provider.DeadLetter{
		Key: i.row.Key, InstanceID: i.row.ID, Execution: m.Execution, EventID: m.EventID, Kind: m.Kind, Payload: m.Payload,
	}}
}

// bury adds a dead letter.
func (ls *letters) bury(l *letter, reason string, now provider.Time) {
	l.ID, l.Reason, l.At = ls.next(), reason, now
	ls.list = append(ls.list, l)
	ls.write()
}
