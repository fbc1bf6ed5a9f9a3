package prefix

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Getter reads the row of an instance.
type Getter func(ctx context.Context, key provider.UUID) (*provider.Instance, error)

// Outcomes returns what the awaited children have come to, by event ID. The others run, and their links move. A child that is
// not there may wait for its start to be told as refused, unless lost says that it does not.
func (p *Plan) Outcomes(ctx context.Context, x replay.View, get Getter, lost bool) (map[int64]history.Event, error) {
	all := make(map[int64]history.Event)
	p.begun = make(map[int64]history.Event)
	if p.Fork() {
		for _, a := range x.Awaited() {
			all[a.EventID] = history.Event{Body: p.forked(a.EventID)}
		}
		return all, nil
	}
	for _, e := range p.later() {
		switch b := e.Body.(type) {
		case *history.ReplyReceived:
			if p.startsChild(b.Command) {
				p.begun[b.Command] = e
				continue
			}
			all[b.Command] = e
		case *history.ChildCompleted:
			all[b.Started] = e
		case *history.ChildFailed:
			all[b.Started] = e
		}
	}
	for _, a := range x.Awaited() {
		if _, known := all[a.EventID]; known {
			continue
		}
		found, err := p.outcome(ctx, x, a.EventID, get, lost)
		if err != nil {
			return nil, err
		}
		if found != nil {
			all[a.EventID] = *found
		}
	}
	return all, nil
}

// outcome looks for the outcome of an awaited child or command that the history does not have. It returns nil if that is still to come.
func (p *Plan) outcome(ctx context.Context, x replay.View, event int64, get Getter, lost bool) (*history.Event, error) {
	switch b := p.opened[event-1].Body.(type) {
	case *history.ChildStarted:
		if !x.OfOtherInstance(event) {
			return p.childOutcome(ctx, event, b, get, lost)
		}
	case *history.DetachedStarted, *history.EventSent, *history.CancelSent:
		if !x.OfOtherInstance(event) {
			return p.reply(ctx, event, b, get)
		}
	default:
		return nil, nil //nolint:nilnil // it has a task or a timer
	}
	return &history.Event{Body: p.forked(event)}, nil
}

// startsChild reports whether an event that was copied has started a child.
func (p *Plan) startsChild(event int64) bool {
	if event > int64(len(p.opened)) {
		return false
	}
	_, ok := p.opened[event-1].Body.(*history.ChildStarted)
	return ok
}

// childOutcome returns the outcome of a child that has ended. A child that is there has begun, also if the reply that says so is lost. One that
// comes again is dropped.
func (p *Plan) childOutcome(ctx context.Context, event int64, started *history.ChildStarted, get Getter, lost bool) (*history.Event, error) {
	child, err := get(ctx, started.Key)
	switch {
	case errors.Is(err, provider.ErrNotFound) && lost:
		return &history.Event{Body: failed(event, failure.New(failure.ErrTerminated, "child %s was deleted", started.ID))}, nil
	case errors.Is(err, provider.ErrNotFound):
		return nil, nil //nolint:nilnil // see Outcomes
	case err != nil:
		return nil, fmt.Errorf("reading child %s: %w", started.ID, err)
	}
	if _, known := p.begun[event]; !known {
		p.begun[event] = history.Event{Body: &history.ReplyReceived{Command: event, Message: started.Key, Outcome: history.ReplyAccepted}}
	}
	if !child.Status.Ended() {
		return nil, nil //nolint:nilnil // it runs
	}
	body, err := outcomeOf(event, child)
	if err != nil {
		return nil, err
	}
	return &history.Event{At: int64(child.EndedAt), Body: body}, nil
}

// reply returns the reply to a command that the history of an ended origin lacks: what waited in the inbox at the end is gone. The reply
// to an origin that runs waits in the inbox, and the new execution gets it there.
func (p *Plan) reply(ctx context.Context, event int64, command history.Body, get Getter) (*history.Event, error) {
	if !p.Inst.Status.Ended() {
		return nil, nil //nolint:nilnil // see above
	}
	outcome := history.ReplyUnknown
	if started, ok := command.(*history.DetachedStarted); ok {
		switch _, err := get(ctx, started.Key); {
		case err == nil:
			outcome = history.ReplyAccepted
		case !errors.Is(err, provider.ErrNotFound):
			return nil, fmt.Errorf("reading instance %s: %w", started.ID, err)
		}
	}
	return &history.Event{Body: &history.ReplyReceived{Command: event, Message: message(command), Outcome: outcome}}, nil
}

// message returns what a reply to a command names it by.
func message(command history.Body) [16]byte {
	switch b := command.(type) {
	case *history.DetachedStarted:
		return b.Key
	case *history.EventSent:
		return b.Message
	case *history.CancelSent:
		return b.Message
	}
	return [16]byte{}
}

// outcomeOf returns what an ended child tells its parent.
func outcomeOf(event int64, child *provider.Instance) (history.Body, error) {
	o, err := history.DecodeOutcome(child.Result)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the outcome of child %s: %w", child.ID, err)
	case o.Failure != nil:
		return &history.ChildFailed{Started: event, Failure: *o.Failure}, nil
	default:
		return &history.ChildCompleted{Started: event, Output: o.Output}, nil
	}
}

// forked is the outcome of what belongs to the instance from which another one was forked.
func (p *Plan) forked(event int64) history.Body {
	if m := message(p.opened[event-1].Body); m != [16]byte{} {
		return &history.ReplyReceived{Command: event, Message: m, Outcome: history.ReplyForked}
	}
	return failed(event, failure.New(failure.ErrForked, "child of event %d belongs to the instance that this one was forked from", event))
}

func failed(event int64, err error) history.Body {
	return &history.ChildFailed{Started: event, Failure: encode(err)}
}
