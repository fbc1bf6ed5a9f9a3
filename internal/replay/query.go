package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// The queries that every execution answers.
const (
	QueryNames = "queries" // the names of all queries
	QueryStack = "stack"   // where the coroutines wait; only after NoteCallers
	// QueryReplays is asked of a rebuilt execution only, and not listed: that it replays is the answer.
	QueryReplays = "perdure.replays"
)

// QueryHandler answers a query: encoded input to encoded output.
type QueryHandler func(input []byte) (output []byte, err error)

// queryHandlers are those that code has registered. They outlive the return of its main function.
type queryHandlers struct {
	byName map[string]QueryHandler // nil: none
	any    func(name string, input []byte) (output []byte, err error)
	bytes  int // of names
}

func (h *queryHandlers) size() int { return h.bytes + namedBytes*len(h.byName) }

// names returns the names of all queries, sorted.
func (h *queryHandlers) names() []string {
	all := slices.AppendSeq([]string{QueryNames, QueryStack}, maps.Keys(h.byName))
	slices.Sort(all)
	return all
}

// HandleQuery registers the handler of a query. It leaves no event. A second handler of the name fails the turn.
func (s *Scope) HandleQuery(name string, handler QueryHandler) {
	x := s.x
	x.sched.enter()
	if _, taken := x.handlers.byName[name]; taken || name == QueryNames || name == QueryStack || name == QueryReplays {
		x.sched.abort(fmt.Errorf("the query %q has two handlers, the second from %s: register one only; the engine itself has %q and %q",
			name, callerOutside(), QueryNames, QueryStack))
	}
	if x.handlers.byName == nil {
		x.handlers.byName = make(map[string]QueryHandler)
	}
	x.handlers.byName[name] = handler
	x.handlers.bytes += len(name)
}

// HandleAnyQuery registers the handler of the queries of all other names. A second one fails the turn.
func (s *Scope) HandleAnyQuery(handler func(name string, input []byte) (output []byte, err error)) {
	x := s.x
	x.sched.enter()
	if x.handlers.any != nil {
		x.sched.abort(fmt.Errorf("the queries of all names have two handlers, the second from %s: register one only", callerOutside()))
	}
	x.handlers.any = handler
}

// of returns the handler of a name; nil: none.
func (h *queryHandlers) of(name string) QueryHandler {
	if handler := h.byName[name]; handler != nil || h.any == nil {
		return handler
	}
	return func(input []byte) ([]byte, error) { return h.any(name, input) }
}

// Query is a question and its answer.
type Query struct {
	Name   string
	Input  []byte
	After  string // request ID of an event that the code must have been given; "": none
	Answer history.Answer
	// Spoiled says that the handler may have left the variables of the code half changed. The execution must not be
	// used any more.
	Spoiled bool
}

// Begun reports whether the main function of the code has begun.
func (v View) Begun() bool { return v.x.begun }

// Ask answers a query between two turns. The answer is set and encoded when Ask returns or ends its goroutine, as code
// may call Goexit. The execution is as before unless the query is spoiled: no event is added, and no fault is noted. No
// other call may be made meanwhile but Abandon, after which the answer is worthless.
func (x *Execution) Ask(q *Query) {
	switch handler := x.handlers.of(q.Name); {
	case q.Name == QueryReplays:
		q.Answer = history.Answer{Outcome: history.Answered}
	case !x.begun:
		q.Answer = history.Answer{Outcome: history.AnswerNotBegun}
	case q.After != "" && (x.held || !x.requests.repeats(q.After) || x.keeps(q.After)):
		q.Answer = history.Answer{Outcome: history.AnswerNotYet}
	case q.Name == QueryNames:
		q.answer(x.handlers.names())
	case q.Name == QueryStack:
		q.answer(x.sched.stacks())
	case handler == nil:
		q.Answer = history.Answer{Outcome: history.AnswerUnknown}
		for _, name := range x.handlers.names() {
			q.Answer.Names = append(q.Answer.Names, []byte(name))
		}
	default:
		x.handle(q, handler)
	}
}

// keeps reports whether the event with the request ID has not been given to the code, and may still be: its handler has not begun, or the
// next execution gets it.
func (x *core) keeps(requestID string) bool {
	kept := func(e history.Event) bool { return e.Body.(*history.EventReceived).RequestID == requestID }
	if x.closing != nil && x.closing.record.Next != nil {
		return slices.ContainsFunc(x.unread(), kept)
	}
	for _, box := range x.boxes.order {
		if (x.job.events[box.name] != nil || x.job.any != nil && !box.used) && slices.ContainsFunc(box.unread, kept) {
			return true
		}
	}
	return false
}

// answer answers a query of the engine.
func (q *Query) answer(v any) {
	output, _ := json.Marshal(v) //nolint:errchkjson // strings can always be encoded
	q.Answer = history.Answer{Outcome: history.Answered, Output: output}
}

// handle runs the handler of a query.
func (x *Execution) handle(q *Query, handler QueryHandler) {
	a, returned := &answering{}, false
	a.goroutine.setCurrent()
	x.sched.answering.Store(a)
	q.Spoiled = true
	defer func() {
		panicked := recover()
		x.sched.answering.Store(nil)
		switch at := a.refused.Load(); {
		case at != nil:
			q.refuse("it may only read variables of the code, and call Now, Info, Err and Logger of the Context; it did more at " + *at)
		case returned:
			q.Spoiled = false
		case panicked != nil:
			q.Answer = history.Answer{Outcome: history.AnswerPanicked, Message: fmt.Sprintf("%s\n%s", short(panicked), debug.Stack())}
		default:
			q.refuse("it called runtime.Goexit")
		}
	}()
	output, err := handler(q.Input)
	switch limit := x.settings.MaxPayload; {
	case err != nil:
		q.Answer = history.Answer{Outcome: history.AnswerFailed, Failure: new(x.env.Errors.Encode(err))}
	case int64(len(output)) > limit:
		q.Answer = history.Answer{Outcome: history.AnswerTooLarge, Message: fmt.Sprintf("it has %d bytes, the limit is %d", len(output), limit)}
	default:
		q.Answer = history.Answer{Outcome: history.Answered, Output: output}
	}
	returned = true
}

func (q *Query) refuse(why string) {
	q.Answer = history.Answer{Outcome: history.AnswerRefused, Message: why}
}
