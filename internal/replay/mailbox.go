package replay

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// mailboxes are those of one execution.
type mailboxes struct {
	byName map[string]*Mailbox
	order  []*Mailbox      // of their making
	late   []history.Event // that came when the main function had returned
	bytes  int             // of names, unread and late events
}

func (b *mailboxes) size() int { return b.bytes + namedBytes*len(b.byName) }

// keep keeps an event that no code can take any more.
func (b *mailboxes) keep(e history.Event) {
	b.late = append(b.late, e)
	b.bytes += int(history.Size(e.Body))
}

// unread returns the events that were received and not taken, by mailbox.
func (x *core) unread() (events []history.Event) {
	for _, m := range x.boxes.order {
		events = append(events, m.unread...)
	}
	return append(events, x.boxes.late...)
}

// Waiting returns the names of the events that code waits for in their mailboxes, sorted.
func (v View) Waiting() []string {
	var names []string
	for name, m := range v.x.boxes.byName {
		if !m.waiting.empty() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Unread returns how many events of each name were received and not taken.
func (v View) Unread() map[string]int {
	counts := make(map[string]int)
	for _, e := range v.x.unread() {
		counts[e.Body.(*history.EventReceived).Name]++
	}
	return counts
}

// Mailbox is the queue of external events of one name, first in, first out. It keeps events
// that came before code used the mailbox.
type Mailbox struct {
	x       *core
	name    string
	used    bool // by code
	waiting waitList
	unread  []history.Event
}

// Mailbox returns the queue of a name.
func (s *Scope) Mailbox(name string) *Mailbox {
	s.x.sched.enter()
	if s.x.job.events[name] != nil {
		s.x.sched.abort(fmt.Errorf("%s reads events %q, which have a handler: use the handler or the mailbox of a name, not both", callerOutside(), name))
	}
	m := s.x.mailbox(name)
	if s.x.job.any != nil && !m.used {
		s.x.job.waiting -= len(m.unread) // the handler of all other names does not take them any more
	}
	m.used = true
	return m
}

func (x *core) mailbox(name string) *Mailbox {
	m, ok := x.boxes.byName[name]
	if !ok {
		m = &Mailbox{x: x, name: name}
		x.boxes.bytes += len(name)
		x.boxes.byName[name] = m
		x.boxes.order = append(x.boxes.order, m)
	}
	return m
}

// Ready implements Source.
func (m *Mailbox) Ready() bool { return len(m.unread) > 0 }

func (m *Mailbox) since() int64 { return m.unread[0].ID }

func (m *Mailbox) list() *waitList { return &m.waiting }

// Take removes and returns the oldest event; ok is false if there is none.
func (m *Mailbox) Take() (payload []byte, ok bool) {
	m.x.yieldToFreshRuns(m.x.sched.enter())
	if len(m.unread) == 0 {
		return nil, false
	}
	return m.take().Payload, true
}

// take removes the oldest event, which exists.
func (m *Mailbox) take() *history.EventReceived {
	received := m.unread[0].Body.(*history.EventReceived)
	m.x.boxes.bytes -= int(history.Size(received))
	m.unread[0] = history.Event{}
	m.unread = m.unread[1:]
	m.x.events.effects.Add(1)
	return received
}

// putBack makes an event that was taken the first one again.
func (m *Mailbox) putBack(e history.Event) {
	m.unread = slices.Insert(m.unread, 0, e)
	m.x.boxes.bytes += int(history.Size(e.Body))
}

func (m *Mailbox) put(e history.Event) {
	m.unread = append(m.unread, e)
	m.x.boxes.bytes += int(history.Size(e.Body))
	m.waiting.wakeAll()
}
