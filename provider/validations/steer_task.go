package validations

import (
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// steerTaskCases checks an optional feature. The suite skips the cases of a provider without it.
func steerTaskCases() []testCase {
	const (
		seen     = "If another attempt is pending, or the task is in another State, the call returns [ErrConflict]."
		missing  = "If the task is not pending, or its execution does not run, the call returns [ErrNotFound]."
		complete = "Complete removes the task and puts Message into the inbox of its instance. The message of a failure is stored in the same way."
		retry    = "Retry queues the task without a delay. A queued task that may be fetched already keeps its rank."
		hold     = "Hold queues the task with NotBefore [HeldUntil]. So no fetch gets it for work, also after Suspend and Resume."
		release  = "Release queues a held task without a delay. Any other task stays as it is."
		voids    = "Complete, Retry and Hold void the token of a leased or parked task: its holder gets ErrLeaseLost at its next renewal or report."
		gives    = "Retry and Hold give up its attempt: Attempt rises, Deliveries is 0, and the task has begun."
	)
	return needs(lacking[provider.TaskSteerer], []testCase{
		{name: "complete", run: actComplete, rule: complete},
		{name: "complete-suspended", run: actCompleteSuspended, rule: complete},
		{name: "complete-once", run: actCompleteOnce, rule: voids},
		{name: "complete-frees", run: actFrees, rule: voids},
		{name: "retry-waiting", run: actRetryWaiting, rule: retry},
		{name: "retry-keeps-rank", run: actRetryRank, rule: retry},
		{name: "retry-wakes", run: actRetryWakes, rule: retry},
		{name: "complete-raises-the-level", run: steeredLevel, rule: storingRaises},
		{name: "hold", run: actHold, rule: hold},
		{name: "hold-past-its-time", run: actHoldDeadline, rule: "It still ends when it is past its time."},
		{name: "hold-in-a-lane", run: actHoldFair, rule: "It takes no more turns among fairness keys."},
		{name: "hold-cancelled", run: actHoldCancelled, rule: "A task whose cancellation was requested is not held, but retried."},
		{name: "release", run: actRelease, rule: release},
		{name: "release-not-held", run: actReleaseOthers, rule: release},
		{name: "voids-the-token", run: actVoids, rule: voids},
		{name: "voids-a-hand-off", run: actVoidsHandOff, rule: voids},
		{name: "new-attempt", run: actNewAttempt, rule: gives},
		{name: "expired-lease", run: actExpired, rule: gives},
		{name: "new-attempt-has-begun", run: actBegun, rule: gives},
		{name: "other-attempt", run: actConflict, rule: seen},
		{name: "other-state", run: actState, rule: seen},
		{name: "not-pending", run: actMissing, rule: missing},
		{name: "changes-nothing-else", run: actVersion, rule: "The Version of the instance does not change."},
	})
}

// actOn makes one call of SteerTask, with changes to the request.
func (t *trial) actOn(
	ref provider.TaskRef, attempt int64, action provider.SteerTaskAction, changes ...func(*provider.SteerTaskRequest),
) (provider.SteerTaskResult, error) {
	steerer, _ := provider.As[provider.TaskSteerer](t.trace.note("SteerTask"))
	req := provider.SteerTaskRequest{TaskRef: ref, Attempt: attempt, Action: action}
	if action == provider.SteerTaskComplete {
		req.Message = text("done")
	}
	for _, change := range changes {
		change(&req)
	}
	return steerer.SteerTask(t.ctx, req)
}

// act is actOn that must succeed. It returns the pending attempt.
func (t *trial) act(ref provider.TaskRef, attempt int64, action provider.SteerTaskAction) int64 {
	res, err := t.actOn(ref, attempt, action)
	t.ok(err)
	return res.Attempt
}

func inState(s provider.TaskState) func(*provider.SteerTaskRequest) {
	return func(r *provider.SteerTaskRequest) { r.State = s }
}

// pending returns what is shown of the only pending task.
func (t *trial) pending(key provider.UUID) provider.TaskInfo {
	res, err := t.store.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true})
	t.mustf(err == nil && len(res.Tasks) == 1, "got %d tasks and error %v, want one task", len(res.Tasks), err)
	return res.Tasks[0]
}

// later returns a task that waits for the delay of its second attempt.
func later(t *trial) provider.TaskRef {
	t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Delay, r.Failure = long, []byte("boom") }).Err)
	return task.TaskRef
}

func actComplete(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2), newTask(3))
	one := func(r *provider.FetchTasksRequest) { r.Max = 1 }
	parkedTask, leased := t.fetchTask(one), t.fetchTask(one)
	t.ok(t.report(parkedTask, provider.TaskPark).Err)
	for event := int64(1); event <= 3; event++ {
		is(t, "the attempt after the end", t.act(ref(i, event), 1, provider.SteerTaskComplete), 0)
	}
	t.tasksAre(i.Key, "")
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "done done done") //nolint:dupword // three messages
	for _, task := range []leasedTask{parkedTask, leased} {
		t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
	}
}

func actCompleteSuspended(t *trial) {
	i := t.beginTasks(newTask(1))
	t.steer(i.Key, provider.SteerSuspend)
	t.act(ref(i, 1), 1, provider.SteerTaskComplete)
	t.steer(i.Key, provider.SteerResume)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "done")
}

func actCompleteOnce(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	var ends atomic.Int64
	t.parallel(8, func(n int) {
		var err error
		if n%2 == 0 {
			_, err = t.actOn(task.TaskRef, 1, provider.SteerTaskComplete)
		} else {
			err = t.report(task, provider.TaskComplete).Err
		}
		if err == nil {
			ends.Add(1)
		}
	})
	is(t, "calls that ended the task", ends.Load(), 1)
	is(t, "messages", t.get(i.Key).InboxMessages, 1)
}

func actFrees(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	limited := func(r *provider.FetchTasksRequest) { r.Queues[0].MaxLeased = 1 }
	first := t.fetchTask(limited)
	fetched := parked(t, func() leasedTask { return t.fetchTask(limited) })
	t.act(first.TaskRef, 1, provider.SteerTaskComplete)
	is(t, "the next task of the queue", fetched().TaskRef, ref(i, 2))
}

func actRetryWaiting(t *trial) {
	waiting := later(t)
	is(t, "the pending attempt", t.act(waiting, 2, provider.SteerTaskRetry), 2)
	again := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Wait = 0 })
	t.checkf(again.Attempt == 2 && again.Deliveries == 1 && string(again.Failure) == "boom",
		"got attempt %d, delivery %d, failure %q, want 2, 1, boom", again.Attempt, again.Deliveries, again.Failure)
}

func actRetryRank(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	t.act(ref(i, 1), 1, provider.SteerTaskRetry)
	is(t, "the first task", t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 }).EventID, 1)
}

func actRetryWakes(t *trial) {
	waiting := later(t)
	fetched := parked(t, func() leasedTask { return t.fetchTask() })
	t.act(waiting, 2, provider.SteerTaskRetry)
	is(t, "the attempt of the parked fetch", fetched().Attempt, 2)
}

func actHold(t *trial) {
	i := t.beginTasks(newTask(1))
	is(t, "the pending attempt", t.act(ref(i, 1), 1, provider.SteerTaskHold), 1)
	held := func() {
		is(t, "held tasks fetched for work", len(t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Expired = true })), 0)
	}
	held()
	info := t.pending(i.Key)
	t.checkf(info.NotBefore == provider.HeldUntil && info.State == provider.TaskQueued && info.Attempt == 1, "got %+v, want it queued and held", info)
	t.steer(i.Key, provider.SteerSuspend)
	t.steer(i.Key, provider.SteerResume)
	held()
}

func actHoldDeadline(t *trial) {
	task := newTask(1)
	task.Deadline = short
	i := t.beginTasks(task)
	t.act(ref(i, 1), 1, provider.SteerTaskHold)
	late := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Expired, r.Queues = true, nil })
	t.checkf(late.PastDeadline, "got %+v, want a task past its time", late)
}

func actHoldFair(t *trial) {
	task := newTask(1)
	task.FairnessKey = "tenant"
	i := t.beginTasks(task)
	t.act(ref(i, 1), 1, provider.SteerTaskHold)
	is(t, "held tasks fetched", len(t.fetchTasks()), 0)
	t.steer(i.Key, provider.SteerSuspend)
	t.steer(i.Key, provider.SteerResume)
	is(t, "held tasks fetched after Suspend and Resume", len(t.fetchTasks()), 0)
	for _, event := range []int64{2, 3} {
		task := newTask(event)
		if event == 2 {
			task.FairnessKey = "tenant" // it ranks as if the held one were gone
		}
		req := next(t.get(i.Key))
		req.Tasks = []provider.NewTask{task}
		t.commit(req)
	}
	for _, event := range []int64{2, 3} {
		is(t, "the next task", t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 }).EventID, event)
	}
	t.act(ref(i, 1), 1, provider.SteerTaskRelease)
	is(t, "the released task", t.fetchTask().EventID, 1)
}

func actHoldCancelled(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	commitCancel(t, i, false)
	is(t, "the pending attempt", t.act(task.TaskRef, 1, provider.SteerTaskHold), 2)
	again := t.fetchTask()
	t.checkf(again.CancelRequested && again.Attempt == 2, "got %+v, want the second attempt with CancelRequested", again)
}

func actRelease(t *trial) {
	i := t.beginTasks(newTask(1))
	t.act(ref(i, 1), 1, provider.SteerTaskHold)
	fetched := parked(t, func() leasedTask { return t.fetchTask() })
	is(t, "the pending attempt", t.act(ref(i, 1), 1, provider.SteerTaskRelease), 1)
	task := fetched()
	t.checkf(task.Attempt == 1 && task.Deliveries == 1, "attempt %d, delivery %d, want 1 and 1", task.Attempt, task.Deliveries)
}

func actReleaseOthers(t *trial) {
	waiting := later(t)
	t.unchanged(waiting.Key, func() { t.act(waiting, 2, provider.SteerTaskRelease) })
	is(t, "tasks fetched before their delay is over", len(t.fetchTasks()), 0)
	t.act(waiting, 2, provider.SteerTaskRetry)
	task := t.fetchTask()
	t.act(waiting, 2, provider.SteerTaskRelease)
	t.ok(t.report(task, provider.TaskComplete).Err)
}

func actVoids(t *trial) {
	for n, action := range []provider.SteerTaskAction{provider.SteerTaskRetry, provider.SteerTaskHold, provider.SteerTaskComplete} {
		for _, park := range []bool{false, true} {
			t.begin(fmt.Sprint("i", n, park), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
			task := t.fetchTask()
			if park {
				t.ok(t.report(task, provider.TaskPark).Err)
			}
			t.act(task.TaskRef, 1, action)
			t.want(t.renew(renewal(task)).Err, provider.ErrLeaseLost)
			for _, outcome := range []provider.TaskOutcome{provider.TaskComplete, provider.TaskRetry} {
				t.want(t.report(task, outcome).Err, provider.ErrLeaseLost)
			}
			if action == provider.SteerTaskRetry {
				t.ok(t.report(t.fetchTask(), provider.TaskComplete).Err)
			}
		}
	}
}

func actVoidsHandOff(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task)
	t.act(ref(i, 1), 1, provider.SteerTaskRetry)
	req := next(i)
	req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
	t.refused(req, provider.ErrLeaseLost)
	is(t, "the attempt of the fetched task", t.fetchTask().Attempt, 2)
}

func actNewAttempt(t *trial) {
	for n, park := range []bool{false, true} {
		t.begin(fmt.Sprint("i", n), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		task := t.fetchTask()
		if park {
			t.ok(t.report(task, provider.TaskPark).Err)
		}
		is(t, "the pending attempt", t.act(task.TaskRef, 1, provider.SteerTaskRetry), 2)
		is(t, "deliveries", t.pending(task.Key).Deliveries, 0)
		again := t.fetchTask()
		t.checkf(again.Attempt == 2 && again.Deliveries == 1, "got attempt %d, delivery %d, want 2 and 1", again.Attempt, again.Deliveries)
		is(t, "the pending attempt", t.act(task.TaskRef, 2, provider.SteerTaskHold), 3)
		is(t, "the pending attempt", t.act(task.TaskRef, 3, provider.SteerTaskRelease), 3)
		t.ok(t.report(t.fetchTask(), provider.TaskComplete).Err)
	}
}

// actExpired checks that a task whose lease has expired counts as queued, although its holder may still report.
func actExpired(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask(brieflyTask)
	t.pass(2 * short)
	_, err := t.actOn(task.TaskRef, 1, provider.SteerTaskRetry, inState(provider.TaskLeased))
	t.want(err, provider.ErrConflict)
	is(t, "the pending attempt", t.act(task.TaskRef, 1, provider.SteerTaskRetry), 1)
	t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
	is(t, "the delivery", t.fetchTask().Deliveries, 2)
}

func actBegun(t *trial) {
	task := newTask(1)
	task.StartBy = 10 * short
	i := t.beginTasks(task)
	leased := t.fetchTask()
	t.act(leased.TaskRef, 1, provider.SteerTaskHold)
	t.pass(12 * short)
	t.act(ref(i, 1), 2, provider.SteerTaskRelease)
	t.checkf(!t.fetchTask().PastDeadline, "the second attempt is past its StartBy, want it fetched for work")
}

func actConflict(t *trial) {
	waiting := later(t)
	all := []provider.SteerTaskAction{
		provider.SteerTaskComplete, provider.SteerTaskRetry, provider.SteerTaskHold, provider.SteerTaskRelease,
	}
	t.unchanged(waiting.Key, func() {
		for _, action := range all {
			for _, attempt := range []int64{1, 3} {
				_, err := t.actOn(waiting, attempt, action)
				t.want(err, provider.ErrConflict)
			}
		}
	})
}

func actState(t *trial) {
	i := t.beginTasks(newTask(1))
	check := func(current provider.TaskState) {
		for s := provider.TaskQueued; s <= provider.TaskParked; s++ {
			if s != current {
				t.unchanged(i.Key, func() {
					_, err := t.actOn(ref(i, 1), 1, provider.SteerTaskRetry, inState(s))
					t.want(err, provider.ErrConflict)
				})
			}
		}
	}
	check(provider.TaskQueued)
	task := t.fetchTask()
	check(provider.TaskLeased)
	t.ok(t.report(task, provider.TaskPark).Err)
	check(provider.TaskParked)
	_, err := t.actOn(ref(i, 1), 1, provider.SteerTaskRetry, inState(provider.TaskParked))
	t.ok(err)
}

func actMissing(t *trial) {
	i := t.beginTasks(newTask(1))
	all := []provider.TaskRef{ref(i, 2), {Key: i.Key, Execution: 2, EventID: 1}, {Key: unique(), Execution: 1, EventID: 1}}
	t.unchanged(i.Key, func() {
		for _, one := range all {
			_, err := t.actOn(one, 1, provider.SteerTaskComplete)
			t.want(err, provider.ErrNotFound)
		}
	})
	t.continueAsNew(i)
	_, err := t.actOn(ref(i, 1), 1, provider.SteerTaskComplete)
	t.want(err, provider.ErrNotFound)
	t.end(t.get(i.Key))
	_, err = t.actOn(ref(i, 1), 1, provider.SteerTaskRetry)
	t.want(err, provider.ErrNotFound)
}

func actVersion(t *trial) {
	i := t.beginTasks(newTask(1))
	t.act(ref(i, 1), 1, provider.SteerTaskHold)
	t.act(ref(i, 1), 1, provider.SteerTaskComplete)
	is(t, "the version", t.get(i.Key).Version, i.Version)
}

// steeredLevel completes a task from outside.
func steeredLevel(t *trial) {
	i := t.beginTasks(newTask(1))
	_, err := t.actOn(ref(i, 1), 1, provider.SteerTaskComplete, func(r *provider.SteerTaskRequest) { r.Message = levelled("done", 3) })
	t.ok(err)
	t.levelIs("a completion from outside", i.Key, 3)
}
