package model

import (
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

func doCommit(d *driver) {
	if d.lastCommit == nil || !d.odds(12) {
		d.lastCommit = d.newCommit()
		if d.lastCommit == nil {
			return
		}
	}
	d.brief = d.brief || d.idles
	if _, err := call(d, "commit turn", provider.Provider.CommitTurn, d.lastCommit, nil); err != nil {
		return
	}
	req := d.lastCommit(d.model)
	d.handedOff(&req)
}

// handedOff notes the tasks that a commit has leased.
func (d *driver) handedOff(req *provider.CommitTurnRequest) {
	for _, t := range req.Tasks {
		if t.Lease != nil {
			ref := provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: t.EventID}
			d.tasks = append(d.tasks, seenTask{ref, t.Lease.Token, 1})
		}
	}
}

// newCommit draws a commit: nil if there is no instance. It is on top of a turn that was
// fetched, or of what is stored now, as a hand-off turn is.
func (d *driver) newCommit() func(*side) provider.CommitTurnRequest {
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
		Status: provider.StatusRunning, Events: some(d, 2, func() []byte { return d.payload("e") }),
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
	consumed, timers := d.consumed(turn), d.timers(&req)
	return once(func(s *side) provider.CommitTurnRequest {
		r := req
		r.Timers = timers(s)
		for _, m := range consumed {
			r.Consumed = append(r.Consumed, s.inbox(req.Key).id(m))
		}
		return r
	})
}

// once makes the request for a side when it is first asked for, and then the same again.
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

// timers draws when the timers of a commit are due, from the begin of the step on.
func (d *driver) timers(req *provider.CommitTurnRequest) func(*side) []provider.Timer {
	due := make([]time.Duration, len(req.Timers))
	for n := range due {
		due[n] = pick(d, long, -long, 0, short)
		if n > 0 && due[n-1] == short { // nor may it matter whether it is over when the next timer is stored
			due[n] = max(due[n], short)
		}
		if due[n] == short { // it may be over before a message is visible that this commit sends
			d.brief = true
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

// fresh tells whether nothing changed the instance since the turn was fetched.
func (d *driver) fresh(turn seenTurn) bool {
	return slices.ContainsFunc(d.rows, func(i provider.Instance) bool { return i.Version == turn.Instance.Version })
}

// consumed draws the numbers of the messages that a commit consumes: mostly those that were
// fetched with the turn.
func (d *driver) consumed(turn seenTurn) (list []int64) {
	all := !d.odds(4)
	for _, m := range turn.Messages {
		if all || d.odds(2) {
			list = append(list, m.ID)
		}
	}
	if known := len(d.model.inbox(turn.Instance.Key).ids); len(list) == 0 && known > 0 && d.odds(2) {
		list = append(list, int64(known-d.n(min(known, 3)))) // it may be gone
	}
	return list
}

// addWork adds tasks and timers.
func (d *driver) addWork(req *provider.CommitTurnRequest) {
	for _, event := range d.events() {
		req.Tasks = append(req.Tasks, d.task(event))
	}
	if d.odds(4) {
		for _, event := range d.events() {
			req.CancelTasks = append(req.CancelTasks, provider.CancelTask{EventID: event, Remove: d.odds(2)})
		}
	}
	for _, event := range d.events() {
		req.Timers = append(req.Timers, provider.Timer{EventID: event, Kind: provider.MessageKind(d.n(2)), Payload: d.payload("timer")})
	}
	if d.odds(3) {
		req.CancelTimers = d.events()
	}
	d.takeBack(req)
	for _, task := range d.tasks {
		if task.Key == req.Key && len(req.Completes) == 0 && d.odds(6) {
			req.Completes = []provider.TaskCompletion{{EventID: task.EventID, Token: task.token}}
		}
	}
	if d.odds(20) {
		req.Completes = []provider.TaskCompletion{{EventID: d.event(), Token: d.token()}}
	}
}

// takeBack makes a commit cancel some of what it asks for, and no other event twice: an engine
// gives each event once.
func (d *driver) takeBack(req *provider.CommitTurnRequest) {
	req.CancelTasks = slices.DeleteFunc(req.CancelTasks, func(c provider.CancelTask) bool {
		return slices.ContainsFunc(req.Tasks, func(t provider.NewTask) bool { return t.EventID == c.EventID })
	})
	req.CancelTimers = slices.DeleteFunc(req.CancelTimers, func(event int64) bool {
		return slices.ContainsFunc(req.Timers, func(t provider.Timer) bool { return t.EventID == event })
	})
	const never = 100 // is stored
	if d.odds(8) {
		req.Tasks = append(req.Tasks, d.task(never))
		req.CancelTasks = append(req.CancelTasks, provider.CancelTask{EventID: never, Remove: true})
	}
	if d.odds(8) {
		req.Timers = append(req.Timers, provider.Timer{EventID: never, Payload: d.payload("timer")})
		req.CancelTimers = append(req.CancelTimers, never)
	}
}

func (d *driver) task(event int64) provider.NewTask {
	t := provider.NewTask{
		EventID: event, Queue: pick(d, "q", "r"), Name: pick(d, "f", "g"), Payload: d.payload("task"), Priority: pick(d, 0, 0, 1, 5),
		FairnessKey: pick(d, "", "", "j", "k"), Session: d.session(), NotBefore: d.delay(),
	}
	for _, end := range []*time.Duration{&t.Deadline, &t.StartBy} {
		switch d.n(8) {
		case 5:
			*end = long
		case 6, 7:
			*end, d.brief = short, true
		}
	}
	if d.odds(3) {
		t.Lease = &provider.TaskLease{Token: d.token(), Owner: d.owner(), Duration: d.lease()}
	}
	return t
}

// addOthers adds what goes to other instances.
func (d *driver) addOthers(req *provider.CommitTurnRequest) {
	req.Sends = some(d, 2, func() provider.OutMessage {
		m := provider.OutMessage{Message: d.message(), Refused: d.maybeMessage()}
		m.ID, m.Key = d.target()
		return m
	})
	if !d.odds(3) {
		return
	}
	req.Starts = some(d, 2, func() provider.Start {
		start := provider.Start{Create: d.create(), Refused: d.message()}
		if start.Create.Policy == provider.IDUseExisting {
			start.Create.Policy = provider.IDReject
		}
		if d.odds(2) {
			for _, row := range d.rows {
				if row.Key == req.Key {
					start.Create.Parent = provider.Parent{Key: row.Key, ID: row.ID, Execution: row.Execution, EventID: d.event()}
				}
			}
		}
		return start
	})
}

// addDescription adds what observers read.
func (d *driver) addDescription(req *provider.CommitTurnRequest) {
	if !d.odds(3) {
		return
	}
	req.CustomStatus = pick(d, nil, []byte{}, []byte("status"))
	req.Attributes = d.attributes()
	req.Values = some(d, 2, func() provider.KeyValue {
		return provider.KeyValue{Key: pick(d, "v", "w"), Value: pick(d, nil, []byte{}, []byte("one"), []byte("two"))}
	})
	req.EngineLevel = int64(d.n(3))
	if d.odds(2) {
		req.Owner = d.owner()
		req.Sticky = d.lease()
	}
}

// addEnd ends the instance or continues it as new.
func (d *driver) addEnd(req *provider.CommitTurnRequest) {
	switch d.n(8) {
	case 5:
		req.Status = pick(d, provider.StatusCompleted, provider.StatusFailed, provider.StatusCancelled, provider.StatusTerminated)
	case 6:
		req.Status, req.CloseInbox, req.Result = provider.StatusCompleted, "closed", d.payload("result")
	case 7:
		req.Next = &provider.NextExecution{
			Name: pick(d, "", "x", "y"), CodeVersion: pick(d, "", "1"), EngineLevel: int64(d.n(3)),
			Events: some(d, 2, func() []byte { return d.payload("e") }), Message: d.maybeMessage(),
		}
	}
}
