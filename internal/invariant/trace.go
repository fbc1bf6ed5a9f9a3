package invariant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// A trace is the state that the events of one execution imply.
type trace struct {
	length          int64
	bytes           int64
	continued       bool // it begins with events from an earlier execution
	opened          bool // its code has begun
	cancelRequested bool // to be cancelled
	last            history.Kind
	calls           map[int64]*call
	seen            map[string]struct{}
	order           []string           // of seen
	locals          map[int64]struct{} // calls of local activities that have ended
}

// A call is an event that awaits an outcome.
type call struct {
	kind  history.Kind
	child provider.UUID
	state callState

	abandoned bool // an activity that continues though its call was given up
	told      bool // a child whose start is told, and was not so far
	waits     bool // a child whose end is awaited when it is cancelled
	ending    bool // such a child was cancelled; the code may have ended, and then nothing awaits it
}

type callState uint8

const (
	pending callState = iota
	answered
	givenUp
)

// maxSeen is how many request IDs the engine promises to know again.
const maxSeen = 10_000

// read reads the events 1 to length of an execution; -1: all. It returns nil, after a finding, if some cannot be
// read.
func (l *instanceCheck) read(ctx context.Context, n, length int64) (*trace, error) {
	t := &trace{calls: make(map[int64]*call), seen: make(map[string]struct{}), locals: make(map[int64]struct{})}
	single := false // a page could not be read: find out from which event on
	for t.length < length || length < 0 {
		req := provider.ReadHistoryRequest{Key: l.in.Key, Execution: n, From: t.length + 1, To: max(length, 0)}
		if single {
			req.To = req.From
		}
		page, err := l.c.store.ReadHistory(ctx, req)
		if err == nil && length < 0 {
			length = page.Length
		}
		if err == nil && len(page.Events) == 0 && t.length < length {
			err = &provider.Error{Err: fmt.Errorf("event %d of %d is not there: %w", req.From, length, history.ErrCorrupt)}
		}
		switch {
		case err == nil:
		case !l.rows && n < l.in.Execution-1 && t.length == 0 && errors.Is(err, provider.ErrNotFound): // it was trimmed
			return nil, nil //nolint:nilnil // see above
		case ctx.Err() != nil || provider.Retryable(err):
			return nil, fmt.Errorf("reading the history of instance %s: %w", l.in.Key, err)
		case !single && length > 0:
			single = true
			continue
		default:
			l.addf(UndecodableEvent, n, req.From, "%v", err)
			return nil, nil //nolint:nilnil // see above
		}
		if !l.take(t, n, page.Events) {
			return nil, nil //nolint:nilnil // see above
		}
	}
	return t, nil
}

// take follows the events of a page; false: one cannot be read.
func (l *instanceCheck) take(t *trace, n int64, events []provider.Event) bool {
	for _, stored := range events {
		e, _, err := history.DecodeShown(stored.ID, stored.Data)
		if err != nil {
			l.addf(UndecodableEvent, n, stored.ID, "%v", err)
			return false
		}
		if stored.ID != t.length+1 {
			l.addf(EventGap, n, stored.ID, "event %d follows event %d", stored.ID, t.length)
			return false
		}
		t.length = stored.ID
		t.bytes += int64(len(stored.Data))
		if wrong := t.apply(e); wrong != "" {
			l.addf(ResultObservedTwice, n, e.ID, "%s", wrong)
		}
	}
	return true
}

// apply applies an event, and returns what is wrong with it.
func (t *trace) apply(e history.Event) (wrong string) {
	t.last = e.Body.Kind()
	switch b := e.Body.(type) {
	case *history.ExecutionStarted:
		t.continued, t.opened = b.Continued, !b.Continued
		for _, id := range b.Seen {
			t.addRequest(string(id))
		}
		for hash := range slices.Chunk(b.Updates, 16) {
			t.addRequest(updateID([16]byte(hash)))
		}
	case *history.ExecutionOpened:
		t.opened = true
	case *history.ActivityCompleted:
		return t.answer(b.Scheduled, history.KindActivityScheduled)
	case *history.ReplyReceived:
		if c := t.calls[b.Command]; c != nil && c.told {
			c.told = false // of the start of a child, which goes on
			return ""
		}
		return t.answer(b.Command, history.KindDetachedStarted, history.KindEventSent, history.KindCancelSent)
	case *history.ActivityFailed:
		return t.answer(b.Scheduled, history.KindActivityScheduled)
	case *history.LocalEnded:
		return t.answerLocal(b.Call)
	case *history.LocalQueued:
		return t.answerLocal(b.Call)
	case *history.TimerFired:
		return t.answer(b.Timer, history.KindTimerCreated)
	case *history.ChildCompleted:
		return t.answer(b.Started, history.KindChildStarted)
	case *history.ChildFailed:
		return t.answer(b.Started, history.KindChildStarted)
	case *history.EventReceived:
		return t.addRequest(b.RequestID)
	case *history.UpdateReceived:
		return t.addRequest(updateID(history.UpdateHash(b.ID)))
	case *history.CancelRequested:
		t.cancelRequested = true
		return t.addRequest(b.RequestID)
	default:
		t.applyCommand(e)
	}
	return ""
}

// applyCommand applies an event that begins something, or gives it up.
func (t *trace) applyCommand(e history.Event) {
	switch b := e.Body.(type) {
	case *history.ActivityScheduled, *history.TimerCreated, *history.DetachedStarted, *history.EventSent, *history.CancelSent:
		t.calls[e.ID] = &call{kind: t.last}
	case *history.ChildStarted:
		t.calls[e.ID] = &call{kind: t.last, child: b.Key, told: b.TellStart, waits: b.Cancellation == history.CancelWait}
	case *history.ActivityCancelRequested:
		t.giveUpActivity(b)
	case *history.TimerCancelled:
		t.giveUp(b.Timer)
	case *history.ChildCancelRequested:
		t.giveUpChild(b.Started)
	}
}

// giveUpChild gives up a child. Its end is still taken if the code waits for it.
func (t *trace) giveUpChild(id int64) {
	if c := t.calls[id]; c != nil && c.waits {
		c.ending = true
		return
	}
	t.giveUp(id)
}

// updateID is an update's ID among those of requests.
func updateID(hash [16]byte) string { return fmt.Sprintf("update %x", hash) }

// giveUpActivity gives up an activity, which remains pending if its end is awaited.
func (t *trace) giveUpActivity(b *history.ActivityCancelRequested) {
	if b.How == history.CancelWait {
		return
	}
	t.giveUp(b.Scheduled)
	if c := t.calls[b.Scheduled]; c != nil {
		c.abandoned = b.How == history.CancelAbandon
	}
}

func (t *trace) giveUp(id int64) {
	if c := t.calls[id]; c != nil && c.state == pending {
		c.state = givenUp
	}
}

func (t *trace) answer(id int64, kinds ...history.Kind) (wrong string) {
	c := t.calls[id]
	switch {
	case c == nil || !slices.Contains(kinds, c.kind):
		return fmt.Sprintf("%s for event %d, which is no %s", t.last, id, kinds[0])
	case c.state == answered:
		return fmt.Sprintf("%s for event %d, which has ended before", t.last, id)
	case c.state == givenUp:
		return fmt.Sprintf("%s for event %d, which was given up before", t.last, id)
	}
	c.state = answered
	return ""
}

// answerLocal settles a call of a local activity. Such calls leave no event and end in any order.
func (t *trace) answerLocal(number int64) (wrong string) {
	if _, again := t.locals[number]; again {
		return fmt.Sprintf("%s for local call %d, which has ended before", t.last, number)
	}
	t.locals[number] = struct{}{}
	return ""
}

func (t *trace) addRequest(id string) (wrong string) {
	if id == "" {
		return ""
	}
	if _, again := t.seen[id]; again {
		return fmt.Sprintf("request ID %q was consumed before", id)
	}
	t.seen[id] = struct{}{}
	t.order = append(t.order, id)
	if len(t.order) > maxSeen {
		delete(t.seen, t.order[0])
		t.order = t.order[1:]
	}
	return ""
}

// endedAs returns the status that the last event stands for; 0 if the execution continues.
func (t *trace) endedAs() provider.Status {
	switch t.last {
	case history.KindExecutionCompleted:
		return provider.StatusCompleted
	case history.KindExecutionFailed:
		return provider.StatusFailed
	case history.KindExecutionCancelled:
		return provider.StatusCancelled
	case history.KindExecutionTerminated:
		return provider.StatusTerminated
	case history.KindContinuedAsNew:
		return provider.StatusContinuedAsNew
	default:
		return 0
	}
}
