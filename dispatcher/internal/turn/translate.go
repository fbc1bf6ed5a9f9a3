package turn

import (
	"cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// translation is the commit of a turn and what it holds until it is stored.
type translation struct {
	req       provider.CommitTurnRequest
	handOffs  []*task.Attempt          // tasks that the commit leases to this node, each with a slot; see rollBack
	begun     []*local.Attempt         // the same for local activities, which are running
	mayTake   int                      // how many hand-offs there may be
	cancelled []int64                  // event IDs of cancelled activities
	going     map[int64]*local.Attempt // of local activities that run and have no task yet, by number of their call
	early     *fast.Claim              // claim that the commit ends
	buried    []string                 // names of the events that the commit moves to the dead letters
	run       *run
	added     added
}

// translator turns events into commits.
type translator struct {
	*core.Node

	actors    *actors
	turnSlots *flow.Slots
	attempts  attempts
	locals    *local.Worker
	anchorer  anchorer
}

// begin returns an empty translation. The caller defers rollBack before it calls translate.
func (tr *translator) begin(a *actor, r *run, x *replay.Execution, turn replay.Turn, going map[int64]*local.Attempt) *translation {
	return &translation{run: r, going: going, added: added{x: x, on: tr.Config.Level.Allowed() >= replay.LevelOfHandlers}, req: provider.CommitTurnRequest{
		Key: a.key, Execution: x.Info().Execution, Expected: a.version, Commit: storage.NewToken(),
		Length: x.Length() - int64(len(turn.Events)), Status: provider.StatusRunning, EngineLevel: replay.LowestLevel,
		Events: make([][]byte, 0, len(turn.Events)),
	}}
}

// translate turns the events of a turn into the commit that stores them. It takes slots for hand-offs; rollBack releases them.
func (tr *translator) translate(t *translation, a *actor, x *replay.Execution, turn replay.Turn) {
	info := x.Info()
	given := givenUp(turn.Events)
	for _, e := range turn.Events {
		size := 96
		if e.Body.Kind() == history.KindActivityScheduled {
			size = 128 // most have room for the origin of the task
		}
		data := history.Encode(make([]byte, 0, size), e)
		t.req.Events = append(t.req.Events, data)
		t.req.EngineLevel = max(t.req.EngineLevel, replay.LevelOfEvent(&e))
		tr.command(t, &info, e, data, turn, given)
	}
	if s := turn.State; s != nil {
		t.req.CustomStatus, t.req.Attributes, t.req.Values, t.req.EndSessions = s.Status, s.Attributes, s.Values, s.Ended
	}
	t.req.Values = append(t.req.Values, turn.Values...)
	if len(turn.Updates)+len(turn.Repeats) > 0 {
		tr.updates(t, a, x, turn)
	}
	if turn.End != nil {
		tr.end(t, &info, turn)
	}
	tr.pin(t, a, x, turn)
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
func (tr *translator) command(
	t *translation, info *replay.Info, e history.Event, data []byte, turn replay.Turn, given map[int64]bool,
) {
	first := turn.Events[0].ID
	switch b := e.Body.(type) {
	case *history.ActivityScheduled:
		if turn.End == nil && !given[e.ID] {
			t.req.Tasks = append(t.req.Tasks, tr.newTask(t, info, e.ID, b, data))
		} else if a := t.going[b.Local]; a != nil {
			tr.locals.DetachUnstored(a, turn.End != nil)
		}
	case *history.ActivityCancelRequested:
		if b.How == history.CancelWait && turn.End == nil {
			t.req.Sends = append(t.req.Sends, endUnlessBegun(info, b, data))
		}
		if b.Scheduled < first && b.How != history.CancelAbandon {
			t.cancelled = append(t.cancelled, b.Scheduled)
			t.req.CancelTasks = append(t.req.CancelTasks, provider.CancelTask{EventID: b.Scheduled})
		}
	case *history.TimerCreated:
		if turn.End == nil && !given[e.ID] {
			t.req.Timers = append(t.req.Timers, provider.Timer{
				EventID: e.ID, Kind: provider.MessageKind(history.KindTimerFired), Due: provider.Time(b.Due),
				Payload: history.Encode(nil, history.Event{Body: &history.TimerFired{Timer: e.ID}}),
			})
		}
	case *history.TimerCancelled:
		if b.Timer < first {
			t.req.CancelTimers = append(t.req.CancelTimers, b.Timer)
		}
	case *history.ChildStarted:
		if turn.End == nil && !given[e.ID] {
			t.req.Starts = append(t.req.Starts, tr.startChild(t, info, e.ID, b))
		}
	case *history.ChildCancelRequested:
		if b.Started < first {
			cancelOwn(t, info, b.Started, b.Key)
		}
	}
	tr.reach(t, info, e)
}

// handOff reports whether the turn's own commit leases a task to this node, and takes the slot. One commit takes at most half of the free
// slots, or the only one.
func (tr *translator) handOff(t *translation, call *history.ActivityScheduled) bool {
	if !tr.attempts.MayHandOff(call) {
		return false
	}
	if t.mayTake == 0 {
		t.mayTake = max(1, tr.Tasks.Free()/2)
	}
	return len(t.handOffs)+len(t.begun) < t.mayTake && tr.Tasks.TryTake()
}

// newTask makes the task of a scheduled activity, leased to this node if possible.
func (tr *translator) newTask(
	t *translation, info *replay.Info, event int64, call *history.ActivityScheduled, payload []byte,
) provider.NewTask {
	payload, origin := t.added.task(payload)
	added := task.Of(event, call, payload)
	if a := t.going[call.Local]; a != nil {
		delete(t.going, call.Local)
		if tr.Tasks.TryTake() {
			a.Ref.EventID, a.Token, a.Lease = event, storage.NewToken(), manage.NewLease(tr.Config.Lease)
			added.Lease = &provider.TaskLease{Token: a.Token, Owner: tr.Config.Owner, Duration: tr.Config.Lease}
			t.begun = append(t.begun, a)
			return added
		}
		tr.locals.Detach(a, activity.ErrLeaseLost) // the queue starts it again
	}
	if call.Delay > 0 {
		return added
	}
	if !tr.handOff(t, call) {
		tr.attempts.Queues(call)
		return added
	}
	a := task.HandedOff(task.Ref(info.Key, info.Execution, event), info.ID, call, tr.Clock.Now(), tr.Config.Lease)
	if a.Origin = origin; origin == nil {
		a.Origin = t.added.x.Origin()
	}
	if tr.Watch.On() {
		a.Of = t.added.x.From()
	}
	added.Lease = &provider.TaskLease{Token: a.Token, Owner: tr.Config.Owner, Duration: tr.Config.Lease}
	t.handOffs = append(t.handOffs, a)
	return added
}

func (tr *translator) startChild(t *translation, info *replay.Info, event int64, b *history.ChildStarted) provider.Start {
	started := &history.ExecutionStarted{
		Name: b.Name, CodeVersion: b.CodeVersion, Input: b.Input, Settings: tr.Config.Settings(),
		Parent: history.Parent{Key: info.Key, ID: info.ID, Execution: info.Execution, EventID: event},
		Root:   t.added.root(), Header: t.added.header(),
	}
	refused := &history.ChildFailed{Started: event, Failure: (*failure.Set)(nil).Encode(
		failure.New(failure.ErrExists, "starting child %s: instance ID %q is in use: choose another one", b.Name, b.ID))}
	return provider.Start{
		Create: provider.CreateRequest{
			ID: b.ID, Key: b.Key, Commit: storage.NewToken(), Name: b.Name, CodeVersion: b.CodeVersion, EngineLevel: replay.LevelOf(started),
			Parent:  provider.Parent{Key: info.Key, ID: info.ID, Execution: info.Execution, EventID: event, Close: provider.CloseCancel},
			Message: core.Message(started, 0, 0),
		},
		Refused: core.Message(refused, info.Execution, event),
	}
}

// cancelOwn asks a child to stop that is not one of the origin of a fork.
func cancelOwn(t *translation, info *replay.Info, event int64, key provider.UUID) {
	if !t.added.x.Foreign(event) {
		t.req.Sends = append(t.req.Sends, cancelChild(t, info, event, key))
	}
}

// cancelChild asks a child to stop. The request ID makes a repeated delivery harmless.
func cancelChild(t *translation, info *replay.Info, event int64, key provider.UUID) provider.OutMessage {
	return provider.OutMessage{Key: key, Message: core.Message(&history.CancelRequested{
		Reason: "its parent " + info.ID + " cancelled it or ended", RequestID: "parent:" + key.String(), Header: t.added.header(),
	}, 0, event)}
}

// end closes the execution: outcome, notice to the parent, cancel requests to
// children that still run, or the next execution.
func (tr *translator) end(t *translation, info *replay.Info, turn replay.Turn) {
	end, first := turn.End, turn.Events[0].ID
	for _, child := range turn.Children {
		if child.EventID < first {
			cancelOwn(t, info, child.EventID, child.Key)
		}
	}
	if end.Next != nil {
		t.req.Next = tr.nextExecution(t, end.Next)
		return
	}
	t.req.Status = provider.StatusCompleted
	switch {
	case end.Failure != nil && end.Cancelled:
		t.req.Status = provider.StatusCancelled
	case end.Failure != nil:
		t.req.Status = provider.StatusFailed
	}
	t.req.Result = history.EncodeOutcome(history.Outcome{Output: end.Output, Failure: end.Failure})
	if info.Parent.Key != ([16]byte{}) {
		execution := cmp.Or(info.ParentExecution, info.Parent.Execution)
		t.req.Sends = append(t.req.Sends, provider.OutMessage{
			Key: info.Parent.Key, Message: core.Message(childOutcome(info.Parent.EventID, end), execution, info.Parent.EventID),
		})
	}
}

func childOutcome(event int64, end *replay.End) history.Body {
	if end.Failure != nil {
		return &history.ChildFailed{Started: event, Failure: *end.Failure}
	}
	return &history.ChildCompleted{Started: event, Output: end.Output}
}

// nextExecution returns the execution that continues. It keeps its limits, and gets the behaviours that the store allows by now.
func (tr *translator) nextExecution(t *translation, events []history.Event) *provider.NextExecution {
	started := events[0].Body.(*history.ExecutionStarted)
	if now := tr.Config.Settings().Flags; now > started.Settings.Flags { // later behaviours have higher bits
		started.Settings.Flags = now
	}
	started.Began = t.added.began()
	before, _ := t.added.x.Trace()
	tr.anchorer.next(t.run, t.added.x.Info(), before, started)
	next := &provider.NextExecution{
		Name: started.Name, CodeVersion: started.CodeVersion, EngineLevel: replay.LowestLevel,
		Message: new(core.Message(&history.ExecutionOpened{}, 0, 0)),
	}
	for _, e := range events {
		next.Events = append(next.Events, history.Encode(nil, e))
		next.EngineLevel = max(next.EngineLevel, replay.LevelOf(e.Body))
	}
	return next
}
