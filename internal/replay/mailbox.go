package replay

import "github.com/perdure/perdure/internal/history"

// Mailbox is the queue of external events of one name, first in, first out. What came
// before anybody listened is kept.
type Mailbox struct {
	x       *Execution
	waiting waitList
	unread  []history.Event
}

// Mailbox answers the queue of a name.
func (s *Scope) Mailbox(name string) *Mailbox {
	s.x.enter()
	return s.x.mailbox(name)
}

func (x *Execution) mailbox(name string) *Mailbox {
	m, ok := x.mailboxes[name]
	if !ok {
		m = &Mailbox{x: x}
		x.retained += len(name)
		x.mailboxes[name] = m
		x.mailboxOrder = append(x.mailboxOrder, m)
	}
	return m
}

// Ready implements Source.
func (m *Mailbox) Ready() bool { return len(m.unread) > 0 }

func (m *Mailbox) list() *waitList { return &m.waiting }

// Take removes and answers the oldest event; ok is false if there is none.
func (m *Mailbox) Take() (payload []byte, ok bool) {
	m.x.enter()
	if len(m.unread) == 0 {
		return nil, false
	}
	received := m.unread[0].Body.(*history.EventReceived)
	m.x.retained -= int(history.Size(received))
	m.unread[0] = history.Event{}
	m.unread = m.unread[1:]
	m.x.effects.Add(1)
	return received.Payload, true
}

func (m *Mailbox) put(e history.Event) {
	m.unread = append(m.unread, e)
	m.x.retained += int(history.Size(e.Body))
	m.waiting.wakeAll()
}
