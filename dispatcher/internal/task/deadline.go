package task

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// deadlines ends calls that are past their time while no attempt of them runs.
type deadlines struct {
	*core.Node

	judge      *judge
	executions Executions
}

// loop ends calls that no node has taken, that wait for their next attempt, or that are parked. Every node does it for all queues, since
// the nodes that serve a queue may be gone (hazard 30). It needs no slots.
func (d *deadlines) loop(fetching, working context.Context) {
	req := provider.FetchTasksRequest{Owner: d.Config.Owner, Lease: d.Config.Lease, Expired: true, Max: storage.MaxFetch, Wait: storage.FetchWait}
	for failures := 0; ; {
		req.Token = storage.NewToken()
		ctx, cancel := storage.Waiting(fetching, storage.FetchWait)
		res, err := d.Store.FetchTasks(ctx, req)
		cancel()
		if err == nil {
			failures = 0
			d.Clock.Set(res.Now)
			d.endLate(working, res.Tasks, req.Token, res.Now)
			continue
		}
		failures++
		if !d.Store.FetchAgain(fetching, "fetch tasks past their time", failures, err, func() {
			d.Store.Report(working, provider.TaskReport{Token: req.Token, Outcome: provider.TaskReleaseAll})
		}) {
			return
		}
	}
}

// endLate ends the calls of tasks that are past their time.
func (d *deadlines) endLate(working context.Context, tasks []provider.LeasedTask, token provider.UUID, now provider.Time) {
	var reports []provider.TaskReport
	var ended []observe.Event
	var tallies []Tally
	for i := range tasks {
		task := &tasks[i]
		var e observe.Event
		var tally Tally
		report := provider.TaskReport{TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Attempt: task.Attempt}
		if !d.lateReport(&report, &e, &tally, task, now) {
			continue
		}
		reports, ended = append(reports, report), append(ended, e)
		tallies = append(tallies, tally)
		d.Manage.Cancel(task.TaskRef, activity.ErrLeaseLost) // an attempt that lost its lease may still run here
	}
	if len(reports) > 0 && d.Store.Report(working, reports...) {
		for i := range ended {
			tallies[i].Count(d.Config.Figures)
			if d.Watch.On() {
				d.Watch.Report(ended[i])
			}
		}
	}
	for i := range reports {
		d.executions.SentTo(reports[i].Key)
	}
}

// lateReport fills in the report that ends a call past its time. It returns false if only a newer release can read the task; the lease then
// expires. ended gets what to tell the Observer, and tally what figures count.
func (d *deadlines) lateReport(
	report *provider.TaskReport, ended *observe.Event, tally *Tally, task *provider.LeasedTask, now provider.Time,
) bool {
	e, err := history.Decode(task.EventID, task.Payload)
	if err == nil {
		err = sealedIn(task)
	}
	call, ok := e.Body.(*history.ActivityScheduled)
	switch {
	case errors.Is(err, history.ErrNewer), errors.Is(err, history.ErrSealed):
		d.Config.Faults.Note(err)
		return false
	case task.State.Kind != provider.ExecutionRunning:
		d.Count.AttemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
	case task.CancelRequested:
		failTask(report, d.Config.Env.Errors.Encode(failure.ErrCancelled))
	case err != nil || !ok:
		d.judge.poisonTask(report, "task past its time cannot be decoded")
		*ended = observe.Event{Kind: observe.Poisoned, Activity: task.Name, Queue: task.Queue}
	default:
		a := &Attempt{
			Attempt: manage.Attempt{Ref: task.TaskRef}, Number: call.Attempts + task.Attempt, before: call.Attempts, Call: call,
			scheduled: task.ScheduledAt, deadline: task.Deadline, Caller: call.Caller, instanceID: task.InstanceID,
		}
		a.readRetried(task.Failure)
		outcome := d.endCall(report, a, passed(task, call, now))
		*tally = a.Tally(outcome)
		if d.Watch.On() {
			*ended = d.judge.ended(a, outcome).event()
		}
	}
	return true
}

// endCall ends a call that is past its time, or the parked attempt that is.
func (d *deadlines) endCall(report *provider.TaskReport, a *Attempt, kind activity.TimeoutKind) observe.Outcome {
	var last error // of the attempt before
	if a.stored() > 1 {
		last = d.Config.Env.Errors.Decode(a.lastFailure)
	}
	f, ended := d.Config.Env.Errors.Encode(timeoutFailure(a.Call, kind, last)), a.pastAttempts
	if kind == activity.StartToClose {
		if delay, again := d.judge.retry(a, &f, nil); again {
			d.Count.AttemptsRetried.Add(1)
			report.Outcome, report.Delay, report.Failure = provider.TaskRetry, delay, d.judge.encodeRetried(a, f)
			return observe.Retried
		}
		ended = d.judge.gaveUp(a, f).Attempts
	}
	d.Count.AttemptsFailed.Add(1)
	failTask(report, f, ended...)
	return observe.TimedOut
}

// passed returns which limit a task has passed. A parked task has the limit of its attempt in place of schedule-to-start.
func passed(task *provider.LeasedTask, call *history.ActivityScheduled, now provider.Time) activity.TimeoutKind {
	switch {
	case task.Deadline != 0 && task.Deadline <= now:
		return activity.ScheduleToClose
	case task.StartBy == task.ScheduledAt.Add(engine.Span(call.ScheduleToStart)):
		return activity.ScheduleToStart
	default:
		return activity.StartToClose
	}
}

// limited returns a context that ends at the first limit of the attempt, with that as the cause.
func (w *Worker) limited(ctx context.Context, a *Attempt) (_ context.Context, stop context.CancelFunc, deadline time.Time) {
	limit, kind := engine.Span(a.Call.StartToClose), activity.StartToClose
	if limit > 0 {
		a.expires = time.Now().Add(limit)
	}
	if left, is := w.judge.remaining(a); is && (limit == 0 || left < limit) {
		limit, kind = max(left, 1), activity.ScheduleToClose
	}
	if limit == 0 {
		return ctx, func() {}, time.Time{}
	}
	deadline = time.Now().Add(limit)
	ctx, stop = context.WithDeadlineCause(ctx, deadline, &activity.TimeoutError{Kind: kind})
	return ctx, stop, deadline
}
