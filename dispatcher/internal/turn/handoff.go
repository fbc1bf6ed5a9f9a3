package turn

import (
	"context"
	"errors"
	"runtime/pprof"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// A result waits for its execution for handOffTimeout, then goes to the inbox. While a turn of the execution is being committed it may wait
// for commitTimeout in all. Under load commits take longer, and every result in the inbox costs a report and a message more.
const (
	handOffTimeout = 50 * time.Millisecond
	commitTimeout  = time.Second
)

// maxFastTurns is how many fast turns an execution makes in a row while others wait for a slot.
const maxFastTurns = 16

// courier delivers results to executions.
type courier struct {
	*core.Node

	actors   *actors
	attempts attempts
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
	added := provider.NewTask{
		EventID: event, Queue: call.Queue, Name: call.Name, Payload: payload, NotBefore: time.Duration(call.Delay) * time.Microsecond,
		Priority: int(call.Priority), FairnessKey: call.FairnessKey, Session: call.Session,
		StartBy: task.Span(call.ScheduleToStart), Deadline: task.Span(call.ScheduleToClose),
	}
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
	if call.Delay > 0 || !tr.handOff(t, call) {
		return added
	}
	a := task.HandedOff(task.Ref(info.Key, info.Execution, event), info.ID, call, tr.Clock.Now(), tr.Config.Lease)
	added.Lease = &provider.TaskLease{Token: a.Token, Owner: tr.Config.Owner, Duration: tr.Config.Lease}
	t.handOffs = append(t.handOffs, a)
	return added
}

// Deliver takes a result, unless it is nil, and continues its execution on another goroutine.
func (ts *Turns) Deliver(working context.Context, r *task.Result) {
	if next := ts.courier.take(working, r); next != nil {
		go ts.drive(working, next, nil)
	}
}

// Follow takes a result, unless it is nil, and continues its execution on this goroutine.
func (ts *Turns) Follow(working context.Context, r *task.Result) {
	ts.drive(working, ts.resume(working, r), nil)
}

// SentTo notes that this node has sent a message to an instance.
func (ts *Turns) SentTo(key provider.UUID) { ts.actors.sentTo(key) }

// resume takes a result, unless it is nil, and returns the actor that the goroutine drives next; nil: none.
func (ts *Turns) resume(working context.Context, r *task.Result) (next *actor) {
	if next = ts.courier.take(working, r); next != nil {
		pprof.SetGoroutineLabels(working) // drops the labels that the activity has set
	}
	return next
}

// take delivers a result to the cached execution or to the inbox, and ends its attempt. It returns the actor that the caller has to drive;
// nil: none. The result of a redelivered task goes to the inbox, because a turn that kills its node must be counted.
func (co *courier) take(working context.Context, r *task.Result) (next *actor) {
	if r == nil {
		return nil
	}
	a := r.Attempt
	defer co.attempts.Over(a)
	r.Came = time.Now()
	taken, idle := false, (*actor)(nil)
	if a.Deliveries == 1 && !co.Stopping.Load() && !co.Config.Off.Has(fastpath.FastTurn) {
		taken, idle = co.actors.enlist(a.Ref.Key, job{result: r}, false)
	}
	switch {
	case !taken:
		co.attempts.ToInbox(working, r)
	case idle == nil:
		co.startTimeout(working, r)
	}
	return idle
}

// startTimeout starts the timeout of a waiting result. If a turn has begun with the result, a late timer does nothing.
func (co *courier) startTimeout(working context.Context, r *task.Result) {
	r.Timeout.Store(time.AfterFunc(handOffTimeout, func() { co.timedOut(working, r) }))
}

// timedOut sends a result that has waited long enough to the inbox.
func (co *courier) timedOut(working context.Context, r *task.Result) {
	switch co.actors.withdraw(r.Attempt.Ref.Key, r) {
	case withdrawn:
		co.giveBack(working, []*task.Result{r})
	case committing:
		co.startTimeout(working, r)
	case begun:
	}
}

// giveBack sends results to the inbox, each on its own goroutine, because the storage may be slow.
func (co *courier) giveBack(working context.Context, results []*task.Result) {
	for _, r := range results {
		co.Work.Add()
		go func() {
			defer co.Work.Done()
			co.attempts.ToInbox(working, r)
		}()
	}
}

// fastTurn makes a turn of results from memory and commits it with their completion. If a message waits in the inbox, the results queue
// behind it.
func (ts *Turns) fastTurn(working context.Context, a *actor, r *run) (handed *task.Attempt) {
	if !ts.canFastTurn(working, a, r) {
		ts.conclude(r)
		ts.courier.giveBack(working, r.results)
		return nil
	}
	ts.begin(r, a.x)
	completes, err := ts.deliverResults(a, r.results)
	var going map[int64]*local.Attempt
	if err == nil {
		going, err = ts.locals.Run(working, a.x, &r.locals)
	}
	defer ts.locals.DetachAll(going)
	if !ts.conclude(r) {
		return nil
	}
	if err != nil {
		ts.turnFailed(working, a, r, err)
		return nil
	}
	return ts.commitFast(working, a, r, completes, going)
}

// canFastTurn reports whether a fast turn is allowed, and takes its slot. After many fast turns in a row the execution yields to turns that
// wait in the storage.
func (ts *Turns) canFastTurn(working context.Context, a *actor, r *run) bool {
	switch {
	case a.x == nil, ts.Stopping.Load():
		return false
	case a.readyAt != 0 && a.readyAt <= ts.Clock.Now(), ts.actors.hasArrived(a):
		return false
	case a.fast >= maxFastTurns && ts.queued.Load():
		return false
	}
	since := r.results[0].Came
	if a.committed.After(since) {
		since = a.committed
	}
	return ts.takeSlot(working, r, handOffTimeout-time.Since(since))
}

// ofExecution returns the results of the jobs and stops their timeouts. A result for another execution than the cached one goes to the
// inbox, where the storage decides about it.
func (ts *Turns) ofExecution(working context.Context, a *actor, jobs []job) []*task.Result {
	results := make([]*task.Result, 0, len(jobs))
	for _, j := range jobs {
		if timer := j.result.Timeout.Load(); timer != nil {
			timer.Stop()
		}
		if a.x != nil && j.result.Attempt.Ref.Execution != a.x.Info().Execution {
			ts.courier.giveBack(working, []*task.Result{j.result})
			continue
		}
		results = append(results, j.result)
	}
	return results
}

// deliverResults applies the results one by one.
func (ts *Turns) deliverResults(a *actor, results []*task.Result) ([]provider.TaskCompletion, error) {
	now := int64(ts.Clock.Now())
	completes := make([]provider.TaskCompletion, 0, len(results))
	for _, res := range results {
		if _, err := a.x.Deliver(history.Event{At: now, Body: res.Body}); err != nil {
			return nil, err
		}
		completes = append(completes, provider.TaskCompletion{EventID: res.Attempt.Ref.EventID, Token: res.Attempt.Token})
	}
	return completes, nil
}

// commitFast stores a fast turn. If that fails, the execution is evicted and the results go to the inbox. If the turn was stored after all,
// their tasks are gone and the reports change nothing.
func (ts *Turns) commitFast(
	working context.Context, a *actor, r *run, completes []provider.TaskCompletion, going map[int64]*local.Attempt,
) (handed *task.Attempt) {
	turn, stored := a.x.Turn(), false
	t := ts.translator.begin(a, a.x, turn, going)
	defer func() { ts.committer.rollBack(working, t, stored) }()
	ts.translator.translate(t, a, a.x, turn)
	t.req.Completes = completes
	if t.req.Status != provider.StatusRunning || t.req.Next != nil || len(t.req.CancelTimers) > 0 { // a claim ahead is useless now
		if t.early = ts.claims.Drop(a.key); t.early != nil {
			t.req.Lease = t.early.Token
		}
	}
	stored = true // until commit returns: the provider may panic
	res, stored, err := ts.committer.commit(working, a, t)
	if err != nil {
		ts.committer.rollBack(working, t, stored)
		if errors.Is(err, provider.ErrConflict) {
			ts.Count.TurnsConflicted.Add(1)
		}
		ts.evictor.evict(a)
		ts.courier.giveBack(working, r.results)
		ts.evictor.unpin(working, a)
		return nil
	}
	ts.Count.TurnsFast.Add(1)
	a.fast++
	for _, done := range r.results {
		ts.Manage.Remove(&done.Attempt.Attempt)
	}
	return ts.committer.committed(working, a, a.x, turn, t, res, nil)
}
