package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// taskLoop fetches activity tasks as long as there are free slots.
func (d *Dispatcher) taskLoop(fetching, working context.Context) {
	req := provider.FetchTasksRequest{
		Owner: d.cfg.Owner, Lease: d.cfg.Lease, Queues: d.cfg.queues(), Wait: fetchWait,
	}
	for failures := 0; ; {
		n, err := d.tasks.takeUpTo(fetching, maxFetch)
		if err != nil {
			return
		}
		req.Max, req.Token = n, newToken()
		asked := time.Now()
		tasks, err := d.fetchTasks(fetching, req)
		d.tasks.give(n - len(tasks))
		if err == nil {
			failures = 0
			for i := range tasks {
				d.count.tasksFetched.Add(1)
				d.takeTask(working, &tasks[i], req.Token, asked)
			}
			continue
		}
		if fetching.Err() != nil || errors.Is(err, provider.ErrClosed) {
			return
		}
		failures++
		d.storageFailed("fetch tasks", failures, err)
		if !pause(fetching, backoff(failures)) {
			return
		}
	}
}

// fetchTasks looks without waiting first: what it finds waits in the queue, so that
// hand-off must not pass it. Only while the second, waiting call is parked is hand-off allowed.
func (d *Dispatcher) fetchTasks(ctx context.Context, req provider.FetchTasksRequest) ([]provider.LeasedTask, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait+callTimeout)
	defer cancel()
	look := req
	look.Wait = 0
	res, err := d.store.FetchTasks(ctx, look)
	if err != nil || len(res.Tasks) > 0 {
		d.clock.set(res.Now)
		return res.Tasks, err
	}
	d.taskLoopIdle.Store(true)
	defer d.taskLoopIdle.Store(false)
	res, err = d.store.FetchTasks(ctx, req)
	d.clock.set(res.Now)
	return res.Tasks, err
}

// takeTask starts the attempt of a fetched task, whose slot is taken, or deals with one
// that must not run.
func (d *Dispatcher) takeTask(working context.Context, task *provider.LeasedTask, token provider.UUID, asked time.Time) {
	a := &attempt{
		ref: task.TaskRef, token: token, instanceID: task.InstanceID, number: task.Attempt, deliveries: task.Deliveries,
		granted: asked, scheduled: task.ScheduledAt, details: task.Details,
	}
	report := provider.TaskReport{TaskRef: a.ref, Token: token, Attempt: a.number}
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
		report.Outcome = provider.TaskComplete
		report.Message = message(&history.ActivityFailed{
			Scheduled: a.ref.EventID, Attempt: a.number, Failure: d.cfg.Env.Errors.Encode(failure.ErrCancelled),
		}, a.ref.Execution, a.ref.EventID)
	case errors.Is(err, history.ErrNewer):
		report.Outcome, report.Delay = provider.TaskRelease, time.Second
	case err != nil || !ok:
		d.poisonTask(&report, fmt.Sprintf("task cannot be decoded: %v", err))
	case task.Deliveries > d.cfg.PoisonLimit:
		d.poisonTask(&report, fmt.Sprintf("activity %s: attempt %d was lost with its node %d times", task.Name, task.Attempt, task.Deliveries-1))
	default:
		a.call = call
		d.startAttempt(working, a)
		return
	}
	d.work.add()
	go func() {
		defer d.work.done()
		defer d.tasks.give(1)
		d.report(working, report)
	}()
}
