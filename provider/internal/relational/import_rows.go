package relational

import "github.com/perdure/perdure/provider"

// store stores the lists of a page and counts it.
func (a pageImport) store() error {
	t, p, key := a.t, &a.req.Parcel, a.req.Key
	for i := range p.History {
		if err := a.events(&p.History[i]); err != nil {
			return err
		}
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		err := t.Rows.PutMessage(key, &Message{
			Place: Place{VisibleAt: m.VisibleAt, ID: m.ID}, Kind: m.Kind, Timer: m.Timer, Execution: m.Execution, EventID: m.EventID, Payload: m.Payload,
		})
		if err != nil {
			return err
		}
	}
	for _, v := range p.Values {
		if err := t.Rows.SetValue(key, v); err != nil {
			return err
		}
	}
	if err := a.tasks(); err != nil {
		return err
	}
	if err := a.deadLetters(); err != nil {
		return err
	}
	a.s.pages = int64(a.req.Number) + 1
	if !a.req.Last {
		return t.putSeal(a.s)
	}
	a.s.State = provider.SealClosed
	err := t.Rows.Query(Query{SQL: sqlInboxSize, Args: []any{key}, Writes: true, Each: func(Row) error { return nil }})
	if err != nil {
		return err
	}
	if err := t.reread(key); err != nil {
		return err
	}
	return t.putSeal(a.s)
}

func (a pageImport) events(m *provider.MovedEvents) error {
	t := a.t
	t.packed, _ = PackEvents(t.packed, m.Events)
	at := &Head{Key: a.req.Key, Execution: m.Execution, Length: m.First - 1}
	return t.Rows.AppendEvents(at, len(m.Events), t.packed)
}

// tasks stores the tasks, withheld from fetches.
func (a pageImport) tasks() error {
	t, moments := a.t, make([]Query, 0, len(a.req.Parcel.Tasks))
	for i := range a.req.Parcel.Tasks {
		m := &a.req.Parcel.Tasks[i]
		task, err := a.task(m)
		if err != nil {
			return err
		}
		err = t.Rows.AddTask(task, &provider.NewTask{
			EventID: m.EventID, Queue: m.Queue, Name: m.Name, Payload: m.Payload, Priority: m.Priority, FairnessKey: m.FairnessKey,
			Session: m.Session, LimitKey: m.LimitKey,
		})
		if err != nil {
			return err
		}
		if err := t.Rows.StoreTask(task, m.Details); err != nil {
			return err
		}
		moments = append(moments, Query{
			SQL: sqlScheduled, Args: []any{m.Key, m.Execution, m.EventID, int64(m.ScheduledAt)}, Writes: true, Each: func(Row) error { return nil },
		})
	}
	if len(moments) == 0 {
		return nil
	}
	return t.Rows.Query(moments...)
}

// task returns a task as it is to be stored. The kind without a rank is stored first, as for a new task.
func (a pageImport) task(m *provider.MovedTask) (*Task, error) {
	task := &Task{
		TaskRef: m.TaskRef, Session: m.Session, State: m.State, Attempt: m.Attempt, Deliveries: m.Deliveries, Token: m.Token,
		Cancel: m.CancelRequested, Begun: m.Begun, NotBefore: m.NotBefore, StartBy: m.StartBy, Deadline: m.Deadline, Rank: m.Rank, Failure: m.Failure,
	}
	kind := TaskKind{TaskFilter: TaskFilter{m.Queue, m.Name}, Priority: int64(m.Priority)}
	if m.Session != "" {
		kind.Class |= InSession
	}
	var err error
	if task.Kind, err = taskNumber(a.t.Rows, kind); err == nil && m.Rank != 0 {
		kind.Class |= Ranked
		task.Kind, err = taskNumber(a.t.Rows, kind)
	}
	return task, err
}

func (a pageImport) deadLetters() error {
	queries := make([]Query, 0, len(a.req.Parcel.Letters))
	for i := range a.req.Parcel.Letters {
		l := &a.req.Parcel.Letters[i]
		queries = append(queries, Query{SQL: sqlMoveDeadLetter, Writes: true, Each: func(Row) error { return nil }, Args: []any{
			l.Task, l.Key, l.InstanceID, l.Execution, l.EventID, int64(l.Kind), l.Timer, l.Queue, l.Name, int64(l.Priority), l.Reason,
			int64(l.At), l.Payload, l.FairnessKey, l.Session, l.LimitKey,
		}})
	}
	if len(queries) == 0 {
		return nil
	}
	return a.t.Rows.Query(queries...)
}
