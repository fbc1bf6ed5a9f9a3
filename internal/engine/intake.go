package engine

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// The reasons for which messages are dropped.
const (
	DroppedStale    = iota // for an earlier execution
	DroppedRepeat          // a repeat of an update
	DroppedUnwanted        // nothing waits for it
	DroppedEnded           // it came behind the end
	DroppedReasons         // how many there are
)

// Anchors gives spans of traces to the messages that an execution takes.
type Anchors interface {
	// Start may change the header of a start.
	Start(x *replay.Execution, b *history.ExecutionStarted)
	// Message may change the header or the anchor of a message.
	Message(x *replay.Execution, e *history.Event)
	// Keep drops the last span unless the execution has taken it over.
	Keep(x *replay.Execution)
}

// Fetched is what a fetch brought for an execution.
type Fetched struct {
	Execution int64
	Messages  []provider.Message // those that are visible
	More      bool               // others wait in the storage
	Now       provider.Time      // the time of the storage
	Retries   Retries
	Outcomes  *Outcomes         // of updates; nil if no message is an update
	Previous  *history.Previous // how the run before has ended; nil: there is none
	Anchors   Anchors
}

// Intake gives an execution the messages of a fetch and runs its code on them.
type Intake struct {
	Fetched

	Handled   []int64 // IDs of the messages that the commit consumes
	Unstarted []int64 // cancelled activities that may never have begun
	Dropped   [DroppedReasons]int64

	x        *replay.Execution
	seen     int               // how many messages were delivered before the execution ended or reached its limit
	last     *provider.Message // the last one that became an event; nil: none
	together int               // messages that became events since the code ran
	held     bool              // the code has not run on the messages of the turn before
	collects bool              // the code runs after all messages, because it ended before some of them
}

// Visible returns the messages of a turn that are visible, and the time. The others wait in the storage.
func Visible(turn *provider.Turn, now provider.Time) ([]provider.Message, provider.Time) {
	messages := turn.Messages
	if len(messages) > 0 {
		now = max(now, messages[0].VisibleAt) // the node's estimate may be a little behind
	}
	for n := len(messages); n > 0 && messages[n-1].VisibleAt > now; n-- {
		messages = messages[:n-1]
	}
	return messages, now
}

// IsUpdate reports whether a message is an update.
func IsUpdate(m provider.Message) bool { return history.Kind(m.Kind) == history.KindUpdateReceived }

// Take applies the messages, one by one. An error names the message at which the code failed, if that is known.
func (in *Intake) Take(x *replay.Execution, fetched Fetched) error {
	in.Fetched, in.x = fetched, x
	in.seen, in.Handled = len(in.Messages), make([]int64, 0, len(in.Messages))
	in.held, in.collects = x.View().Held(), in.Retries.Rounds > 0
	x.PanickedUpdates(in.Retries.Panicked)
	for i := range in.Messages {
		if x.View().TurnFull() {
			in.seen = i
			return nil
		}
		over, err := in.take(i)
		if err != nil || over {
			return err
		}
	}
	return nil
}

// take applies one message. It reports whether the execution is over.
func (in *Intake) take(i int) (over bool, err error) {
	m := &in.Messages[i]
	if m.Execution != 0 && m.Execution != in.Execution {
		in.drop(m, DroppedStale)
		return false, nil
	}
	e, err := history.Decode(0, m.Payload)
	if err != nil {
		return false, fmt.Errorf("message %d: %w", m.ID, err)
	}
	e.At = int64(max(in.Now, m.VisibleAt))
	switch b := e.Body.(type) {
	case *history.ActivityCancelRequested:
		in.Unstarted = append(in.Unstarted, b.Scheduled)
		in.Handled = append(in.Handled, m.ID)
		return false, nil
	case *history.ExecutionStarted:
		// The delay counts from the start, however late the first turn is. The rest of it goes into the history.
		b.Delay = max(0, b.Delay-(e.At-int64(m.VisibleAt)))
		b.Previous = in.Previous
		in.Anchors.Start(in.x, b)
	case *history.UpdateReceived:
		switch {
		case !IsUpdate(*m): // nobody has looked for its outcome
			return false, fmt.Errorf("message %d: an update is stored as kind %v: %w", m.ID, history.Kind(m.Kind), history.ErrCorrupt)
		case in.Outcomes.Has(b.ID):
			in.drop(m, DroppedRepeat)
			return false, nil
		}
		if err := in.runBefore(e.At); err != nil {
			return false, err
		}
		if in.x.View().Ended() {
			in.seen = i
			return true, nil
		}
	}
	in.Handled = append(in.Handled, m.ID)
	in.Anchors.Message(in.x, &e)
	if err := in.absorb(m, e); err != nil {
		return false, err
	}
	if in.x.View().Ended() {
		in.seen = i + 1
		return true, nil
	}
	return false, nil
}

// drop counts a message as handled that the execution does not get.
func (in *Intake) drop(m *provider.Message, reason int) {
	in.Dropped[reason]++
	in.Handled = append(in.Handled, m.ID)
}

// runBefore runs the code on the messages before an update, so that its validator sees what they have changed. A turn that must
// bring all messages to a code that is about to end does not.
func (in *Intake) runBefore(at int64) error {
	if in.collects || !in.x.View().Held() {
		return nil
	}
	if err := in.x.Continue(at); err != nil {
		return in.named(err)
	}
	in.together, in.held = 0, false
	return nil
}

// absorb applies one message. If messages go one by one, the code runs on it at once.
func (in *Intake) absorb(m *provider.Message, e history.Event) error {
	applied, err := in.x.Absorb(e)
	in.Anchors.Keep(in.x)
	switch {
	case !applied:
		in.Dropped[DroppedUnwanted]++
	case in.x.View().Together() && !in.Retries.OneByOne:
		in.last, in.together = m, in.together+1
	default:
		in.last, in.together = m, 1
	}
	if in.Retries.OneByOne && applied && err == nil {
		if err = in.x.Continue(e.At); err == nil {
			in.held = false
		}
	}
	return in.named(err)
}

// Run runs the code on the messages that were taken. If it would end before others that wait, as a refused commit has shown, the turn only
// stores its messages, and a later one runs the code. Run reports whether it held the code back for that.
func (in *Intake) Run(now provider.Time) (held bool, err error) {
	if in.together > 0 && (in.More || in.seen < len(in.Messages)) && in.x.View().Together() && in.Retries.MayHold() {
		in.x.Hold()
		return true, nil
	}
	return false, in.named(in.x.Continue(int64(now)))
}

// Several reports whether the code has run on several messages at once, so that an error does not show which one is at fault.
func (in *Intake) Several() bool { return in.together > 1 }

// All reports whether the execution was given all messages that wait.
func (in *Intake) All() bool { return in.seen == len(in.Messages) && !in.More }

// Unread reports whether the commit leaves messages of the fetch in the inbox.
func (in *Intake) Unread() bool { return len(in.Handled) < len(in.Messages) }

// named names the message after which the turn failed, if that is known. A start is not named, because nothing can do without it.
func (in *Intake) named(err error) error {
	if err == nil || in.last == nil || in.together > 1 || in.held || in.last.Kind == provider.MessageKind(history.KindExecutionStarted) {
		return err
	}
	return fmt.Errorf("message %d (%v): %w", in.last.ID, history.Kind(in.last.Kind), err)
}

// BehindEnd decides about the messages that came behind the end of the execution. Those that nothing else can use count as
// handled. Unread events are left to the dead letters, and to the next execution what is not a reply to this one. A kind that is
// not named here stays.
func (in *Intake) BehindEnd(now provider.Time) {
	end := in.x.View().End()
	if end == nil {
		return
	}
	for i := in.seen; i < len(in.Messages); i++ {
		m := &in.Messages[i]
		if end.Next != nil && m.Execution != in.Execution {
			continue
		}
		switch history.Kind(m.Kind) { //nolint:exhaustive // see above
		case history.KindExecutionStarted, history.KindExecutionOpened, history.KindActivityCompleted, history.KindActivityFailed,
			history.KindTimerFired, history.KindChildCompleted, history.KindChildFailed, history.KindCancelRequested,
			history.KindActivityCancelRequested, history.KindReplyReceived:
			in.drop(m, DroppedEnded)
		case history.KindUpdateReceived:
			if in.refuse(m, now) {
				in.drop(m, DroppedEnded)
			}
		}
	}
}

// refuse refuses an update that came behind the end, and reports whether it counts as handled. A repeat keeps the outcome that it
// has: its caller was told that one.
func (in *Intake) refuse(m *provider.Message, now provider.Time) (done bool) {
	e, err := history.Decode(0, m.Payload)
	update, ok := e.Body.(*history.UpdateReceived)
	if err != nil || !ok {
		return false // a newer release wrote it: it stays
	}
	if in.x.View().End().Next == nil && in.Outcomes.Has(update.ID) {
		return true
	}
	return in.x.RefuseUpdate(update, int64(max(now, m.VisibleAt)))
}
