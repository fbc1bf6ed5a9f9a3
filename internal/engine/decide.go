package engine

import (
	"cmp"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Policy is what the store and the node prescribe.
type Policy struct {
	Level    int64            // the highest engine level that the store allows
	Settings history.Settings // of executions that this one starts
	Outcomes *Outcomes        // of the instance's updates; nil: not known
	Faces    bool             // the store keeps an excerpt and a group of what failed
}

// Decision is what a turn wants to have stored, and what its node has to do about that.
type Decision struct {
	Turn replay.Turn
	// Request has no commit IDs, neither its own nor those of the instances that it starts, no expected version and no leases.
	Request   provider.CommitTurnRequest
	Calls     []Call    // activities that the turn has called, in order
	Cancelled []int64   // event IDs of activities whose attempts are cancelled
	Kept      []Outcome // of updates that are kept or removed, once the turn is stored
	LeftOut   int       // headers that had no room

	one [1]Call // where Calls begins: most turns call one activity
}

// Call is an activity that the turn has called.
type Call struct {
	Task   int // its index in the tasks of the request; -1: the turn needs no task for it
	Call   *history.ActivityScheduled
	Caller []byte // what the task's payload says of the execution; nil: nothing
}

// decider makes a decision.
type decider struct {
	*Decision

	view   replay.View
	info   replay.Info
	policy Policy
	given  map[int64]bool // see givenUp
	added  added
}

// Decide makes the decision about what an execution has done since its last commit.
func Decide(d *Decision, x *replay.Execution, p Policy) {
	turn, view := x.Turn(), x.View()
	of := decider{
		Decision: d, view: view, info: view.Info(), policy: p, given: givenUp(turn.Events), added: added{view: view, on: p.Level >= replay.LevelOfHandlers},
	}
	d.Turn, d.Calls = turn, d.one[:0]
	d.Request = provider.CommitTurnRequest{
		Key: of.info.Key, Execution: of.info.Execution, Length: view.Length() - int64(len(turn.Events)), Status: provider.StatusRunning,
		EngineLevel: replay.LowestLevel, Events: make([][]byte, 0, len(turn.Events)),
	}
	for _, e := range turn.Events {
		size := 96
		if e.Body.Kind() == history.KindActivityScheduled {
			size = 128 // most have room for the origin of the task
		}
		data := history.Encode(make([]byte, 0, size), e)
		d.Request.Events = append(d.Request.Events, data)
		d.Request.EngineLevel = max(d.Request.EngineLevel, replay.LevelOfEvent(&e))
		of.command(e, data)
	}
	if s := turn.State; s != nil {
		d.Request.CustomStatus, d.Request.Attributes, d.Request.Values, d.Request.EndSessions = s.Status, s.Attributes, s.Values, s.Ended
	}
	d.Request.Values = append(d.Request.Values, turn.Values...)
	d.Request.Attributes = append(d.Request.Attributes, turn.Columns...)
	if len(turn.Updates)+len(turn.Repeats) > 0 {
		of.updates()
	}
	if turn.End != nil {
		of.end()
	}
	d.LeftOut = of.added.leftOut
}

// givenUp returns the commands that were made and cancelled within the same turn. They leave only events.
func givenUp(events []history.Event) map[int64]bool {
	var given map[int64]bool
	for _, e := range events {
		var id int64
		switch b := e.Body.(type) {
		case *history.ActivityCancelRequested:
			if b.How == history.CancelAbandon {
				continue
			}
			id = b.Scheduled
		case *history.TimerCancelled:
			id = b.Timer
		case *history.ChildCancelRequested:
			id = b.Started
		default:
			continue
		}
		if id >= events[0].ID {
			if given == nil {
				given = make(map[int64]bool)
			}
			given[id] = true
		}
	}
	return given
}

// command adds the effects of one event. An ended execution begins nothing that belongs to it. Its detached starts and messages go out.
func (d *decider) command(e history.Event, data []byte) {
	first, ended := d.Turn.Events[0].ID, d.Turn.End != nil
	switch b := e.Body.(type) {
	case *history.ActivityScheduled:
		call := Call{Task: -1, Call: b}
		if !ended && !d.given[e.ID] {
			call.Task = len(d.Request.Tasks)
			data, call.Caller = d.added.task(data)
			d.Request.Tasks = append(d.Request.Tasks, NewTask(e.ID, b, data))
		}
		d.Calls = append(d.Calls, call)
	case *history.ActivityCancelRequested:
		if b.How == history.CancelWait && !ended {
			d.Request.Sends = append(d.Request.Sends, endUnlessBegun(&d.info, b, data))
		}
		if b.Scheduled < first && b.How != history.CancelAbandon {
			d.Cancelled = append(d.Cancelled, b.Scheduled)
			d.Request.CancelTasks = append(d.Request.CancelTasks, provider.CancelTask{EventID: b.Scheduled})
		}
	case *history.TimerCreated:
		if !ended && !d.given[e.ID] {
			d.Request.Timers = append(d.Request.Timers, provider.Timer{
				EventID: e.ID, Kind: provider.MessageKind(history.KindTimerFired), Due: provider.Time(b.Due),
				Payload: history.Encode(nil, history.Event{Body: &history.TimerFired{Timer: e.ID}}),
			})
		}
	case *history.TimerCancelled:
		if b.Timer < first {
			d.Request.CancelTimers = append(d.Request.CancelTimers, b.Timer)
		}
	case *history.ChildStarted:
		if begins(b, ended) && !d.given[e.ID] {
			d.Request.Starts = append(d.Request.Starts, d.startChild(e.ID, b))
		}
	case *history.ChildCancelRequested:
		if b.Started < first {
			d.cancelOwn(b.Started, b.Key)
		} else if !ended {
			d.childNotBegun(b.Started)
		}
	}
	d.reach(e)
}

// begins reports whether a child that a turn starts begins. One that outlives its parent does so with the parent's end, too.
func begins(b *history.ChildStarted, ended bool) bool {
	return !ended || b.Close == history.CloseAbandon
}

// childNotBegun tells code that waits for the end of a child, which it has started and cancelled within the turn, that there is none.
func (d *decider) childNotBegun(event int64) {
	b, ok := d.Turn.Events[event-d.Turn.Events[0].ID].Body.(*history.ChildStarted)
	if !ok || b.Cancellation != history.CancelWait {
		return
	}
	d.Request.Sends = append(d.Request.Sends, provider.OutMessage{Key: d.info.Key, Message: Message(&history.ChildFailed{
		Started: event, Failure: (*failure.Set)(nil).Encode(failure.New(failure.ErrCancelled, "child %s was cancelled before it began", b.Name)),
	}, d.info.Execution, event)})
}

func (d *decider) startChild(event int64, b *history.ChildStarted) provider.Start {
	info := &d.info
	started := &history.ExecutionStarted{
		Name: b.Name, CodeVersion: b.CodeVersion, Input: b.Input, Settings: d.policy.Settings,
		Parent: history.Parent{Key: info.Key, ID: info.ID, Execution: info.Execution, EventID: event},
		Root:   d.added.root(), Header: d.added.childHeader(b.Header),
	}
	refused := &history.ChildFailed{Started: event, Failure: (*failure.Set)(nil).Encode(
		failure.New(failure.ErrExists, "starting child %s: instance ID %q is in use: choose another one", b.Name, b.ID))}
	start := provider.Start{
		Create: provider.CreateRequest{
			ID: b.ID, Key: b.Key, Name: b.Name, CodeVersion: b.CodeVersion, EngineLevel: replay.LevelOf(started),
			Parent:  provider.Parent{Key: info.Key, ID: info.ID, Execution: info.Execution, EventID: event, Close: closePolicy(b)},
			Message: Message(started, 0, 0),
		},
		Refused: Message(refused, info.Execution, event),
	}
	start.Create.Attributes = attributesOf(b.Attributes)
	if b.TellStart {
		start.Accepted = new(reply(event, b.Key, history.ReplyAccepted))
	}
	return start
}

// closePolicy returns what the end of the parent does to a child. A policy that this release does not know is never stored.
func closePolicy(b *history.ChildStarted) provider.ClosePolicy {
	if b.Close == history.CloseAbandon {
		return provider.CloseAbandon
	}
	return provider.CloseCancel
}

// cancelOwn asks a child to stop that is not one of the origin of a fork.
func (d *decider) cancelOwn(event int64, key provider.UUID) {
	if !d.view.OfOtherInstance(event) {
		d.Request.Sends = append(d.Request.Sends, d.cancelChild(event, key))
	}
}

// cancelChild asks a child to stop. The request ID makes a repeated delivery harmless.
func (d *decider) cancelChild(event int64, key provider.UUID) provider.OutMessage {
	return provider.OutMessage{Key: key, Message: Message(&history.CancelRequested{
		Reason: "its parent " + d.info.ID + " cancelled it or ended", RequestID: "parent:" + key.String(), Header: d.added.header(),
	}, 0, event)}
}

// end closes the execution: outcome, notice to the parent, cancel requests to
// children that still run and do not outlive it. The next execution is made by Next.
func (d *decider) end() {
	info, end, first := &d.info, d.Turn.End, d.Turn.Events[0].ID
	for _, child := range d.Turn.Children {
		if child.EventID < first {
			d.cancelOwn(child.EventID, child.Key)
		}
	}
	if end.Next != nil {
		return // see Next
	}
	d.Request.Status = provider.StatusCompleted
	switch {
	case end.Failure != nil && end.Cancelled:
		d.Request.Status = provider.StatusCancelled
	case end.Failure != nil:
		d.Request.Status = provider.StatusFailed
		if d.policy.Faces {
			face, group := failure.FaceOf(end.Failure, info.Name, d.view.FailedActivity())
			d.Request.Excerpt, d.Request.FailureGroup = face.Encode(), group
		}
	}
	d.Request.Result = history.EncodeOutcome(history.Outcome{Output: end.Output, Failure: end.Failure})
	if info.Parent.Key != ([16]byte{}) {
		execution := cmp.Or(info.ParentExecution, info.Parent.Execution)
		d.Request.Sends = append(d.Request.Sends, provider.OutMessage{
			Key: info.Parent.Key, Message: Message(childOutcome(info.Parent.EventID, end), execution, info.Parent.EventID),
		})
	}
}

func childOutcome(event int64, end *replay.End) history.Body {
	if end.Failure != nil {
		return &history.ChildFailed{Started: event, Failure: *end.Failure}
	}
	return &history.ChildCompleted{Started: event, Output: end.Output}
}

// Start returns the start event of the next execution, with the limits of this one and the behaviours that the store allows by now. The node
// may give it an anchor before it calls Next.
func (d *Decision) Start(x *replay.Execution, p Policy) *history.ExecutionStarted {
	started := d.start()
	if p.Settings.Flags > started.Settings.Flags { // later behaviours have higher bits
		started.Settings.Flags = p.Settings.Flags
	}
	started.Began = (&added{view: x.View(), on: p.Level >= replay.LevelOfHandlers}).began()
	return started
}

// start returns the first event of the next execution.
func (d *Decision) start() *history.ExecutionStarted {
	started, _ := d.Turn.End.Next[0].Body.(*history.ExecutionStarted)
	return started
}

// Next adds the next execution to the request.
func (d *Decision) Next() {
	events, started := d.Turn.End.Next, d.start()
	next := &provider.NextExecution{
		Name: started.Name, CodeVersion: started.CodeVersion, EngineLevel: replay.LowestLevel,
		Message: new(Message(&history.ExecutionOpened{}, 0, 0)),
	}
	for _, e := range events {
		next.Events = append(next.Events, history.Encode(nil, e))
		next.EngineLevel = max(next.EngineLevel, replay.LevelOf(e.Body))
	}
	d.Request.Next = next
}

// endUnlessBegun is the reminder of a cancelled call that waits for its activity's end. It becomes no event. The call needs a result, even if
// the commit removes the task because no attempt runs, and the storage does not return whether it did. The turn that has the reminder sends a
// result for each task that is gone; the attempts of the others send their own.
func endUnlessBegun(info *replay.Info, b *history.ActivityCancelRequested, data []byte) provider.OutMessage {
	return provider.OutMessage{Key: info.Key, Message: provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), Execution: info.Execution, EventID: b.Scheduled, Payload: data,
	}}
}
