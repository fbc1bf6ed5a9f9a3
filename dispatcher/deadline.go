package dispatcher

import (
	"context"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// deadlines ends calls that are past their time while no attempt of them runs.
type deadlines struct {
	*node

	judge      *judge
	executions executions
}

// loop ends calls that are past their time while no attempt of them runs: those that no node has taken, that wait for
// their next attempt, or that are parked. Every node does it for all queues, since those that serve a queue may
// be gone (hazard 30). It needs no slots.
func (d *deadlines) loop(fetching, working context.Context) {
	req := provider.FetchTasksRequest{Owner: d.cfg.Owner, Lease: d.cfg.Lease, Expired: true, Max: storage.MaxFetch, Wait: storage.FetchWait}
	for failures := 0; ; {
		req.Token = storage.NewToken()
		ctx, cancel := context.WithTimeout(fetching, storage.FetchWait+storage.CallTimeout)
		res, err := d.store.FetchTasks(ctx, req)
		cancel()
		if err == nil {
			failures = 0
			d.clock.Set(res.Now)
			d.endLate(working, res.Tasks, req.Token, res.Now)
			continue
		}
		failures++
		if !d.store.FetchAgain(fetching, "fetch tasks past their time", failures, err, func() {
			d.store.Report(working, provider.TaskReport{Token: req.Token, Outcome: provider.TaskRelease})
		}) {
			return
		}
	}
}

// endLate reports how the calls of tasks end that are past their time.
func (d *deadlines) endLate(working context.Context, tasks []provider.LeasedTask, token provider.UUID, now provider.Time) {
	var reports []provider.TaskReport
	for i := range tasks {
		task := &tasks[i]
		report := provider.TaskReport{TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Attempt: task.Attempt}
		if !d.lateReport(&report, task, now) {
			continue
		}
		reports = append(reports, report)
		d.manage.Cancel(task.TaskRef, activity.ErrLeaseLost) // an attempt that lost its lease may still run here
	}
	if len(reports) > 0 {
		d.store.Report(working, reports...)
	}
	for i := range reports {
		d.executions.sentTo(reports[i].Key)
	}
}

// lateReport says how the call of a task that is past its time ends; false leaves it to a node of a newer release, until the lease is over.
func (d *deadlines) lateReport(report *provider.TaskReport, task *provider.LeasedTask, now provider.Time) bool {
	e, err := history.Decode(task.EventID, task.Payload)
	call, ok := e.Body.(*history.ActivityScheduled)
	switch {
	case errors.Is(err, history.ErrNewer):
		return false
	case task.State.Kind != provider.ExecutionRunning:
		d.count.attemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
	case task.CancelRequested:
		failTask(report, d.cfg.Env.Errors.Encode(failure.ErrCancelled))
	case err != nil || !ok:
		d.judge.poisonTask(report, "task past its time cannot be decoded")
	default:
		a := &attempt{
			Attempt: manage.Attempt{Ref: task.TaskRef}, number: call.Attempts + task.Attempt, before: call.Attempts, call: call,
			scheduled: task.ScheduledAt, deadline: task.Deadline,
		}
		a.recall(task.Failure)
		d.endCall(report, a, passed(task, call, now))
	}
	return true
}

// endCall ends a call that is past its time, or the parked attempt that is.
func (d *deadlines) endCall(report *provider.TaskReport, a *attempt, kind activity.TimeoutKind) {
	var last error // what the attempt before said
	if a.stored() > 1 {
		last = d.cfg.Env.Errors.Decode(a.last)
	}
	f, ended := d.cfg.Env.Errors.Encode(timeoutFailure(a.call, kind, last)), a.past
	if kind == activity.StartToClose {
		if delay, again := d.judge.again(a, &f, nil); again {
			d.count.attemptsRetried.Add(1)
			report.Outcome, report.Delay, report.Failure = provider.TaskRetry, delay, d.judge.triedAgain(a, f)
			return
		}
		ended = d.judge.gaveUp(a, f).Attempts
	}
	d.count.attemptsFailed.Add(1)
	failTask(report, f, ended...)
}

// passed says which limit a task has passed. A parked one has that of its attempt in place of the one until its first.
func passed(task *provider.LeasedTask, call *history.ActivityScheduled, now provider.Time) activity.TimeoutKind {
	switch {
	case task.Deadline != 0 && task.Deadline <= now:
		return activity.ScheduleToClose
	case task.StartBy == task.ScheduledAt.Add(span(call.ScheduleToStart)):
		return activity.ScheduleToStart
	default:
		return activity.StartToClose
	}
}
