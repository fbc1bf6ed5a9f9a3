package replay

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// runOfEvent is the kind of a run that handles an event.
const runOfEvent = "event"

// eventHandler starts a run for each event of a name.
type eventHandler struct {
	abandon bool
	body    func(s *Scope, payload []byte) error
}

// anyEventHandler starts a run for each event whose name nobody else takes.
type anyEventHandler struct {
	abandon bool
	body    func(s *Scope, name string, payload []byte) error
}

// HandleEvent registers the handler of the events of a name. It leaves no event. Each event begins a run of body, those
// that came before in their order. At most maxRuns go on at a time. A name has one handler or a mailbox, else the turn fails. A run with
// abandon does not hold the end of the execution.
func (s *Scope) HandleEvent(name string, abandon bool, body func(s *Scope, payload []byte) error) {
	x := s.x
	x.sched.enter()
	box := x.boxes.byName[name]
	switch {
	case x.job.events[name] != nil:
		x.sched.abort(fmt.Errorf("the events %q have two handlers, the second from %s: register one only", name, callerOutside()))
	case box != nil && box.used:
		x.sched.abort(fmt.Errorf("%s handles events %q, which the code reads as a mailbox: use the handler or the mailbox of a name, not both",
			callerOutside(), name))
	}
	counted := x.handlerOf(name) != nil // by the handler of all other names
	x.job.events = with(x.job.events, name, &eventHandler{abandon, body})
	x.job.bytes += len(name)
	x.job.listens = true
	if box != nil && !counted {
		x.job.waiting += len(box.unread)
	}
	if box != nil {
		x.handleWaiting(true)
	}
}

// HandleAnyEvent registers the handler of the events of all names that have no handler and are not read as a mailbox. Those that wait begin runs
// of body, in their order. A second one fails the turn.
func (s *Scope) HandleAnyEvent(abandon bool, body func(s *Scope, name string, payload []byte) error) {
	x := s.x
	x.sched.enter()
	if x.job.any != nil {
		x.sched.abort(fmt.Errorf("the events of all names have two handlers, the second from %s: register one only", callerOutside()))
	}
	x.job.any = &anyEventHandler{abandon, body}
	x.job.listens = true
	for _, box := range x.boxes.order {
		if x.job.events[box.name] == nil && !box.used {
			x.job.waiting += len(box.unread)
		}
	}
	x.handleWaiting(true)
}

// handlerOf returns the handler of the events of a name; nil: none.
func (x *core) handlerOf(name string) *eventHandler {
	h, others := x.job.events[name], x.job.any
	if h != nil || others == nil {
		return h
	}
	if box := x.boxes.byName[name]; box != nil && box.used {
		return nil
	}
	return &eventHandler{others.abandon, func(s *Scope, payload []byte) error { return others.body(s, name, payload) }}
}

// handleWaiting begins runs for events that have a handler and wait, oldest first. Fresh ones go before the main function.
func (x *core) handleWaiting(fresh bool) {
	for x.job.waiting > 0 && x.job.runs.Len() < maxRuns && x.closing == nil && x.job.shut == 0 {
		var oldest *Mailbox
		name := ""
		for _, box := range x.boxes.order {
			handled := x.job.events[box.name] != nil || x.job.any != nil && !box.used
			if handled && len(box.unread) > 0 && (oldest == nil || box.unread[0].ID < oldest.unread[0].ID) {
				oldest, name = box, box.name
			}
		}
		x.job.waiting--
		e := oldest.unread[0]
		r := x.handleEvent(x.handlerOf(name), e.ID, oldest.take())
		r.unread = e
		if r.fresh = fresh; fresh {
			x.job.fresh++
		}
	}
}

// takeEvent gives an event to the handler of its name, or keeps it in the mailbox.
func (x *Execution) takeEvent(e history.Event, b *history.EventReceived) {
	switch h := x.handlerOf(b.Name); {
	case x.closing != nil:
		x.boxes.keep(e)
	case h != nil && x.job.waiting == 0 && x.job.runs.Len() < maxRuns && x.job.shut == 0:
		x.handleEvent(h, e.ID, b)
	case h != nil:
		x.mailbox(b.Name).put(e)
		x.job.waiting++
	default:
		x.mailbox(b.Name).put(e)
	}
}

func (x *core) handleEvent(h *eventHandler, began int64, b *history.EventReceived) *handlerRun {
	r := &handlerRun{kind: runOfEvent, name: b.Name, began: began, abandon: h.abandon}
	r.done = func(err error) { x.eventHandled(r, err) }
	x.beginRun(r, func(s *Scope) error { return h.body(s, b.Payload) })
	return r
}

// eventHandled logs and counts the error of a run. There is nobody else to tell.
func (x *core) eventHandled(r *handlerRun, err error) {
	if err == nil && x.inputTaken() {
		x.logLate(r)
	}
	if err == nil || r.abandon && errors.Is(err, errAbandoned) {
		return
	}
	if stored := x.env.Errors.Encode(err); failure.IsCancelled(&stored) {
		return
	}
	if !x.events.replaying.Load() {
		x.job.failed++
	}
	write(func() {
		x.ownLogger().Warn("the handler of an event failed", "event", r.name, "event_id", r.began, "err", err)
	})
}
