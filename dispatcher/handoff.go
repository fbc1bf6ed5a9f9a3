package dispatcher

import (
	"context"
	"errors"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// result is the outcome of an attempt on its way to the execution that waits for it.
type result struct {
	attempt *attempt
	body    history.Body
	details []byte
	came    time.Time
}

// handOff says whether a task that a turn schedules may be leased to this node by the
// turn's own commit, and takes the slot for it. It must not jump the queue: it is off while
// tasks wait there and for activities that must queue, and one commit takes at most half of the slots that it finds free, or the only one.
func (d *Dispatcher) handOff(t *translation, call *history.ActivityScheduled) bool {
	if d.stopping.Load() || !d.taskLoopIdle.Load() || d.cfg.Activities[call.Queue][call.Name] == nil || d.mustQueue(call) {
		return false
	}
	if t.mayTake == 0 {
		t.mayTake = max(1, d.tasks.Free()/2)
	}
	return len(t.handOffs) < t.mayTake && d.tasks.TryTake()
}

// mustQueue tells whether the activity has to go through the queue, which alone keeps to limits, sessions and the
// order of priorities and fairness keys (hazard 22).
func (d *Dispatcher) mustQueue(call *history.ActivityScheduled) bool {
	return d.rate != nil || call.Session != "" || call.FairnessKey != "" || call.Priority != 0 && call.Priority != provider.PriorityDefault ||
		d.pools.Bounds(call.Queue, call.Name)
}

// deadline is 0 if there is no limit.
func deadline(now provider.Time, limit time.Duration) provider.Time {
	if limit == 0 {
		return 0
	}
	return now.Add(limit)
}

// newTask makes the task of a scheduled activity, leased to this node if it may be.
func (d *Dispatcher) newTask(
	t *translation, info *replay.Info, event int64, call *history.ActivityScheduled, payload []byte,
) provider.NewTask {
	task := provider.NewTask{
		EventID: event, Queue: call.Queue, Name: call.Name, Payload: payload, NotBefore: time.Duration(call.Delay) * time.Microsecond,
		Priority: int(call.Priority), FairnessKey: call.FairnessKey, Session: call.Session,
		StartBy: span(call.ScheduleToStart), Deadline: span(call.ScheduleToClose),
	}
	if a := t.going[call.Local]; a != nil {
		if d.tasks.TryTake() {
			a.Ref.EventID, a.Token, a.Lease = event, storage.NewToken(), manage.NewLease(d.cfg.Lease)
			task.Lease = &provider.TaskLease{Token: a.Token, Owner: d.cfg.Owner, Duration: d.cfg.Lease}
			t.handOffs = append(t.handOffs, a)
			return task
		}
		d.orphan(a, errLeaseLost) // it begins again when there is a slot
	}
	if call.Delay > 0 || !d.handOff(t, call) {
		return task
	}
	token, now := storage.NewToken(), d.clock.Now()
	task.Lease = &provider.TaskLease{Token: token, Owner: d.cfg.Owner, Duration: d.cfg.Lease}
	t.handOffs = append(t.handOffs, &attempt{
		Attempt: manage.Attempt{Ref: taskRef(info.Key, info.Execution, event), Token: token, Lease: manage.NewLease(d.cfg.Lease)},
		call:    call, instanceID: info.ID, number: 1 + call.Attempts, before: call.Attempts, deliveries: 1,
		scheduled: now, deadline: deadline(now, task.Deadline),
	})
	return task
}

// deliver takes a result, unless it is nil, and goes on with its execution on another goroutine.
func (d *Dispatcher) deliver(working context.Context, r *result) {
	if next := d.takeResult(working, r); next != nil {
		go d.drive(working, next, nil)
	}
}

// resume takes a result, unless it is nil, and returns the actor that the goroutine drives next; nil: none.
func (d *Dispatcher) resume(working context.Context, r *result) (next *actor) {
	if next = d.takeResult(working, r); next != nil {
		pprof.SetGoroutineLabels(working) // those that the activity has set are not of what follows
	}
	return next
}

// takeResult brings a result to the cached execution that waits for it, or to the inbox, and ends its attempt. It returns the actor that
// the caller has to drive; nil: none. A task that was delivered before goes to the inbox: if its turn kills the node, the turn must be counted.
func (d *Dispatcher) takeResult(working context.Context, r *result) (next *actor) {
	if r == nil {
		return nil
	}
	a := r.attempt
	defer d.attemptOver(a)
	r.came = time.Now()
	taken, idle := false, (*actor)(nil)
	if a.deliveries == 1 && !d.stopping.Load() {
		taken, idle = d.enlist(a.Ref.Key, job{result: r}, false)
	}
	switch {
	case !taken:
		d.toInbox(working, r)
	case idle == nil:
		d.bePatient(working, r)
	}
	return idle
}

// bePatient lets a result wait. A timer that fires late, for a result that a turn has begun with, does nothing.
func (d *Dispatcher) bePatient(working context.Context, r *result) {
	r.attempt.patience.Store(time.AfterFunc(handOffPatience, func() { d.losePatience(working, r) }))
}

// losePatience brings a result to the inbox that has waited long enough.
func (d *Dispatcher) losePatience(working context.Context, r *result) {
	switch d.actors.withdraw(r.attempt.Ref.Key, r) {
	case withdrawn:
		d.giveBack(working, []*result{r})
	case committing:
		d.bePatient(working, r)
	case begun:
	}
}

// giveBack sends results the ordinary way, each on its own since the storage may take its time.
func (d *Dispatcher) giveBack(working context.Context, results []*result) {
	for _, r := range results {
		d.work.Add()
		go func() {
			defer d.work.Done()
			d.toInbox(working, r)
		}()
	}
}

func (d *Dispatcher) toInbox(working context.Context, r *result) {
	a := r.attempt
	d.store.Report(working, provider.TaskReport{
		TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskComplete, Details: r.details,
		Message: message(r.body, a.Ref.Execution, a.Ref.EventID),
	})
	d.actors.sentTo(a.Ref.Key)
	d.manage.Remove(&a.Attempt)
}

// fastTurn makes a turn of results from memory and commits it with their completion. It
// obeys the inbox: with a message waiting there the results queue behind it.
func (d *Dispatcher) fastTurn(working context.Context, a *actor, r *run, jobs []job) (handed *attempt) {
	for _, j := range jobs {
		r.results = append(r.results, j.result)
		if timer := j.result.attempt.patience.Load(); timer != nil {
			timer.Stop()
		}
	}
	if !d.mayHurry(working, a, r) {
		d.conclude(r)
		d.giveBack(working, r.results)
		return nil
	}
	if r.results = d.ofExecution(working, a, r.results); len(r.results) == 0 {
		d.conclude(r)
		return nil
	}
	d.begin(r, a.x)
	completes, err := d.deliverResults(a, r)
	if err == nil {
		err = d.runLocals(working, a.x, r)
	}
	if !d.conclude(r) {
		return nil
	}
	if err != nil {
		d.turnFailed(working, a, r, err)
		return nil
	}
	return d.commitFast(working, a, r, completes)
}

// mayHurry tells whether a fast turn is allowed, and takes its slot. After many of them in a
// row the execution gives way to turns that wait in the storage.
func (d *Dispatcher) mayHurry(working context.Context, a *actor, r *run) bool {
	switch {
	case a.x == nil, d.stopping.Load():
		return false
	case a.readyAt != 0 && a.readyAt <= d.clock.Now(), d.actors.hasArrived(a):
		return false
	case a.fast >= maxFastTurns && d.turnsQueue.Load():
		return false
	}
	since := r.results[0].came
	if a.committed.After(since) {
		since = a.committed
	}
	return d.takeSlot(working, r, handOffPatience-time.Since(since))
}

// ofExecution returns the results for the cached execution. One for another execution goes the ordinary way, where the storage says what has
// become of its execution.
func (d *Dispatcher) ofExecution(working context.Context, a *actor, results []*result) (mine []*result) {
	cached := a.x.Info().Execution
	others := func(res *result) bool { return res.attempt.Ref.Execution != cached }
	if !slices.ContainsFunc(results, others) { // as nearly always
		return results
	}
	for _, res := range results {
		if others(res) {
			d.giveBack(working, []*result{res})
		} else {
			mine = append(mine, res)
		}
	}
	return mine
}

// deliverResults applies the results one by one. It does not change r.results, which leave reads on another goroutine.
func (d *Dispatcher) deliverResults(a *actor, r *run) ([]provider.TaskCompletion, error) {
	now := int64(d.clock.Now())
	completes := make([]provider.TaskCompletion, 0, len(r.results))
	for _, res := range r.results {
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
func (d *Dispatcher) commitFast(working context.Context, a *actor, r *run, completes []provider.TaskCompletion) (handed *attempt) {
	turn := a.x.Turn()
	t := d.newTranslation(a, a.x, turn, r.takeGoing())
	defer d.revoke(working, t)
	d.translate(t, a, a.x, turn)
	t.req.Completes = completes
	t.early = d.dropEarly(t)
	res, err := d.commitOf(working, a, t)
	if err != nil {
		d.revoke(working, t)
		if errors.Is(err, provider.ErrConflict) {
			d.count.turnsConflicted.Add(1)
		}
		d.evict(a)
		d.giveBack(working, r.results)
		d.letGoOf(working, a)
		return nil
	}
	d.count.turnsFast.Add(1)
	a.fast++
	for _, done := range r.results {
		d.manage.Remove(&done.attempt.Attempt)
	}
	return d.committed(working, a, a.x, turn, t, res)
}
