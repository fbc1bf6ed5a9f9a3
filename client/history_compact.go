package client

import "time"

// HistoryStep is a line of a compact history: an event, with the event that ended it if that is known.
type HistoryStep struct {
	HistoryEvent
	End  *HistoryEvent `json:"end,omitempty"`       // nil: it has not ended, or it needs no end
	Took time.Duration `json:"tookNanos,omitempty"` // from the event to its end
}

// Pending reports whether the step is an activity, a timer, a child or an update that has not ended.
func (s *HistoryStep) Pending() bool { return s.End == nil && opens(s.Kind) }

// CompactHistory joins each activity, timer, child and update with the event that ended it, in the order in which they began. It also
// leaves out what only the engine needs, such as ExecutionOpened. An end whose beginning is not in the list is a step of its own.
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
