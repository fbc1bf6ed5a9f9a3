package dispatcher

import (
	"context"
	"errors"
	"runtime/pprof"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// A result waits handOffPatience for its execution before it goes to the inbox. While a turn of the execution is being committed, it may wait for
// commitPatience in all: under load commits take longer, and each result of the next turn would cost a report and a message more.
const (
	handOffPatience = 50 * time.Millisecond
	commitPatience  = time.Second
)

// maxFastTurns is how many fast turns an execution makes in a row while others wait for a slot.
const maxFastTurns = 16

// courier brings results to the executions that wait for them.
type courier struct {
	*node

	actors   *actors
	attempts attempts
}

// handOff reports whether a task that a turn schedules is leased to this node by the
// turn's own commit, and takes the slot for it. One commit takes at most half of the slots that it finds free, or the only one.
func (tr *translator) handOff(t *translation, call *history.ActivityScheduled) bool {
	if !tr.attempts.mayHandOff(call) {
		return false
	}
	if t.mayTake == 0 {
		t.mayTake = max(1, tr.tasks.Free()/2)
	}
	return len(t.handOffs)+len(t.begun) < t.mayTake && tr.tasks.TryTake()
}

// newTask makes the task of a scheduled activity, leased to this node if it may be.
func (tr *translator) newTask(
	t *translation, info *replay.Info, event int64, call *history.ActivityScheduled, payload []byte,
) provider.NewTask {
	task := provider.NewTask{
		EventID: event, Queue: call.Queue, Name: call.Name, Payload: payload, NotBefore: time.Duration(call.Delay) * time.Microsecond,
		Priority: int(call.Priority), FairnessKey: call.FairnessKey, Session: call.Session,
		StartBy: span(call.ScheduleToStart), Deadline: span(call.ScheduleToClose),
	}
	if a := t.going[call.Local]; a != nil {
		delete(t.going, call.Local)
		if tr.tasks.TryTake() {
			a.Ref.EventID, a.Token, a.Lease = event, storage.NewToken(), manage.NewLease(tr.cfg.Lease)
			task.Lease = &provider.TaskLease{Token: a.Token, Owner: tr.cfg.Owner, Duration: tr.cfg.Lease}
			t.begun = append(t.begun, a)
			return task
		}
		tr.locals.orphan(a, activity.ErrLeaseLost) // it begins again when there is a slot
	}
	if call.Delay > 0 || !tr.handOff(t, call) {
		return task
	}
	a := handedOff(taskRef(info.Key, info.Execution, event), info.ID, call, tr.clock.Now(), tr.cfg.Lease)
	task.Lease = &provider.TaskLease{Token: a.Token, Owner: tr.cfg.Owner, Duration: tr.cfg.Lease}
	t.handOffs = append(t.handOffs, a)
	return task
}

// deliver takes a result, unless it is nil, and goes on with its execution on another goroutine.
func (ts *turns) deliver(working context.Context, r *result) {
	if next := ts.courier.take(working, r); next != nil {
		go ts.drive(working, next, nil)
	}
}

// follow takes a result, unless it is nil, and goes on with its execution on this goroutine.
func (ts *turns) follow(working context.Context, r *result) {
	ts.drive(working, ts.resume(working, r), nil)
}

// sentTo says that this node has put a message into the inbox of an instance.
func (ts *turns) sentTo(key provider.UUID) { ts.actors.sentTo(key) }

// resume takes a result, unless it is nil, and returns the actor that the goroutine drives next; nil: none.
func (ts *turns) resume(working context.Context, r *result) (next *actor) {
	if next = ts.courier.take(working, r); next != nil {
		pprof.SetGoroutineLabels(working) // those that the activity has set are not of what follows
	}
	return next
}

// take brings a result to the cached execution that waits for it, or to the inbox, and ends its attempt. It returns the actor that
// the caller has to drive; nil: none. A task that was delivered before goes to the inbox: if its turn kills the node, the turn must be counted.
func (co *courier) take(working context.Context, r *result) (next *actor) {
	if r == nil {
		return nil
	}
	a := r.attempt
	defer co.attempts.over(a)
	r.came = time.Now()
	taken, idle := false, (*actor)(nil)
	if a.deliveries == 1 && !co.stopping.Load() && !co.cfg.Off.Has(fastpath.FastTurn) {
		taken, idle = co.actors.enlist(a.Ref.Key, job{result: r}, false)
	}
	switch {
	case !taken:
		co.attempts.toInbox(working, r)
	case idle == nil:
		co.bePatient(working, r)
	}
	return idle
}

// bePatient lets a result wait. A timer that fires late, for a result that a turn has begun with, does nothing.
func (co *courier) bePatient(working context.Context, r *result) {
	r.patience.Store(time.AfterFunc(handOffPatience, func() { co.losePatience(working, r) }))
}

// losePatience brings a result to the inbox that has waited long enough.
func (co *courier) losePatience(working context.Context, r *result) {
	switch co.actors.withdraw(r.attempt.Ref.Key, r) {
	case withdrawn:
		co.giveBack(working, []*result{r})
	case committing:
		co.bePatient(working, r)
	case begun:
	}
}

// giveBack sends results the ordinary way, each on its own since the storage may take its time.
func (co *courier) giveBack(working context.Context, results []*result) {
	for _, r := range results {
		co.work.Add()
		go func() {
			defer co.work.Done()
			co.attempts.toInbox(working, r)
		}()
	}
}

// fastTurn makes a turn of results from memory and commits it with their completion. It
// obeys the inbox: with a message waiting there the results queue behind it.
func (ts *turns) fastTurn(working context.Context, a *actor, r *run) (handed *attempt) {
	if !ts.canFastTurn(working, a, r) {
		ts.conclude(r)
		ts.courier.giveBack(working, r.results)
		return nil
	}
	ts.begin(r, a.x)
	completes, err := ts.deliverResults(a, r.results)
	var going map[int64]*localAttempt
	if err == nil {
		going, err = ts.locals.run(working, a.x, &r.locals)
	}
	defer ts.locals.orphanAll(going)
	if !ts.conclude(r) {
		return nil
	}
	if err != nil {
		ts.turnFailed(working, a, r, err)
		return nil
	}
	return ts.commitFast(working, a, r, completes, going)
}

// canFastTurn reports whether a fast turn is allowed, and takes its slot. After many of them in a
// row the execution gives way to turns that wait in the storage.
func (ts *turns) canFastTurn(working context.Context, a *actor, r *run) bool {
	switch {
	case a.x == nil, ts.stopping.Load():
		return false
	case a.readyAt != 0 && a.readyAt <= ts.clock.Now(), ts.actors.hasArrived(a):
		return false
	case a.fast >= maxFastTurns && ts.queued.Load():
		return false
	}
	since := r.results[0].came
	if a.committed.After(since) {
		since = a.committed
	}
	return ts.takeSlot(working, r, handOffPatience-time.Since(since))
}

// ofExecution takes the results out of the jobs, whose timeouts it stops. A result for another execution than the cached one goes the
// ordinary way, where the storage says what has become of its execution.
func (ts *turns) ofExecution(working context.Context, a *actor, jobs []job) []*result {
	results := make([]*result, 0, len(jobs))
	for _, j := range jobs {
		if timer := j.result.patience.Load(); timer != nil {
			timer.Stop()
		}
		if a.x != nil && j.result.attempt.Ref.Execution != a.x.Info().Execution {
			ts.courier.giveBack(working, []*result{j.result})
			continue
		}
		results = append(results, j.result)
	}
	return results
}

// deliverResults applies the results one by one.
func (ts *turns) deliverResults(a *actor, results []*result) ([]provider.TaskCompletion, error) {
	now := int64(ts.clock.Now())
	completes := make([]provider.TaskCompletion, 0, len(results))
	for _, res := range results {
		if _, err := a.x.Deliver(history.Event{At: now, Body: res.body}); err != nil {
			return nil, err
		}
		completes = append(completes, provider.TaskCompletion{EventID: res.attempt.Ref.EventID, Token: res.attempt.Token})
	}
	return completes, nil
}

// commitFast stores a fast turn. If that fails, for whatever reason, the execution is
// thrown away and the results go the ordinary way; should the turn be stored after all, their
// tasks are gone and the reports change nothing.
func (ts *turns) commitFast(
	working context.Context, a *actor, r *run, completes []provider.TaskCompletion, going map[int64]*localAttempt,
) (handed *attempt) {
	turn, stored := a.x.Turn(), false
	t := ts.translator.begin(a, a.x, turn, going)
	defer func() { ts.committer.rollBack(working, t, stored) }()
	ts.translator.translate(t, a, a.x, turn)
	t.req.Completes = completes
	if t.req.Status != provider.StatusRunning || t.req.Next != nil || len(t.req.CancelTimers) > 0 { // the claim ahead, if any, is of no use
		if t.early = ts.claims.drop(a.key); t.early != nil {
			t.req.Lease = t.early.token
		}
	}
	stored = true // unless commit returns and says otherwise: the provider may panic
	res, stored, err := ts.committer.commit(working, a, t)
	if err != nil {
		ts.committer.rollBack(working, t, stored)
		if errors.Is(err, provider.ErrConflict) {
			ts.count.turnsConflicted.Add(1)
		}
		ts.evictor.evict(a)
		ts.courier.giveBack(working, r.results)
		ts.unpinActor(working, a)
		return nil
	}
	ts.count.turnsFast.Add(1)
	a.fast++
	for _, done := range r.results {
		ts.manage.Remove(&done.attempt.Attempt)
	}
	return ts.committer.committed(working, a, a.x, turn, t, res, nil)
}
