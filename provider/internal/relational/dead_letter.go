package relational

import "github.com/perdure/perdure/provider"

// DeadLetterRow is a dead letter with what its redrive needs.
type DeadLetterRow struct {
	provider.DeadLetter

	Timer       bool // of a message
	Priority    int  // of a task, as are the next three
	FairnessKey string
	Session     string
	LimitKey    string
}

// Redrive puts a dead letter back to where it came from. It returns false if that is gone.
func (t *Tx) Redrive(l *DeadLetterRow) (bool, error) {
	h, err := t.Head(l.Key)
	if err != nil || h.sendable("", l.Key) != nil {
		return false, err
	}
	if !l.Task {
		m := provider.NewMessage{Kind: l.Kind, Execution: l.Execution, EventID: l.EventID, Payload: l.Payload}
		_, err = inbox{t, h}.put(&m, t.Now, l.Timer && l.Execution == h.Execution)
		return err == nil, err
	}
	if h.Execution != l.Execution {
		return false, nil
	}
	task, err := t.Rows.Task(provider.TaskRef{Key: l.Key, Execution: l.Execution, EventID: l.EventID})
	if err != nil || task != nil {
		return false, err
	}
	t.Touch(l.Key)
	tasks := newTasks{t: t, h: h}
	err = tasks.add(&provider.NewTask{
		EventID: l.EventID, Queue: l.Queue, Name: l.Name, Payload: l.Payload, Priority: l.Priority,
		FairnessKey: l.FairnessKey, Session: l.Session, LimitKey: l.LimitKey,
	})
	return err == nil, err
}
