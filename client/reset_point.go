package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// ErrNoPoint means that a history has no point of the kind that was asked for. Compare with errors.Is.
var ErrNoPoint = errors.New("the history has no such point")

// The words of kinds of points, which ParsePointKind reads.
const (
	pointFirstFailure = "first-failure"
	pointLastFailure  = "last-failure"
	pointPatch        = "patch"
	pointTime         = "time"
	pointAtEvent      = "event"
)

// PointKind says where in a history to reset or fork. Make it with BeforeFirstFailure, BeforeLastFailure, BeforePatch, BeforeTime,
// BeforeEvent or ParsePointKind. It is a plain value: many goroutines may use it at once.
type PointKind struct {
	text      string
	word      string // that ParsePointKind reads
	check     error
	execution int64                           // 0: the current one
	find      func(events []pointEvent) int64 // 0: there is none
}

// String describes the kind, such as "before the first failed activity".
func (k PointKind) String() string { return k.text }

// MarshalText returns the text that ParsePointKind reads. The error is ErrInvalid for the zero value, and for a kind that In has bound to an execution.
func (k PointKind) MarshalText() ([]byte, error) {
	if err := k.usable(); err != nil {
		return nil, err
	}
	if k.execution != 0 {
		return nil, fmt.Errorf("%w: the point is one of execution %d: give a kind that holds for any", ErrInvalid, k.execution)
	}
	return []byte(k.word), nil
}

// In returns the kind for an execution, 1 or higher, that need not be the current one. So a repeat of a call that succeeded finds the same point
// again, although the execution that it has opened is the current one by now.
func (k PointKind) In(execution int64) PointKind {
	if execution < 1 && k.check == nil {
		k.check = fmt.Errorf("%w: execution %d: executions begin with 1", ErrInvalid, execution)
	}
	k.execution = execution
	return k
}

func (k PointKind) usable() error {
	if k.check == nil && k.find == nil {
		return fmt.Errorf("%w: there is no kind of point: say before what it is", ErrInvalid)
	}
	return k.check
}

// ParsePointKind reads a kind of point from the text that the command line, the HTTP API and bulk jobs take: first-failure, last-failure, patch=ID,
// event=N, or time=T with a time such as 2026-01-02T03:04:05Z or a day such as 2026-01-02, which begins in UTC. The error is ErrInvalid.
func ParsePointKind(text string) (PointKind, error) {
	word, value, given := strings.Cut(text, "=")
	var k PointKind
	switch {
	case text == pointFirstFailure:
		k = BeforeFirstFailure()
	case text == pointLastFailure:
		k = BeforeLastFailure()
	case word == pointPatch && given:
		k = BeforePatch(value)
	case word == pointAtEvent && given:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return PointKind{}, fmt.Errorf("%w: the event of the point is %s: give its number, such as 17", ErrInvalid, check.Quote(value))
		}
		k = BeforeEvent(n)
	case word == pointTime && given:
		t, err := parsePointTime(value)
		if err != nil {
			return PointKind{}, err
		}
		k = BeforeTime(t)
	default:
		return PointKind{}, fmt.Errorf("%w: the kind of point is %s: give first-failure, last-failure, patch=ID, event=N or time=2026-01-02T03:04:05Z",
			ErrInvalid, check.Quote(text))
	}
	if err := k.usable(); err != nil {
		return PointKind{}, err
	}
	return k, nil
}

func parsePointTime(text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: the time of the point is %s: give one such as 2026-01-02T03:04:05Z, or a day such as 2026-01-02",
		ErrInvalid, check.Quote(text))
}

// BeforeFirstFailure is the point before the first failed activity, local or not, of the execution: it runs again with its first attempt.
func BeforeFirstFailure() PointKind {
	return PointKind{text: "before the first failed activity", word: pointFirstFailure, find: func(events []pointEvent) int64 {
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
	return PointKind{text: "before the last failed activity", word: pointLastFailure, find: func(events []pointEvent) int64 {
		for _, e := range slices.Backward(events) {
			if e.failed {
				return e.id
			}
		}
		return 0
	}}
}

// BeforeEvent is the point before the event of a number, which must be a message, as History numbers it. One more than the last event is the end of
// the history.
func BeforeEvent(event int64) PointKind {
	k := PointKind{text: fmt.Sprintf("before event %d", event), word: fmt.Sprintf("%s=%d", pointAtEvent, event)}
	if event < 1 {
		k.check = fmt.Errorf("%w: event %d: events begin with 1", ErrInvalid, event)
	}
	k.find = func(events []pointEvent) int64 {
		n := int64(len(events))
		if event <= n && events[event-1].kind.IsMessage() || event == n+1 {
			return event
		}
		return 0
	}
	return k
}

// BeforePatch is the point before the messages upon which the code first took the new branch of a patch, so that it decides anew.
func BeforePatch(id string) PointKind {
	k := PointKind{text: fmt.Sprintf("before patch %s", check.Quote(id)), word: pointPatch + "=" + id, check: access.Name("patch", id)}
	k.find = func(events []pointEvent) int64 {
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
	}
	return k
}

// BeforeTime is the point before the first message that the execution took at a time of the storage's clock, or later. An execution that began later
// than that has no such point: to start it anew, take event 1.
func BeforeTime(t time.Time) PointKind {
	var bound provider.Time
	text := t.UTC().Format(time.RFC3339Nano)
	k := PointKind{text: "before " + text, word: pointTime + "=" + text, check: access.TimeBound(&bound, "time", t)}
	if t.IsZero() {
		k.check = fmt.Errorf("%w: the time is zero: give one", ErrInvalid)
	}
	k.find = func(events []pointEvent) int64 {
		if len(events) > 0 && bound < events[0].at { // the execution did not exist then
			return 0
		}
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

// FindPoint finds a point in the history of the current execution, or of the one that PointKind.In names, and says what a reset or fork there means.
// Nothing is changed. Another execution may be current when the reset comes: pass Point.Execution to InExecution, so that it returns ErrSuperseded
// then.
//
// Errors: ErrNoPoint if the history has no such point; ErrNotFound if there is no such instance or execution; ErrInvalid; or the error of ctx.
func (h Handle[Out]) FindPoint(ctx context.Context, k PointKind) (Point, error) {
	if err := h.usable(ctx); err != nil {
		return Point{}, err
	}
	op := fmt.Sprintf("finding the point %s of %s", k, h.t)
	if err := k.usable(); err != nil {
		return Point{}, fmt.Errorf("%s: %w", op, err)
	}
	return h.c.findPoint(ctx, h.t, op, k)
}

func (c *Client) findPoint(ctx context.Context, t access.Target, op string, k PointKind) (Point, error) {
	execution, events, err := c.pointEvents(ctx, t, op, k.execution)
	if err != nil {
		return Point{}, err
	}
	p := Point{Execution: execution, Event: k.find(events)}
	if p.Event == 0 {
		began := ""
		if len(events) > 0 {
			began = ", which began at " + events[0].at.Std().UTC().Format(time.RFC3339Nano)
		}
		return Point{}, fmt.Errorf("%s: %w: look at the history of execution %d%s", op, ErrNoPoint, execution, began)
	}
	p.weigh(events)
	return p, nil
}

// pointEvents reads the history of an execution; 0: of the current one.
func (c *Client) pointEvents(ctx context.Context, t access.Target, op string, of int64) (execution int64, events []pointEvent, err error) {
	res, err := c.store.Instance(ctx, t, op, false)
	if err != nil {
		return 0, nil, err
	}
	execution = cmp.Or(of, res.Instance.Execution)
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
