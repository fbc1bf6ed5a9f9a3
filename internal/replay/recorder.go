package replay

import (
	"sync/atomic"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// recorder holds the events of an execution. Live it appends messages and commands. On replay it hands out the stored
// messages and matches commands with the stored ones.
type recorder struct {
	sched      *scheduler
	length     int64           // of the history, with the events that are not confirmed
	size       int64           // of the history, as history.Size counts
	fresh      []history.Event // that are not confirmed
	last       int             // in fresh, of the last message; len(fresh): it is stored
	freshBytes int             // of the messages in fresh, and of all bursts but the last
	burst      burst           // what the last message has led to
	message    int64           // event ID of the last message
	together   int             // messages that were received since code ran last

	script    []history.Event // on replay: the stored history
	position  int             // in script, of the next event
	replaying atomic.Bool     // code may log from any goroutine
	effects   atomic.Int64    // see Execution.Effects
	patches   patches
	headers   headerBytes
}

// replay begins the replay of a stored history.
func (r *recorder) replay(events []history.Event) {
	r.script, r.position = events, 0
	r.replaying.Store(true)
}

// goLive ends the replay.
func (r *recorder) goLive() {
	r.script, r.burst = nil, burst{}
	r.replaying.Store(false)
}

// next returns the next message of the stored history, false at its end. A command in its place is a fault, except for
// the marker of a patch.
func (r *recorder) next() (e history.Event, ok bool) {
	r.skipAll()
	if r.position == len(r.script) {
		return history.Event{}, false
	}
	e = r.script[r.position]
	if !e.Body.Kind().IsMessage() {
		r.sched.fail(&NonDeterminismError{
			EventID: e.ID, History: describe(e.Body), Code: "nothing (it waits or has ended)", Patch: r.patches.unknown(),
		})
		return history.Event{}, false
	}
	r.position++
	r.length = e.ID
	return e, true
}

// receive appends a live message and returns it with its event ID.
func (r *recorder) receive(message history.Event) history.Event {
	r.length++
	message.ID = r.length
	r.last = len(r.fresh)
	r.fresh = append(r.fresh, message)
	r.freshBytes += r.burst.bytes + messageBytes(message.Body)
	return message
}

// moreFollow notes on the last message, unless it is stored, that code did not continue after it.
func (r *recorder) moreFollow() {
	if !r.lastIsStored() {
		r.fresh[r.last].More = true
	}
}

// lastIsStored reports whether the last message is stored.
func (r *recorder) lastIsStored() bool { return r.last >= len(r.fresh) }

// begin begins the burst of a message, live or stored.
func (r *recorder) begin(message history.Event) {
	r.message = message.ID
	r.size += history.Size(message.Body)
	r.burst.reset()
	r.effects.Add(1)
}

// emit records a command of the code and returns its event ID. On replay it matches the command with the next event of
// the history instead. A difference is a fault, and the coroutine that made it never continues.
func (r *recorder) emit(want history.Body) int64 {
	r.effects.Add(1)
	if !r.replaying.Load() {
		r.burst.add(want)
		r.size += history.Size(want)
		r.length++
		r.fresh = append(r.fresh, history.Event{ID: r.length, Body: want})
		return r.length
	}
	for r.position < len(r.script) {
		stored := r.script[r.position]
		if difference(stored.Body, want) == "" {
			r.burst.add(stored.Body)
			r.size += history.Size(stored.Body)
			r.position++
			r.length++
			return stored.ID
		}
		if r.skip(stored) {
			continue
		}
		r.sched.abort(&NonDeterminismError{
			EventID: stored.ID, History: describe(stored.Body), Code: describe(want), Source: r.sched.source(),
			Patch: r.patches.unknown(),
		})
		return 0
	}
	r.sched.abort(&NonDeterminismError{
		EventID: r.length + 1, History: "nothing (the history ends here)", Code: describe(want), Source: r.sched.source(),
		Patch: r.patches.unknown(),
	})
	return 0
}

// recorded returns what is stored under the event that emit has just matched or recorded for want.
func (r *recorder) recorded(want history.Body) history.Body {
	if !r.replaying.Load() {
		return want
	}
	return r.script[r.position-1].Body
}

// peek returns the next event of the stored history that is no marker of a patch; nil at its end.
func (r *recorder) peek() history.Body {
	for _, e := range r.script[min(r.position, len(r.script)):] {
		if e.Body.Kind() != history.KindPatchMarked {
			return e.Body
		}
	}
	return nil
}

// demandOneByOne fails a live turn that asks for too much if its code ran after several messages. It may get them one by one.
func (r *recorder) demandOneByOne() {
	if r.together > 1 && !r.replaying.Load() {
		r.sched.abort(ErrOneByOne)
	}
}

// confirm forgets the events of a turn that is stored.
func (r *recorder) confirm() {
	r.fresh, r.last, r.freshBytes, r.burst, r.headers.leftOut = nil, 0, 0, burst{}, 0
}

// turnFull reports whether a turn with the events that are not confirmed should take no further message.
func (r *recorder) turnFull() bool {
	return len(r.fresh) >= maxTurn || r.freshBytes+r.burst.bytes >= maxTurnBytes
}

// room returns how many bytes fit into the commit of the turn with all that was counted.
func (r *recorder) room() int { return provider.MaxCommitBytes - r.freshBytes - r.burst.bytes }

// long reports whether the history is worth a warning.
func (r *recorder) long() bool { return r.length >= warnEvents || r.size >= warnBytes }

// burst is what one message has led to. One commit stores it, and has a limit. Beyond the limit code gets an error,
// and gets it again on every replay.
type burst struct {
	events int
	bytes  int
}

func (b *burst) reset() { *b = burst{events: 1} }

func (b *burst) add(body history.Body) {
	b.events++
	b.bytes += commandBytes(body)
}

// full reports whether a command with a payload of size bytes would be too much.
func (b *burst) full(size int) bool { return b.events >= maxBurst || b.bytes+2*size > maxBurstBytes }

// messageBytes returns the bytes that a message adds to a commit. Most messages are stored before.
func messageBytes(message history.Body) int {
	if b, ok := message.(*history.LocalEnded); ok {
		return len(b.Output)
	}
	return 0
}

// commandBytes returns roughly the bytes that the payload of a command adds to a commit. The payload of an activity or child
// is stored in the history and sent.
func commandBytes(body history.Body) int {
	switch b := body.(type) {
	case *history.ActivityScheduled:
		return 2 * len(b.Input)
	case *history.ChildStarted:
		size := 2 * len(b.Input)
		for i := range b.Attributes {
			size += 2 * (attributeBytes + len(b.Attributes[i].Name) + len(b.Attributes[i].Text))
		}
		return size
	case *history.DetachedStarted:
		return 2 * len(b.Input)
	case *history.EventSent:
		return 2 * len(b.Payload)
	case *history.SideEffectRecorded:
		return len(b.Value)
	case *history.MainReturned:
		size := len(b.Output)
		if b.Next != nil {
			size += len(b.Next.Input)
		}
		return size
	case *history.UpdateCompleted: // it is shown, too
		return 2 * (len(b.Output) + failureBytes(b.Failure))
	case *history.UpdateRejected:
		return 2 * failureBytes(b.Failure)
	default:
		return 0
	}
}

// attributeBytes is what an attribute of a child costs in a commit besides its texts: it is a row of its own.
const attributeBytes = 64

// failureBytes estimates the bytes of a failure in a commit.
func failureBytes(f *history.Failure) int {
	if f == nil {
		return 0
	}
	return int(history.Size(&history.ChildFailed{Failure: *f}))
}

// marked reports whether the marker of a patch was passed or written, or is among the commands that directly follow the
// message being applied. There it counts from now on, as it did when it was written: code may see a limit between the
// call and the command before which the marker is skipped.
func (r *recorder) marked(id string, p *patch) bool {
	if p.event != 0 {
		return true
	}
	if r.position >= len(r.script) {
		return false // on new ground
	}
	for _, e := range r.script[r.position:] {
		if e.Body.Kind().IsMessage() {
			break
		}
		if m, ok := e.Body.(*history.PatchMarked); ok && m.ID == id {
			r.count(e, p)
			return true
		}
	}
	return false
}

// skipAll passes the markers at the present position.
func (r *recorder) skipAll() {
	for r.position < len(r.script) && r.skip(r.script[r.position]) {
		continue
	}
}

// skip passes a stored event if it is the marker of a patch, and reports whether it did. It is never compared: code
// that no longer asks for the patch replays.
func (r *recorder) skip(e history.Event) bool {
	m, ok := e.Body.(*history.PatchMarked)
	if !ok {
		return false
	}
	if p := r.patches.of(m.ID); p.event != e.ID {
		r.count(e, p)
	}
	r.position++
	return true
}

// count counts a stored marker towards the limits.
func (r *recorder) count(e history.Event, p *patch) {
	p.event = e.ID
	r.effects.Add(1)
	r.burst.add(e.Body)
	r.size += history.Size(e.Body)
	r.length++
}
