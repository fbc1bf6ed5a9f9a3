package model

import (
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

func doCommit(d *driver) {
	if d.lastCommit == nil || !d.odds(12) {
		d.lastCommit = newCommit(d)
		if d.lastCommit == nil {
			return
		}
	}
	d.brief = d.brief || d.idles
	if _, err := call(d, "commit turn", (*provider.Full).CommitTurn, d.lastCommit, nil); err != nil {
		return
	}
	req := d.lastCommit(d.model)
	d.noteLeases(&req)
}

// newCommit draws a commit on top of a fetched turn, or of the stored row as a hand-off turn is. It returns nil if there is no
// instance.
func newCommit(d *driver) func(*side) provider.CommitTurnRequest {
	var turn seenTurn
	if len(d.turns) > 0 && d.odds(2) {
		turn = d.recentTurn()
	}
	if turn.Instance.Key.IsZero() || !d.fresh(turn) && !d.odds(6) {
		if len(d.rows) == 0 {
			return nil
		}
		turn = seenTurn{Turn: provider.Turn{Instance: d.row()}}
		if d.odds(8) {
			turn.token = d.token()
		}
	}
	i := turn.Instance
	req := provider.CommitTurnRequest{
		Key: i.Key, Execution: i.Execution, Expected: i.Version, Length: i.HistoryLength, Commit: d.commit(), Lease: turn.token,
		Status: provider.StatusRunning, Events: some(&d.source, 2, func() []byte { return d.payload("e") }),
	}
	d.addWork(&req)
	d.addOthers(&req)
	d.addDescription(&req)
	d.addEnd(&req)
	switch d.n(30) { // a stale one
	case 27:
		req.Length++
	case 28:
		req.Execution++
	case 29:
		req.Expected = named('C', 1+d.n(d.counter))
	}
	if req.Expected == req.Commit {
		req.Commit = d.commit()
	}
	consumed, timers := d.consumed(turn, len(d.model.inbox(i.Key).ids)), d.timers(&req)
	return once(func(s *side) provider.CommitTurnRequest {
		r := req
		r.Timers = timers(s)
		for _, m := range consumed {
			r.Consumed = append(r.Consumed, s.inbox(req.Key).id(m))
		}
		return r
	})
}

// once builds the request for a side on the first call and returns the same one afterwards.
func once[Req any](build func(*side) Req) func(*side) Req {
	made := map[*side]Req{}
	return func(s *side) Req {
		req, ok := made[s]
		if !ok {
			req = build(s)
			made[s] = req
		}
		return req
	}
}

// timers draws when the timers of a commit are due, counted from the start of the step.
func (w *world) timers(req *provider.CommitTurnRequest) func(*side) []provider.Timer {
	due := make([]time.Duration, len(req.Timers))
	for n := range due {
		due[n] = pick(&w.source, long, -long, 0, short)
		if n > 0 && due[n-1] == short { // the next timer may be stored before or after this one is due
			due[n] = max(due[n], short)
		}
		if due[n] == short { // it may be due before a message of this commit is visible
			w.brief = true
			req.Sends, req.Starts, req.Next = nil, nil, nil
		}
	}
	list := req.Timers
	return func(s *side) []provider.Timer {
		timers := slices.Clone(list)
		for n := range timers {
			timers[n].Due = s.marks[len(s.marks)-1].from.Add(due[n])
		}
		return timers
	}
}

// consumed draws the numbers of the messages that a commit consumes, mostly those that were fetched with the turn. The inbox
// has numbered known messages so far.
func (w *world) consumed(turn seenTurn, known int) (list []int64) {
	all := !w.odds(4)
	for _, m := range turn.Messages {
		if all || w.odds(2) {
			list = append(list, m.ID)
		}
	}
	if len(list) == 0 && known > 0 && w.odds(2) {
		list = append(list, int64(known-w.n(min(known, 3)))) // it may be gone
	}
	return list
}

// addWork adds tasks and timers.
func (w *world) addWork(req *provider.CommitTurnRequest) {
	for _, event := range w.events() {
		req.Tasks = append(req.Tasks, w.newTask(event))
	}
	if w.odds(4) {
		for _, event := range w.events() {
			req.CancelTasks = append(req.CancelTasks, provider.CancelTask{EventID: event, Remove: w.odds(2)})
		}
	}
	for _, event := range w.events() {
		req.Timers = append(req.Timers, provider.Timer{EventID: event, Kind: provider.MessageKind(w.n(2)), Payload: w.payload("timer")})
	}
	if w.odds(3) {
		req.CancelTimers = w.events()
	}
	w.takeBack(req)
	for _, task := range w.tasks {
		if task.Key == req.Key && len(req.Completes) == 0 && w.odds(6) {
			req.Completes = []provider.TaskCompletion{{EventID: task.EventID, Token: task.token}}
		}
	}
	if w.odds(20) {
		req.Completes = []provider.TaskCompletion{{EventID: w.event(), Token: w.token()}}
	}
}

// takeBack makes a commit cancel some of its own tasks and timers. It drops other repeated events: an engine assigns each once.
func (w *world) takeBack(req *provider.CommitTurnRequest) {
	req.CancelTasks = slices.DeleteFunc(req.CancelTasks, func(c provider.CancelTask) bool {
		return slices.ContainsFunc(req.Tasks, func(t provider.NewTask) bool { return t.EventID == c.EventID })
	})
	req.CancelTimers = slices.DeleteFunc(req.CancelTimers, func(event int64) bool {
		return slices.ContainsFunc(req.Timers, func(t provider.Timer) bool { return t.EventID == event })
	})
	const never = 100 // an event that is never stored
	if w.odds(8) {
		req.Tasks = append(req.Tasks, w.newTask(never))
		req.CancelTasks = append(req.CancelTasks, provider.CancelTask{EventID: never, Remove: true})
	}
	if w.odds(8) {
		req.Timers = append(req.Timers, provider.Timer{EventID: never, Payload: w.payload("timer")})
		req.CancelTimers = append(req.CancelTimers, never)
	}
}

func (w *world) newTask(event int64) provider.NewTask {
	t := provider.NewTask{
		EventID: event, Queue: pick(&w.source, "q", "r"), Name: pick(&w.source, "f", "g"), Payload: w.payload("task"), Priority: pick(&w.source, 0, 0, 1, 5),
		FairnessKey: pick(&w.source, "", "", "j", "k"), Session: w.session(), NotBefore: w.delay(),
	}
	for _, end := range []*time.Duration{&t.Deadline, &t.StartBy} {
		switch w.n(8) {
		case 5:
			*end = long
		case 6, 7:
			*end, w.brief = short, true
		}
	}
	if w.odds(3) {
		t.Lease = &provider.TaskLease{Token: w.token(), Owner: w.owner(), Duration: w.lease()}
	}
	return t
}

// addOthers adds messages to other instances and starts of them.
func (w *world) addOthers(req *provider.CommitTurnRequest) {
	req.Sends = some(&w.source, 2, func() provider.OutMessage {
		m := provider.OutMessage{Message: w.message(), Refused: w.maybeMessage()}
		m.ID, m.Key = w.target()
		if w.odds(4) {
			m.Refused = nil
			m.Replies = &provider.Replies{Accepted: w.message(), Gone: w.message(), Ended: w.message(), Full: w.message()}
		}
		return m
	})
	if !w.odds(3) {
		return
	}
	req.Starts = some(&w.source, 2, func() provider.Start {
		start := provider.Start{Create: w.create(), Refused: w.message(), Accepted: w.maybeMessage()}
		if start.Create.Policy == provider.IDUseExisting {
			start.Create.Policy = provider.IDReject
		}
		if w.odds(2) {
			for _, row := range w.rows {
				if row.Key == req.Key {
					start.Create.Parent = provider.Parent{Key: row.Key, ID: row.ID, Execution: row.Execution, EventID: w.event()}
				}
			}
		}
		return start
	})
}

// addDescription adds the fields that observers read.
func (w *world) addDescription(req *provider.CommitTurnRequest) {
	if !w.odds(3) {
		return
	}
	req.CustomStatus = pick(&w.source, nil, []byte{}, []byte("status"))
	req.Attributes = w.attributes()
	req.Values = some(&w.source, 2, func() provider.KeyValue {
		return provider.KeyValue{Key: w.valueName(), Value: pick(&w.source, nil, []byte{}, []byte("one"), []byte("two"))}
	})
	req.EngineLevel = int64(w.n(3))
	if w.features.Sticky && w.odds(2) {
		req.Owner = w.owner()
		req.Sticky = w.lease()
	}
}

// addEnd ends the instance or continues it as new.
func (w *world) addEnd(req *provider.CommitTurnRequest) {
	switch w.n(8) {
	case 5:
		req.Status = pick(&w.source, provider.StatusCompleted, provider.StatusFailed, provider.StatusCancelled, provider.StatusTerminated)
		if req.Status == provider.StatusFailed && w.features.FailureGroups {
			req.Excerpt, req.FailureGroup = pick(&w.source, nil, []byte{}, []byte("text"), []byte("\x00\xff")), pick(&w.source, "", "g", "h")
		}
	case 6:
		req.Status, req.CloseInbox, req.Result = provider.StatusCompleted, "closed", w.payload("result")
	case 7:
		req.Next = &provider.NextExecution{
			Name: pick(&w.source, "", "x", "y"), CodeVersion: pick(&w.source, "", "1"), EngineLevel: int64(w.n(3)),
			Events: some(&w.source, 2, func() []byte { return w.payload("e") }), Message: w.maybeMessage(),
		}
	}
}
