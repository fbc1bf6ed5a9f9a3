package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// errNoPoint means that a history has no point of the kind that Handle.FindPoint was asked for.
var errNoPoint = fmt.Errorf("the history has no such point: %w", ErrNotFound)

// PointKind says where in a history to reset or fork. Make it with BeforeFirstFailure, BeforeLastFailure, BeforePatch or BeforeTime.
type PointKind struct {
	text  string
	check error
	find  func(events []pointEvent) int64 // 0: there is none
}

// String describes the kind, such as "before the first failed activity".
func (k PointKind) String() string { return k.text }

// BeforeFirstFailure is the point before the first failed activity, local or not, of the execution: it runs again with its first attempt.
func BeforeFirstFailure() PointKind {
	return PointKind{text: "before the first failed activity", find: func(events []pointEvent) int64 {
		for i := range events {
			if events[i].failed {
				return events[i].id
			}
		}
		return 0
	}}
}

// BeforeLastFailure is the point before the last failed activity, local or not, of the execution.
func BeforeLastFailure() PointKind {
	return PointKind{text: "before the last failed activity", find: func(events []pointEvent) int64 {
		for _, e := range slices.Backward(events) {
			if e.failed {
				return e.id
			}
		}
		return 0
	}}
}

// BeforePatch is the point before the messages upon which the code first took the new branch of a patch, so that it decides anew.
func BeforePatch(id string) PointKind {
	return PointKind{text: fmt.Sprintf("before patch %s", check.Quote(id)), check: access.Name("patch", id), find: func(events []pointEvent) int64 {
		for i := range events {
			if events[i].kind != history.KindPatchMarked || events[i].name != id {
				continue
			}
			for i > 0 && !events[i].kind.IsMessage() {
				i--
			}
			for i > 0 && events[i-1].more { // the code saw these messages together
				i--
			}
			return events[i].id
		}
		return 0
	}}
}

// BeforeTime is the point before the first message that the execution took at a time of the storage's clock, or later.
func BeforeTime(t time.Time) PointKind {
	var bound provider.Time
	k := PointKind{text: "before " + t.UTC().Format(time.RFC3339Nano), check: access.TimeBound(&bound, "time", t)}
	if t.IsZero() {
		k.check = fmt.Errorf("%w: the time is zero: give one", ErrInvalid)
	}
	k.find = func(events []pointEvent) int64 {
		for i := range events {
			if events[i].kind.IsMessage() && events[i].at >= bound {
				return events[i].id
			}
		}
		return 0
	}
	return k
}

// Point is a point of a history, and what a reset or fork there means.
type Point struct {
	Execution int64 `json:"execution"` // whose history was read: pass it to InExecution
	Event     int64 `json:"event"`     // for Reset and Fork
	// Lost is how many events the new history does not have: that one and all behind it.
	Lost int64 `json:"lost"`
	// Reruns are activities that were scheduled before the point and had not ended there: they run again, whatever they have done. Those behind
	// it run again if the code calls them again.
	Reruns []PointActivity `json:"reruns,omitempty"`
	// Ended is how many activities ended behind the point, the reruns among them.
	Ended int64 `json:"ended"`
	// Received is how many events and updates came behind the point: they are received again, unless a reset drops them.
	Received int64 `json:"received"`
}

// PointActivity is an activity of a Point.
type PointActivity struct {
	EventID int64  `json:"eventId"` // of the event that scheduled it
	Name    string `json:"name"`
}

// pointEvent is what points need of an event.
type pointEvent struct {
	id, ref int64
	kind    history.Kind
	name    string
	at      provider.Time
	more    bool // a message behind which code did not continue before the next one
	failed  bool // an activity, for good
}

// FindPoint finds a point in the history of the current execution, and says what a reset or fork there means. Nothing is changed. Another execution
// may be current when the reset comes: pass Point.Execution to InExecution, so that it returns ErrSuperseded then.
//
// Errors: ErrNotFound if the history has no such point, or if there is no such instance; ErrInvalid; or the error of ctx.
func (h Handle[Out]) FindPoint(ctx context.Context, k PointKind) (Point, error) {
	if err := h.usable(ctx); err != nil {
		return Point{}, err
	}
	op := fmt.Sprintf("finding the point %s of %s", k, h.t)
	err := k.check
	if err == nil && k.find == nil {
		err = fmt.Errorf("%w: there is no kind of point: say before what it is", ErrInvalid)
	}
	if err != nil {
		return Point{}, fmt.Errorf("%s: %w", op, err)
	}
	execution, events, err := h.c.pointEvents(ctx, h.t, op)
	if err != nil {
		return Point{}, err
	}
	p := Point{Execution: execution, Event: k.find(events)}
	if p.Event == 0 {
		return Point{}, fmt.Errorf("%s: %w: look at the history of execution %d", op, errNoPoint, execution)
	}
	p.weigh(events)
	return p, nil
}

// pointEvents reads the history of the current execution.
func (c *Client) pointEvents(ctx context.Context, t access.Target, op string) (execution int64, events []pointEvent, err error) {
	res, err := c.store.Instance(ctx, t, op, false)
	if err != nil {
		return 0, nil, err
	}
	execution = res.Instance.Execution
	for from := int64(1); ; {
		req := provider.ReadHistoryRequest{Key: res.Instance.Key, Execution: execution, From: from}
		page, err := access.Read(ctx, c.store.Store, op, c.store.ReadHistory, req)
		if err != nil {
			return 0, nil, access.Explain(op, 0, err)
		}
		for _, stored := range page.Events {
			event, _, err := history.DecodeShown(stored.ID, stored.Data)
			if err != nil {
				return 0, nil, fmt.Errorf("%s: event %d: %w", op, stored.ID, errors.Join(ErrUnserved, err))
			}
			events = append(events, pointOf(&event))
			from = stored.ID + 1
		}
		if !page.More || len(page.Events) == 0 {
			return execution, events, nil
		}
	}
}

func pointOf(e *history.Event) pointEvent {
	p := pointEvent{id: e.ID, kind: e.Body.Kind(), at: provider.Time(e.At), more: e.More}
	switch b := e.Body.(type) {
	case *history.ActivityScheduled:
		p.name = b.Name
	case *history.ActivityCompleted:
		p.ref = b.Scheduled
	case *history.ActivityFailed:
		p.ref, p.failed = b.Scheduled, true
	case *history.LocalEnded:
		p.name, p.failed = b.Name, b.Failure != nil
	case *history.PatchMarked:
		p.name = b.ID
	}
	return p
}

// weigh says what a reset to the point means.
func (p *Point) weigh(events []pointEvent) {
	p.Lost = int64(len(events)) - p.Event + 1
	ended := map[int64]bool{} // before the point
	for i := range events {
		switch e := &events[i]; {
		case e.id < p.Event:
			ended[e.ref] = true
		case e.kind == history.KindActivityCompleted, e.kind == history.KindActivityFailed, e.kind == history.KindLocalEnded:
			p.Ended++
		case e.kind == history.KindEventReceived, e.kind == history.KindUpdateReceived:
			p.Received++
		}
	}
	for i := range events {
		if e := &events[i]; e.id < p.Event && e.kind == history.KindActivityScheduled && !ended[e.id] {
			p.Reruns = append(p.Reruns, PointActivity{EventID: e.id, Name: e.name})
		}
	}
}
