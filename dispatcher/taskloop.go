package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/suspect"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// taskLoop fetches activity tasks as long as there are free slots.
func (d *Dispatcher) taskLoop(fetching, working context.Context) {
	req := provider.FetchTasksRequest{Owner: d.cfg.Owner, Lease: d.cfg.Lease, Wait: storage.FetchWait, Sessions: d.cfg.Sessions}
	for failures := 0; ; {
		if !d.suspects.Wait(fetching) {
			return
		}
		n, err := d.tasks.TakeUpTo(fetching, storage.MaxFetch)
		if err != nil {
			return
		}
		allowed, wait := d.rate.Allowed(n, time.Now())
		d.tasks.Release(n - allowed)
		if n = allowed; n == 0 {
			if !storage.Pause(fetching, wait) {
				return
			}
			continue
		}
		req.Max, req.Token = n, storage.NewToken()
		tasks, read, err := d.fetchTasks(fetching, working, req)
		if err == nil {
			failures = 0
			d.count.tasksFetched.Add(int64(len(tasks)))
			d.takeTasks(fetching, working, tasks, req.Token, read)
			continue
		}
		failures++
		if !d.store.FetchAgain(fetching, "fetch tasks", failures, err, func() {
			d.store.Report(working, provider.TaskReport{Token: req.Token, Outcome: provider.TaskRelease})
		}) {
			return
		}
	}
}

// fetchTasks looks without waiting first: what it finds waits in the queue, so that
// hand-off must not pass it. Only while the second, waiting call is parked is hand-off allowed. The caller has taken req.Max slots;
// fetchTasks releases those that it returns no task for.
func (d *Dispatcher) fetchTasks(
	fetching, working context.Context, req provider.FetchTasksRequest,
) (tasks []provider.LeasedTask, read manage.Anchor, err error) {
	ctx, cancel := context.WithTimeout(fetching, storage.FetchWait+storage.CallTimeout)
	defer cancel()
	taken := req.Max
	defer func() { d.tasks.Release(taken - len(tasks)) }()
	o := d.pools.Offers(req.Max)
	for _, l := range o.Looks {
		look := req
		look.Queues, look.Max, look.Wait = l.Queues, l.Limit, 0
		read.Sent = manage.ThisMoment()
		res, err := d.store.FetchTasks(ctx, look)
		d.fetched(&res)
		read.Storage = res.Now
		if err != nil || len(res.Tasks) > 0 {
			return res.Tasks, read, err
		}
	}
	d.tasks.Release(taken) // hand-off may use them while the fetch waits
	taken = 0
	waiting, stop := d.pools.Wait(ctx, o)
	defer stop()
	if len(o.Looks) == 0 { // nothing has room
		<-waiting.Done()
		return nil, read, nil
	}
	d.taskLoopIdle.Store(true)
	defer d.taskLoopIdle.Store(false)
	req.Queues, req.Max = o.Park.Queues, o.Park.Limit
	res, err := d.store.FetchTasks(waiting, req)
	d.taskLoopIdle.Store(false)
	d.fetched(&res)
	if err != nil && errors.Is(context.Cause(waiting), flow.ErrRoom) {
		d.store.Report(ctx, provider.TaskReport{Token: req.Token, Outcome: provider.TaskRelease}) // what it may have leased
		return nil, read, nil
	}
	for taken < len(res.Tasks) && d.tasks.TryTake() {
		taken++
	}
	d.giveTasksBack(working, res.Tasks[taken:], req.Token)
	return res.Tasks[:taken], read, err
}

// giveTasksBack gives tasks back, uncounted, for which hand-offs have left no slot. Another node may have one; the loop of this node asks again
// when it has one.
func (d *Dispatcher) giveTasksBack(working context.Context, tasks []provider.LeasedTask, token provider.UUID) {
	if len(tasks) == 0 {
		return
	}
	d.count.attemptsReleased.Add(int64(len(tasks)))
	reports := make([]provider.TaskReport, len(tasks))
	for i := range tasks {
		ref := tasks[i].TaskRef
		reports[i] = provider.TaskReport{
			TaskRef: ref, Token: provider.TaskToken(token, ref), Attempt: tasks[i].Attempt, Outcome: provider.TaskRelease,
		}
	}
	d.work.Add()
	go func() {
		defer d.work.Done()
		d.store.Report(working, reports...)
	}()
}

// fetched takes over what the storage says beside the tasks.
func (d *Dispatcher) fetched(res *provider.FetchTasksResult) {
	d.clock.Set(res.Now)
	if d.cfg.Sessions.Max > 0 && res.Now != 0 {
		d.manage.Holds(res.Sessions)
	}
}

// takeTasks starts what was fetched.
func (d *Dispatcher) takeTasks(fetching, working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	d.rate.Began(len(tasks), time.Now())
	d.beginTasks(working, d.takeThrottled(fetching, working, tasks, token, read), token, read)
}

// beginTasks starts the attempts of fetched tasks, whose slots are taken, and deals with those that must not
// run. Suspects that have to wait are given back, and that is durable before the one that may run begins.
func (d *Dispatcher) beginTasks(working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	var alone *attempt
	var wait []provider.TaskReport
	for i := range tasks {
		a, refusal := d.examine(&tasks[i], token, read)
		if refusal != nil {
			d.refuseTask(working, *refusal)
			continue
		}
		lost := a.deliveries - 1
		if !suspect.Is(lost, d.cfg.PoisonLimit) {
			d.startAttempt(working, a)
			continue
		}
		delay, admitted := d.suspects.Admit(a.Ref, lost)
		if admitted {
			a.suspect = true
			alone = a
			continue
		}
		wait = append(wait, provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskRelease, Delay: delay})
	}
	if len(wait) > 0 {
		d.count.suspectsDelayed.Add(int64(len(wait)))
		d.store.Report(working, wait...)
		d.tasks.Release(len(wait))
	}
	if alone != nil {
		d.startAttempt(working, alone)
	}
}

// refuseTask reports on a task that must not run and frees its slot.
func (d *Dispatcher) refuseTask(working context.Context, report provider.TaskReport) {
	d.work.Add()
	go func() {
		defer d.work.Done()
		defer d.tasks.Release(1)
		d.store.Report(working, report)
	}()
}

// examine makes the attempt of a fetched task, or the report on one that must not run.
func (d *Dispatcher) examine(task *provider.LeasedTask, token provider.UUID, read manage.Anchor) (*attempt, *provider.TaskReport) {
	a := &attempt{
		Attempt: manage.Attempt{
			Ref: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Lease: read.Lease(task.LeaseUntil, d.cfg.Lease),
		},
		instanceID: task.InstanceID, number: task.Attempt, deliveries: task.Deliveries, scheduled: task.ScheduledAt, deadline: task.Deadline, details: task.Details,
	}
	a.recall(task.Failure)
	report := &provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: task.Attempt}
	e, err := history.Decode(task.EventID, task.Payload)
	call, ok := e.Body.(*history.ActivityScheduled)
	switch {
	case d.stopping.Load():
		report.Outcome = provider.TaskRelease
	case task.State.Kind != provider.ExecutionRunning:
		d.count.attemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
	case task.CancelRequested:
		// Its node was lost before it heard. The orchestration has gone on without the result.
		failTask(report, d.cfg.Env.Errors.Encode(failure.ErrCancelled))
	case errors.Is(err, history.ErrNewer):
		report.Outcome, report.Delay = provider.TaskRelease, time.Second
	case err != nil || !ok:
		d.poisonTask(report, fmt.Sprintf("task cannot be decoded: %v", err))
	case d.cfg.Activities[call.Queue][call.Name] == nil:
		d.poisonTask(report, fmt.Sprintf("task is stored as activity %q of queue %q, and holds a call of %q of queue %q",
			task.Name, task.Queue, call.Name, call.Queue))
	case call.AtMostOnce && task.Deliveries > 1:
		d.count.attemptsFailed.Add(1)
		failTask(report, d.workerLost(call.Name, "the node that had taken it was lost"), a.past...)
	case task.Deliveries > d.cfg.PoisonLimit:
		d.poisonTask(report, fmt.Sprintf("activity %s: attempt %d was lost with its node %d times", task.Name, task.Attempt, task.Deliveries-1), a.past...)
	case task.Attempt > 1 && call.Retry != nil && elapsed(call.Retry, task.ScheduledAt, d.clock.Now(), 0):
		// It waited for a node or a slot too long: the last attempt was the last one.
		d.count.attemptsFailed.Add(1)
		failTask(report, a.last, a.past...)
	default:
		a.call, a.before = call, call.Attempts
		a.number += a.before
		return a, nil
	}
	return nil, report
}

// giveUnbegun gives a task back, uncounted, whose slot is taken and whose lease has become too short to begin.
func (d *Dispatcher) giveUnbegun(working context.Context, a *attempt) {
	d.count.attemptsReleased.Add(1)
	d.refuseTask(working, provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskRelease})
	if a.suspect {
		d.suspects.Done()
	}
}
