package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/suspect"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// taskFetcher fetches tasks and begins their attempts.
type taskFetcher struct {
	*core.Node

	worker *Worker
	judge  *judge
}

// Loop fetches activity tasks and runs them as long as there are free slots.
func (w *Worker) Loop(fetching, working context.Context) {
	f := &taskFetcher{Node: w.Node, worker: w, judge: w.judge}
	f.loop(fetching, working)
}

// loop fetches activity tasks while there are free slots.
func (f *taskFetcher) loop(fetching, working context.Context) {
	req := provider.FetchTasksRequest{Owner: f.Config.Owner, Lease: f.Config.Lease, Wait: storage.FetchWait, Sessions: f.Config.Sessions}
	for failures := 0; ; {
		if !f.Suspects.Wait(fetching) {
			return
		}
		if f.Tasks.Free() == 0 { // what commits add waits in the queue, too, and goes first
			f.worker.queueEmpty.Store(false)
		}
		n, err := f.Tasks.TakeUpTo(fetching, storage.MaxFetch)
		if err != nil {
			return
		}
		allowed, wait := f.worker.rate.Allowed(n, time.Now())
		f.Tasks.Release(n - allowed)
		if n = allowed; n == 0 {
			if !storage.Pause(fetching, wait) {
				return
			}
			continue
		}
		req.Max, req.Token = n, storage.NewToken()
		tasks, read, err := f.fetch(fetching, working, req)
		if err == nil {
			failures = 0
			f.Count.TasksFetched.Add(int64(len(tasks)))
			f.take(fetching, working, tasks, req.Token, read)
			continue
		}
		failures++
		if !f.Store.FetchAgain(fetching, "fetch tasks", failures, err, func() {
			f.Store.Report(working, provider.TaskReport{Token: req.Token, Outcome: provider.TaskReleaseAll})
		}) {
			return
		}
	}
}

// fetch first looks without waiting: tasks that it finds wait in the queue. Hand-off must not pass those that it leaves there, so hand-off is
// allowed only after a fetch that found less than it asked for. The caller has taken req.Max slots; fetch releases those without a task.
func (f *taskFetcher) fetch(
	fetching, working context.Context, req provider.FetchTasksRequest,
) (tasks []provider.LeasedTask, read manage.Anchor, err error) {
	ctx, cancel := storage.Waiting(fetching, storage.FetchWait)
	defer cancel()
	taken := req.Max
	defer func() { f.Tasks.Release(taken - len(tasks)) }()
	o := f.worker.pools.Offers(req.Max)
	for _, l := range o.Polls {
		poll := req
		poll.Queues, poll.Max, poll.Wait = l.Queues, l.Limit, 0
		read.Sent = manage.ThisMoment()
		res, err := f.Store.FetchTasks(ctx, poll)
		f.fetched(&res)
		read.Storage = res.Now
		f.worker.queueEmpty.Store(err == nil && f.worker.pools.Found(l, len(res.Tasks)))
		if err != nil || len(res.Tasks) > 0 {
			return res.Tasks, read, err
		}
	}
	f.Tasks.Release(taken) // hand-off may use them while the fetch waits
	taken = 0
	waiting, stop := f.worker.pools.Wait(ctx, o)
	defer stop()
	if len(o.Polls) == 0 { // nothing has room
		<-waiting.Done()
		return nil, read, nil
	}
	req.Queues, req.Max = o.LongPoll.Queues, o.LongPoll.Limit
	res, err := f.Store.FetchTasks(waiting, req)
	f.worker.queueEmpty.Store(err == nil && f.worker.pools.Found(o.LongPoll, len(res.Tasks)))
	f.fetched(&res)
	if err != nil && errors.Is(context.Cause(waiting), flow.ErrRoom) {
		f.Store.Report(ctx, provider.TaskReport{Token: req.Token, Outcome: provider.TaskReleaseAll}) // what it may have leased
		return nil, read, nil
	}
	for taken < len(res.Tasks) && f.Tasks.TryTake() {
		taken++
	}
	if taken < len(res.Tasks) {
		f.worker.queueEmpty.Store(false)
		f.release(working, res.Tasks[taken:], req.Token)
	}
	return res.Tasks[:taken], read, err
}

// release releases tasks for which hand-offs have left no slot. They do not count as attempts.
func (f *taskFetcher) release(working context.Context, tasks []provider.LeasedTask, token provider.UUID) {
	f.Count.AttemptsReleased.Add(int64(len(tasks)))
	reports := make([]provider.TaskReport, len(tasks))
	for i := range tasks {
		ref := tasks[i].TaskRef
		reports[i] = provider.TaskReport{
			TaskRef: ref, Token: provider.TaskToken(token, ref), Attempt: tasks[i].Attempt, Outcome: provider.TaskRelease,
		}
	}
	f.Work.Add()
	go func() {
		defer f.Work.Done()
		f.Store.Report(working, reports...)
	}()
}

// fetched stores the storage's time and the number of sessions.
func (f *taskFetcher) fetched(res *provider.FetchTasksResult) {
	f.Clock.Set(res.Now)
	if f.Config.Sessions.Max > 0 && res.Now != 0 {
		f.Manage.SetSessions(res.Sessions)
	}
}

// take starts fetched tasks.
func (f *taskFetcher) take(fetching, working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	f.worker.rate.Began(len(tasks), time.Now())
	f.begin(working, f.takeThrottled(fetching, working, tasks, token, read), token, read)
}

// begin starts the attempts of fetched tasks, whose slots are taken, and reports on those that must not run. It releases suspects that have
// to wait before the admitted one begins.
func (f *taskFetcher) begin(working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	var alone *Attempt
	var wait []provider.TaskReport
	for i := range tasks {
		a, refusal := f.examine(&tasks[i], token, read)
		if refusal != nil {
			f.worker.refuse(working, *refusal, f.refused(&tasks[i], refusal))
			continue
		}
		lost := a.Deliveries - 1
		if !suspect.Is(lost, f.Config.PoisonLimit) {
			f.worker.Start(working, a)
			continue
		}
		delay, admitted := f.Suspects.Admit(a.Ref, lost)
		if admitted {
			a.suspect = true
			alone = a
			continue
		}
		wait = append(wait, provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskRelease, Delay: delay})
	}
	if len(wait) > 0 {
		f.Count.SuspectsDelayed.Add(int64(len(wait)))
		f.Store.Report(working, wait...)
		f.Tasks.Release(len(wait))
	}
	if alone != nil {
		f.worker.Start(working, alone)
	}
}

// refused returns what to tell the Observer when the store has taken the report; nil: nothing.
func (f *taskFetcher) refused(task *provider.LeasedTask, report *provider.TaskReport) func() {
	if report.Outcome != provider.TaskPoison || !f.Watch.On() {
		return nil
	}
	return func() { f.judge.poisoned(task.Queue, task.Name) }
}

// examine returns the attempt of a fetched task, or the report on one that must not run.
func (f *taskFetcher) examine(task *provider.LeasedTask, token provider.UUID, read manage.Anchor) (*Attempt, *provider.TaskReport) {
	a := &Attempt{
		Attempt: manage.Attempt{
			Ref: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Lease: read.Lease(task.LeaseUntil, f.Config.Lease),
		},
		instanceID: task.InstanceID, Number: task.Attempt, Deliveries: task.Deliveries, scheduled: task.ScheduledAt, deadline: task.Deadline, details: task.Details,
	}
	a.readRetried(task.Failure)
	report := &provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: task.Attempt}
	e, err := history.Decode(task.EventID, task.Payload)
	if err == nil {
		err = sealedIn(task)
	}
	f.Config.Faults.Note(err)
	call, ok := e.Body.(*history.ActivityScheduled)
	switch {
	case !f.Accepting():
		report.Outcome = provider.TaskRelease
	case task.State.Kind != provider.ExecutionRunning:
		f.Count.AttemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
	case task.CancelRequested:
		// Its node was lost before it could be cancelled. The orchestration continued without the result.
		failTask(report, f.Config.Env.Errors.Encode(failure.ErrCancelled))
	case errors.Is(err, history.ErrNewer):
		report.Outcome, report.Delay = provider.TaskRelease, time.Second
	case errors.Is(err, history.ErrSealed): // damaged, or so it seems to this node: its end would lose the call
		report.Outcome, report.Delay = provider.TaskRelease, damagedDelay
	case err != nil || !ok:
		f.judge.poisonTask(report, fmt.Sprintf("task cannot be decoded: %v", err))
	case f.Config.Activity(call.Queue, call.Name) == nil:
		f.judge.poisonTask(report, fmt.Sprintf("task is stored as activity %q of queue %q, and holds a call of %q of queue %q",
			task.Name, task.Queue, call.Name, call.Queue))
	case call.AtMostOnce && task.Deliveries > 1:
		f.Count.AttemptsFailed.Add(1)
		failTask(report, f.judge.workerLost(call.Name, "the node that had taken it was lost"), a.pastAttempts...)
	case task.Deliveries > f.Config.PoisonLimit:
		cause := fmt.Sprintf("activity %s: attempt %d was lost with its node %d times", task.Name, task.Attempt, task.Deliveries-1)
		f.judge.poisonTask(report, cause, a.pastAttempts...)
	case task.Attempt > 1 && call.Retry != nil && elapsed(call.Retry, task.ScheduledAt, f.Clock.Now(), 0):
		// It waited too long for a node or a slot, so there is no further attempt.
		f.Count.AttemptsFailed.Add(1)
		failTask(report, a.lastFailure, a.pastAttempts...)
	default:
		a.Call, a.before, a.Caller = call, call.Attempts, call.Caller
		a.Number += a.before
		return a, nil
	}
	return nil, report
}

// damagedDelay is the delay before a task is tried again whose sealed input is damaged.
const damagedDelay = 30 * time.Second

// takeThrottled returns the tasks of unthrottled queues. It begins each of the others when its moment has come.
func (f *taskFetcher) takeThrottled(
	fetching, working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor,
) []provider.LeasedTask {
	if !f.worker.pools.Throttles() {
		return tasks
	}
	free := tasks[:0]
	held := map[*flow.Throttle][]provider.LeasedTask{}
	for i := range tasks {
		t := f.worker.pools.Throttle(tasks[i].Queue)
		if t == nil || tasks[i].State.Kind != provider.ExecutionRunning {
			free = append(free, tasks[i])
			continue
		}
		held[t] = append(held[t], tasks[i])
	}
	for t, list := range held {
		f.worker.pools.Hold(t, list)
		f.Manage.Expect(list)
		f.Work.Add()
		go func() {
			defer f.Work.Done()
			f.beginAtRate(fetching, working, t, list, token, read)
		}()
	}
	return free
}

// beginAtRate reserves moments for tasks and begins each at its own. It releases tasks whose moment is too far away, with that delay.
func (f *taskFetcher) beginAtRate(fetching, working context.Context, t *flow.Throttle, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	first, reserved, err := f.worker.pools.Reserve(fetching, f.Store, t, len(tasks), f.Config.Lease/4)
	if err != nil && fetching.Err() == nil {
		f.Store.Failed("reserve a rate", 1, err)
	}
	for i := range tasks {
		wait := time.Until(first.Add(time.Duration(i) * t.Interval()))
		if err == nil && i < reserved {
			storage.Pause(fetching, wait) // ends at once on shutdown
		}
		if f.Manage.Arrived(&tasks[i]) {
			f.Manage.CheckTask(working, &tasks[i], token)
		}
		switch {
		case err != nil:
			f.releaseLater(working, &tasks[i], token, storage.Backoff(1))
		case i >= reserved:
			f.releaseLater(working, &tasks[i], token, max(wait, 0))
		default:
			f.begin(working, tasks[i:i+1], token, read)
		}
		f.worker.pools.Drop(&tasks[i])
	}
}

func (f *taskFetcher) releaseLater(working context.Context, task *provider.LeasedTask, token provider.UUID, delay time.Duration) {
	f.worker.refuse(working, provider.TaskReport{
		TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Attempt: task.Attempt, Outcome: provider.TaskRelease, Delay: delay,
	}, nil)
}
