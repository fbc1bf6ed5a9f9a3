package replay

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// admit refuses an operation in a scope that is over, beyond the payload limit, with too many pending or in a full
// history. All of it follows from the history and its frozen settings.
func (s *Scope) admit(size int, what string) error {
	if err := s.over(); err != nil {
		return err
	}
	if int64(size) > s.x.settings.MaxPayload {
		return s.tooLarge(size, what)
	}
	if len(s.x.pending.futures)+len(s.x.locals.open) >= maxPending {
		return s.x.env.Errors.New(failure.ErrTooLarge, "%s: %d activities, timers and children are pending already; wait for some first", what, maxPending)
	}
	return s.admitEvent(size)
}

func (s *Scope) admitEvent(size int) error {
	x := s.x
	if x.events.burst.full(size) {
		x.events.demandOneByOne()
		return x.env.Errors.New(failure.ErrTooLarge, "%d operations with %d bytes begun without waiting; wait for some of them in between",
			x.events.burst.events, x.events.burst.bytes)
	}
	return s.admitLength(size)
}

// admitValue refuses the value of a side effect. The refusal is recorded like the value.
func (s *Scope) admitValue(size int) error {
	if int64(size) > s.x.settings.MaxPayload {
		return s.tooLarge(size, "value of a side effect")
	}
	if s.x.events.burst.full(size) {
		s.x.events.demandOneByOne()
		return s.tooLarge(size, "value of a side effect")
	}
	return s.admitLength(size)
}

// admitLength refuses an input or value of size bytes that would make the history too long. Only detached scopes may
// use the reserve for the end: code cleans up in them.
func (s *Scope) admitLength(size int) error {
	x := s.x
	maxEvents, maxBytes := x.settings.MaxEvents, x.settings.MaxBytes
	if !s.detached || x.settings.Flags&flagScopes == 0 {
		maxEvents, maxBytes = maxEvents-reservedEvents, maxBytes-reservedBytes
	}
	if x.events.length >= maxEvents {
		return x.env.Errors.New(failure.ErrHistoryFull,
			"history has %d events of at most %d: continue as new before it gets so long", x.events.length, x.settings.MaxEvents)
	}
	if x.settings.MaxBytes > 0 && x.events.size+int64(size) > maxBytes {
		return x.env.Errors.New(failure.ErrHistoryFull,
			"history has %d bytes of at most %d: continue as new before it gets so long", x.events.size, x.settings.MaxBytes)
	}
	return nil
}

// AdmitPayload returns an error if size is beyond the execution's payload limit.
func (s *Scope) AdmitPayload(size int, what string) error {
	if int64(size) > s.x.settings.MaxPayload {
		return s.tooLarge(size, what)
	}
	return nil
}

// AdmitSuccessor returns an error if one commit cannot hold the next execution: an input of size bytes and all events
// that were not read.
func (s *Scope) AdmitSuccessor(size int) error {
	x := s.x
	x.sched.checkCaller()
	if err := s.AdmitPayload(size, "input of the next execution"); err != nil {
		return err
	}
	count, bytes := 0, 2*size
	for _, m := range x.boxes.order {
		count += len(m.unread)
		for i := range m.unread {
			bytes += len(m.unread[i].Body.(*history.EventReceived).Payload)
		}
	}
	updates, updateBytes := x.updates.pendingBytes()
	for _, r := range x.queuedRuns() {
		updates, updateBytes = updates+1, updateBytes+int(history.Size(r.queued.body))
	}
	count, bytes = count+updates, bytes+updateBytes
	if count > maxUnread || x.events.burst.bytes+bytes > maxBurstBytes {
		return x.env.Errors.New(failure.ErrTooLarge,
			"continuing as new with %d unread events and %d bytes: read more of them first", count, bytes)
	}
	return nil
}

func (s *Scope) tooLarge(size int, what string) error {
	return s.x.env.Errors.New(failure.ErrTooLarge, "%s has %d bytes, the limit is %d: store it elsewhere and pass a reference",
		what, size, s.x.settings.MaxPayload)
}
