package serverless

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

func (w *doWork) run(s *step) (any, *directive, error) {
	output, err := s.list(s.ctx, w.tasks, s.input, s.vars)
	return output, nil, err
}

func (w *setWork) run(s *step) (any, *directive, error) {
	output, err := s.render(w.value, s.input)
	return output, nil, err
}

func (w *switchWork) run(s *step) (any, *directive, error) {
	var otherwise *directive
	for i, c := range w.cases {
		if c.when == nil {
			otherwise = &w.cases[i].then
			continue
		}
		yes, err := s.holds(c.when, s.input)
		if err != nil {
			return nil, nil, err
		}
		if yes {
			return s.input, &w.cases[i].then, nil
		}
	}
	return s.input, otherwise, nil
}

func (w *forWork) run(s *step) (any, *directive, error) {
	in, err := s.evaluate(w.in, s.input)
	if err != nil {
		return nil, nil, err
	}
	items, ok := in.([]any)
	if !ok {
		return nil, nil, expressionFault(fmt.Errorf("for.in is no list"), s.ref())
	}
	data := s.input
	for i, item := range items {
		turn := *s
		turn.vars = s.vars.with(w.each, item).with(w.at, i)
		if w.while != nil {
			if on, err := turn.holds(w.while, data); err != nil || !on {
				return data, nil, err
			}
		}
		if data, err = s.list(s.ctx, w.tasks, data, turn.vars); err != nil {
			return nil, nil, err
		}
	}
	return data, nil, nil
}

func (w *raiseWork) run(s *step) (any, *directive, error) {
	fault, err := s.raised(w.err)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, fault
}

// raised returns the fault that an error of the document describes.
func (s *step) raised(of *raised) (*Fault, error) {
	fault := &Fault{Instance: s.ref()}
	for _, part := range []struct {
		of   *template
		into *string
	}{{of.kind, &fault.Type}, {of.title, &fault.Title}, {of.detail, &fault.Detail}} {
		if part.of == nil {
			continue
		}
		v, err := s.render(part.of, s.input)
		if err != nil {
			return nil, err
		}
		if text, ok := v.(string); ok {
			*part.into = text
		} else {
			*part.into = string(encode(v))
		}
	}
	status, err := s.render(of.status, s.input)
	if err != nil {
		return nil, err
	}
	n, ok := status.(int)
	if !ok {
		return nil, expressionFault(fmt.Errorf("raise.error.status is no integer"), s.ref())
	}
	fault.Status = n
	return fault, nil
}

func (w *waitWork) run(s *step) (any, *directive, error) {
	d, err := w.wait.evaluate(s.input, s.lookup)
	if err != nil {
		return nil, nil, expressionFault(err, s.ref())
	}
	if err := s.ctx.Sleep(d); err != nil {
		return nil, nil, err
	}
	if d > 0 {
		s.waited()
	}
	return s.input, nil, nil
}

func (w *callWork) run(s *step) (any, *directive, error) {
	in, err := s.render(w.with, s.input)
	if err != nil {
		return nil, nil, err
	}
	out, err := orchestration.CallActivityNamed[json.RawMessage](s.ctx, w.activity, s.encoded(in))
	return s.answer(out, err, "the activity "+w.activity+" failed")
}

func (w *childWork) run(s *step) (any, *directive, error) {
	in, err := s.render(w.input, s.input)
	if err != nil {
		return nil, nil, err
	}
	var out json.RawMessage
	if w.document != nil {
		input := inputOf(w.document, s.encoded(in))
		out, err = orchestration.CallOrchestrationNamed[json.RawMessage](s.ctx, Name, input, orchestration.Version(Version))
		return s.answer(out, err, "the document "+w.document.tree.id.String()+" failed")
	}
	var opts []orchestration.ChildOption
	if w.version != "" {
		opts = append(opts, orchestration.Version(w.version))
	}
	out, err = orchestration.CallOrchestrationNamed[json.RawMessage](s.ctx, w.orchestration, s.encoded(in), opts...)
	return s.answer(out, err, "the orchestration "+w.orchestration+" failed")
}

// answer turns the end of a call into an output or a fault. What ends the scope, or what the engine refuses, stays as it is: a document
// cannot catch it.
func (s *step) answer(out json.RawMessage, err error, title string) (any, *directive, error) {
	if !errors.Is(err, orchestration.ErrTooLarge) { // a call that is refused has waited for nothing
		s.waited()
	}
	if err != nil {
		if s.ctx.Err() != nil || errors.Is(err, orchestration.ErrHistoryFull) || errors.Is(err, orchestration.ErrInvalid) {
			return nil, nil, err
		}
		return nil, nil, faultOf(err, title, s.ref())
	}
	v, err := decode(out)
	if err != nil {
		return nil, nil, &Fault{Type: TypeRuntime, Status: 500, Instance: s.ref(), Title: title, Detail: err.Error()}
	}
	return v, nil, nil
}

func (w *listenWork) run(s *step) (any, *directive, error) {
	boxes := make([]orchestration.Mailbox[json.RawMessage], len(w.events))
	for i, name := range w.events {
		boxes[i] = orchestration.Events[json.RawMessage](s.ctx, name)
	}
	var events []any
	for len(boxes) > 0 {
		cases := make([]orchestration.Awaitable, len(boxes))
		for i, b := range boxes {
			cases[i] = b
		}
		first, err := orchestration.Select(s.ctx, cases...)
		if err != nil {
			return nil, nil, err
		}
		s.waited()
		payload, _, err := boxes[first].TryReceive()
		if err != nil {
			return nil, nil, &Fault{Type: TypeRuntime, Status: 500, Instance: s.ref(), Title: "an event cannot be read", Detail: err.Error()}
		}
		event, err := decode(payload)
		if err != nil {
			return nil, nil, &Fault{Type: TypeRuntime, Status: 500, Instance: s.ref(), Title: "an event cannot be read", Detail: err.Error()}
		}
		if events = append(events, event); !w.all {
			break
		}
		boxes = append(boxes[:first:first], boxes[first+1:]...)
	}
	return events, nil, nil
}
