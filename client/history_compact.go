package client

import (
	"context"
	"slices"
	"time"
)

// HistoryStep is a line of a compact history: an event, with the event that ended it if that is known.
type HistoryStep struct {
	HistoryEvent
	End  *HistoryEvent `json:"end,omitempty"`       // nil: it has not ended, or it needs no end
	Took time.Duration `json:"tookNanos,omitempty"` // from the event to its end
	// EndUnknown says that an end was looked for only in a part of the history.
	EndUnknown bool `json:"endUnknown,omitempty"`
}

// Pending reports whether the step is an activity, a timer, a child or an update that has no end in what was looked at, which is all of the
// history unless EndUnknown says otherwise.
func (s *HistoryStep) Pending() bool { return s.End == nil && opens(s.Kind) }

// maxEndPages bounds the pages that Steps reads for ends.
const maxEndPages = 4

// Steps is CompactHistory for a part of the history of one execution, such as a page: it also finds the ends that are not in the part. It
// reads some thousand events after the part at most: EndUnknown says of which steps it has not found out.
func (h Handle[Out]) Steps(ctx context.Context, events []HistoryEvent) ([]HistoryStep, error) {
	steps := CompactHistory(events)
	open := map[int64]*HistoryStep{}
	from := int64(0)
	for i := range steps {
		if s := &steps[i]; s.Pending() {
			open[s.ID] = s
			if from == 0 || s.ID < from {
				from = s.ID
			}
		}
	}
	r := HistoryRange{From: from + 1, Kinds: endKinds(), Max: 1000}
	for pages := 0; len(open) > 0; pages++ {
		r.Execution = events[0].Execution
		if pages == maxEndPages {
			for _, s := range open {
				s.EndUnknown = true
			}
			break
		}
		page, err := h.HistoryPage(ctx, r)
		if err != nil {
			return nil, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if s := open[e.Ref]; s != nil {
				s.End, s.Took = new(*e), e.Time.Sub(s.Time) // without the rest of the page, which can be freed
				delete(open, e.Ref)
			}
		}
		if r.From = page.Next; !page.More {
			break
		}
	}
	return steps, nil
}

// endKinds returns the kinds of events that end others.
func endKinds() []string {
	return slices.DeleteFunc(HistoryKinds(), func(kind string) bool { return !closes(kind) })
}

// CompactHistory joins each activity, timer, child and update with the event that ended it, in the order in which they began. It also
// leaves out what only the engine needs, such as ExecutionOpened. An end whose beginning is not in the list is a step of its own. If the list is
// not the whole history, use Handle.Steps.
func CompactHistory(events []HistoryEvent) []HistoryStep {
	steps := make([]HistoryStep, 0, len(events))
	type place struct{ execution, event int64 }
	open := map[place]int{}
	for i := range events {
		e := &events[i]
		at, known := open[place{e.Execution, e.Ref}]
		switch {
		case e.Kind == "ExecutionOpened", e.Kind == "UpdateAccepted" && known:
			continue
		case known && closes(e.Kind):
			steps[at].End, steps[at].Took = e, e.Time.Sub(steps[at].Time)
			continue
		case opens(e.Kind):
			open[place{e.Execution, e.ID}] = len(steps)
		}
		steps = append(steps, HistoryStep{HistoryEvent: *e})
	}
	return steps
}

// opens reports whether another event ends one of the kind.
func opens(kind string) bool {
	switch kind {
	case "ActivityScheduled", "TimerCreated", "ChildStarted", "UpdateReceived":
		return true
	}
	return false
}

// closes reports whether an event of the kind ends another one.
func closes(kind string) bool {
	switch kind {
	case "ActivityCompleted", "ActivityFailed", "TimerFired", "TimerCancelled", "ChildCompleted", "ChildFailed", "UpdateRejected", "UpdateCompleted":
		return true
	}
	return false
}
