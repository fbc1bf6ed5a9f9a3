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
func (p *Plan) Outcomes(ctx context.Context, x *replay.Execution, get Getter, lost bool) (map[int64]history.Event, error) {
	all := make(map[int64]history.Event)
	if p.Fork() {
		for _, a := range x.Awaited() {
			all[a.EventID] = history.Event{Body: forked(a.EventID)}
		}
		return all, nil
	}
	for _, e := range p.later() {
		switch b := e.Body.(type) {
		case *history.ChildCompleted:
			all[b.Started] = e
		case *history.ChildFailed:
			all[b.Started] = e
		}
	}
	for _, a := range x.Awaited() {
		started, ok := p.opened[a.EventID-1].Body.(*history.ChildStarted)
		if _, known := all[a.EventID]; known || !ok {
			continue
		}
		if x.Foreign(a.EventID) {
			all[a.EventID] = history.Event{Body: forked(a.EventID)}
			continue
		}
		child, err := get(ctx, started.Key)
		switch {
		case errors.Is(err, provider.ErrNotFound):
			if lost {
				all[a.EventID] = history.Event{Body: failed(a.EventID, failure.New(failure.ErrTerminated, "child %s was deleted", started.ID))}
			}
		case err != nil:
			return nil, fmt.Errorf("reading child %s: %w", started.ID, err)
		case child.Status.Ended():
			body, err := outcomeOf(a.EventID, child)
			if err != nil {
				return nil, err
			}
			all[a.EventID] = history.Event{At: int64(child.EndedAt), Body: body}
		}
	}
	return all, nil
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

func forked(event int64) history.Body {
	return failed(event, failure.New(failure.ErrForked, "child of event %d belongs to the instance that this one was forked from", event))
}

func failed(event int64, err error) history.Body {
	return &history.ChildFailed{Started: event, Failure: encode(err)}
}
