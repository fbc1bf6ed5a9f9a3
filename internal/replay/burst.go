package replay

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// burst is what one message has led to so far. It is stored in one commit, which has a
// limit: beyond it code gets an error, as it will on every replay.
type burst struct {
	events int
	bytes  int
}

func (b *burst) reset() { *b = burst{events: 1} }

func (b *burst) add(body history.Body) {
	b.events++
	b.bytes += weight(body)
}

// full tells whether a command with a payload of the given size would be too much.
func (b *burst) full(size int) bool { return b.events >= maxBurst || b.bytes+2*size > maxBurstBytes }

// Crowded tells whether the turn has so much to store already that further messages
// should wait for the next one.
func (x *Execution) Crowded() bool {
	return len(x.fresh) >= maxTurn || x.freshBytes+x.burst.bytes >= maxTurnBytes
}

// AdmitSuccessor answers an error if the next execution, with an input of the given size and all
// events that were not read, is too much for one commit.
func (s *Scope) AdmitSuccessor(size int) error {
	x := s.x
	x.look()
	if err := s.AdmitPayload(size, "input of the next execution"); err != nil {
		return err
	}
	count, bytes := 0, 2*size
	for _, m := range x.mailboxOrder {
		count += len(m.unread)
		for i := range m.unread {
			bytes += len(m.unread[i].Body.(*history.EventReceived).Payload)
		}
	}
	if count > maxUnread || x.burst.bytes+bytes > maxBurstBytes {
		return x.env.Errors.New(failure.ErrTooLarge,
			"continuing as new with %d unread events and %d bytes: read more of them first", count, bytes)
	}
	return nil
}

// made is what a message adds to a commit: the others are in the storage before.
func made(message history.Body) int {
	if b, ok := message.(*history.LocalEnded); ok {
		return len(b.Output)
	}
	return 0
}

// weight is what the payload of a command adds to a commit, roughly: that of an activity or
// a child is stored in the history and sent.
func weight(body history.Body) int {
	switch b := body.(type) {
	case *history.ActivityScheduled:
		return 2 * len(b.Input)
	case *history.ChildStarted:
		return 2 * len(b.Input)
	case *history.SideEffectRecorded:
		return len(b.Value)
	default:
		return 0
	}
}
