package relational

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// exportPlace is how far an export is: a part, and its last row.
type exportPlace struct {
	part int
	a, b int64
	name string
}

// next goes on to the next part.
func (p *exportPlace) next() { *p = exportPlace{part: p.part + 1} }

func (p *exportPlace) cursor() string {
	text, err := json.Marshal([]any{p.part, p.a, p.b, []byte(p.name)})
	if err != nil {
		panic(err) // the types are plain
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func readExportCursor(cursor string) (p exportPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	var name []byte
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, &[]any{&p.part, &p.a, &p.b, &name})
	}
	if err != nil || p.part <= exportHead || p.part >= exportEnd {
		return p, fmt.Errorf("export: Cursor: %w: %q was not made by Export", provider.ErrInvalid, cursor)
	}
	p.name = string(name)
	return p, nil
}

func (e *export) events(r Row) (bytes int, err error) {
	m := provider.MovedEvents{Execution: r.Int(0), First: r.Int(1)}
	e.at.a, e.at.b = m.Execution, m.First
	data := r.VerifiedBlob(3)
	for n := r.Int(2); n > 0; n-- {
		event, rest, err := NextEvent(data)
		if err != nil {
			return 0, fmt.Errorf("%w: execution %d: events from %d on: %w", ErrRow, m.Execution, m.First, err)
		}
		m.Events = append(m.Events, append([]byte{}, event...))
		bytes, data = bytes+len(event), rest
	}
	e.res.Parcel.History = append(e.res.Parcel.History, m)
	return bytes, nil
}

func (e *export) message(r Row) (bytes int, err error) {
	m := provider.Message{
		VisibleAt: timeIn(r, 0), ID: r.Int(1), Kind: provider.MessageKind(r.Int(2)), Timer: r.Bool(3), Execution: r.Int(4), EventID: r.Int(5),
		Payload: r.VerifiedBlob(6),
	}
	e.at.a, e.at.b = int64(m.VisibleAt), m.ID
	e.res.Parcel.Messages = append(e.res.Parcel.Messages, m)
	return len(m.Payload), nil
}

// task reads a task. That of an ended execution may still be leased.
func (e *export) task(r Row) (bytes int, err error) {
	kind := StoredTaskKind(r.Text(2), r.Text(3), r.Int(4))
	m := provider.MovedTask{
		TaskRef: provider.TaskRef{Key: e.req.Key, Execution: r.Int(0), EventID: r.Int(1)}, Queue: kind.Queue, Name: kind.Name,
		Priority: int(kind.Priority), State: provider.TaskState(r.Int(5)), Attempt: r.Int(6), Deliveries: r.Int(7), Token: r.UUID(8),
		CancelRequested: r.Bool(9), ScheduledAt: timeIn(r, 10), NotBefore: timeIn(r, 11), StartBy: timeIn(r, 12), Deadline: timeIn(r, 13),
		Begun: r.Bool(14), Rank: timeIn(r, 15), FairnessKey: r.Text(16), Session: r.Text(17), LimitKey: r.Text(18),
		Details: r.Blob(19), Failure: r.Blob(20), Payload: r.VerifiedBlob(21),
	}
	if m.State != provider.TaskParked {
		m.Token = provider.UUID{}
	}
	if m.State == provider.TaskLeased {
		m.State, m.Rank = provider.TaskQueued, 0
	}
	e.at.a, e.at.b = m.Execution, m.EventID
	e.res.Parcel.Tasks = append(e.res.Parcel.Tasks, m)
	return len(m.Payload) + len(m.Details) + len(m.Failure), nil
}

func (e *export) value(r Row) (bytes int, err error) {
	v := provider.KeyValue{Key: r.Text(0), Value: r.Blob(1)}
	e.at.name = v.Key
	e.res.Parcel.Values = append(e.res.Parcel.Values, v)
	return len(v.Value), nil
}

func (e *export) deadLetter(r Row) (bytes int, err error) {
	l := scanDeadLetter(r)
	e.at.a = l.ID
	e.res.Parcel.Letters = append(e.res.Parcel.Letters, provider.MovedLetter(l))
	return len(l.Payload), nil
}

func scanListener(r Row) *provider.Listener {
	return &provider.Listener{Key: r.UUID(0), Message: provider.NewMessage{
		Kind: provider.MessageKind(r.Int(1)), Execution: r.Int(2), EventID: r.Int(3), Delay: time.Duration(r.Int(4)) * time.Microsecond,
		EngineLevel: r.Int(5), Payload: r.VerifiedBlob(6),
	}}
}
