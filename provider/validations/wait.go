package validations

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

func waitCases() []testCase {
	const blocks = "The call blocks up to Wait while nothing is fetchable and returns as soon as " +
		"something is. When Wait has passed, it returns an empty result, not an error."
	const ended = "With WaitEnded it blocks until the instance has ended, until the instance is Blocked and " +
		"WaitBlocked is set, or until Wait has passed. It then returns what is stored."
	const closing = "Close ends all blocked calls with [ErrClosed], waits for calls in progress and frees what the provider holds."
	const finished = "A call whose context is done before the storage takes it up changes nothing and returns the context's error."
	return []testCase{
		{name: "passes", run: waitPasses, rule: blocks},
		{name: "message-wakes", run: waitMessage, rule: blocks},
		{name: "create-wakes", run: waitCreate, rule: blocks},
		{name: "due-message-wakes", run: waitDue, rule: blocks},
		{name: "release-wakes", run: waitRelease, rule: blocks},
		{name: "resume-wakes", run: waitResume, rule: blocks},
		{name: "task-wakes", run: waitTask, rule: "The call blocks up to Wait while nothing is fetchable, as FetchTurns does."},
		{name: "turn-wakes", run: waitTurn, rule: "The call blocks up to Wait while nothing is fetchable, as FetchTurns does."},
		{name: "released-task-wakes", run: waitTaskRetry, rule: "The call blocks up to Wait while nothing is fetchable, as FetchTurns does."},
		{name: "ended-wakes-get", run: waitEnded, rule: ended},
		{name: "get-passes", run: waitEndedPasses, rule: ended},
		{name: "blocked-wakes-get", run: waitBlocked, rule: ended},
		{name: "terminate-wakes-get", run: waitTerminated, rule: ended},
		{name: "finished-context", run: waitFinished, rule: finished},
		{name: "cancelled-while-blocked", run: waitCancelled, rule: finished},
		{name: "close-ends-waits", run: waitClose, rule: closing},
		{name: "closed", run: waitAfterClose, rule: "Later calls return ErrClosed. Closing twice is fine."},
		{name: "get-at-once", run: getAtOnce, rule: "GetRequest.Wait: longest time to block; 0 returns at once"},
		{name: "woken-by-the-commit", run: wokenByCommit, rule: "A commit in the same process wakes the call at once, without a poll."},
		{name: "woken-finds-the-commit", run: wokenFindsCommit, rule: "No waiting call wakes before the commit is durable."},
	}
}

func waitPasses(t *trial) {
	began := time.Now()
	t.noTurn("no turn exists", func(r *provider.FetchTurnsRequest) { r.Wait = short })
	t.checkf(time.Since(began) >= short, "returned after %v, want its Wait of %v", time.Since(began), short)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = short })
	t.checkf(len(list) == 0, "got tasks %+v, want none", list)
}

func waitMessage(t *trial) {
	i := t.begin("i")
	fetched := parkedFetch(t, named("i"))
	t.send(i.Key, text("m"))
	list := fetched()
	t.mustf(len(list) == 1, "got %d turns, want 1", len(list))
	t.checkf(list[0].payloads() == "m", "got %q, want \"m\"", list[0].payloads())
}

func waitCreate(t *trial) {
	fetched := parkedFetch(t)
	t.create("i")
	list := fetched()
	t.checkf(len(list) == 1, "got %d turns, want 1", len(list))
}

func waitDue(t *trial) {
	i := t.begin("i")
	m := text("m")
	m.Delay = short
	fetched := parkedFetch(t, named("i"))
	sent := t.send(i.Key, m)
	list := fetched()
	t.mustf(len(list) == 1, "got %d turns, want 1", len(list))
	t.checkf(list[0].Messages[0].VisibleAt >= sent.Now.Add(short),
		"visible at %d, sent at %d, want the delay between them", list[0].Messages[0].VisibleAt, sent.Now)
}

func waitRelease(t *trial) {
	t.create("i")
	u := t.fetchOne()
	fetched := parkedFetch(t)
	t.ok(t.release(u))
	list := fetched()
	t.checkf(len(list) == 1, "got %d turns, want 1", len(list))
}

func waitResume(t *trial) {
	i := t.create("i")
	t.steer(i.Key, provider.SteerSuspend)
	fetched := parkedFetch(t)
	t.steer(i.Key, provider.SteerResume)
	list := fetched()
	t.checkf(len(list) == 1, "got %d turns, want 1", len(list))
}

func waitTask(t *trial) {
	i := t.begin("i")
	fetched := parked(t, func() []leasedTask {
		return t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
	})
	req := next(i)
	req.Tasks = []provider.NewTask{newTask(1)}
	t.commit(req)
	list := fetched()
	t.checkf(len(list) == 1, "got %d tasks, want 1", len(list))
}

// waitTurn waits for a task whose turn among fairness keys comes after another one.
func waitTurn(t *trial) {
	t.begin("i")
	t.begin("j")
	stockQueue(t, "i", "a1 third", "a2 third")
	fetched := parked(t, func() []leasedTask {
		return t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
	})
	stockQueue(t, "j", "a3")
	list := fetched()
	t.checkf(len(list) == 1, "got %d tasks, want 1", len(list))
}

func waitTaskRetry(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Delay = short }).Err)
	again := t.fetchTask()
	t.checkf(again.Attempt == 2, "attempt %d, want 2", again.Attempt)
}

// parkedGet waits for the end of an instance in the background.
func parkedGet(t *trial, key provider.UUID, blocked bool) func() provider.Instance {
	return parked(t, func() provider.Instance {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WaitEnded: true, WaitBlocked: blocked, Wait: patience})
		t.ok(err)
		return res.Instance
	})
}

func waitEnded(t *trial) {
	i := t.begin("i")
	got := parkedGet(t, i.Key, false)
	t.end(i)
	ended := got()
	t.checkf(ended.Status == provider.StatusCompleted && string(ended.Result) == "result", "Get returned %+v, want Completed with its result", ended)
}

func waitEndedPasses(t *trial) {
	i := t.begin("i")
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: short})
	t.ok(err)
	t.checkf(res.Instance.Status == provider.StatusRunning, "status %s, want %s", res.Instance.Status, provider.StatusRunning)
}

func waitBlocked(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	got := parkedGet(t, i.Key, true)
	t.block(u, true)
	blocked := got()
	t.checkf(blocked.Blocked != nil && blocked.Status == provider.StatusRunning, "Get returned %+v, want Running and Blocked", blocked)
}

func waitTerminated(t *trial) {
	i := t.create("i")
	got := parkedGet(t, i.Key, false)
	t.steer(i.Key, provider.SteerTerminate)
	is(t, "the status of the waiting Get", got().Status, provider.StatusTerminated)
}

func waitFinished(t *trial) {
	i := t.begin("i")
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	t.unchanged(i.Key, func() {
		_, err := t.CommitTurn(ctx, next(i, "event"))
		t.want(err, context.Canceled)
		_, err = t.Send(ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
		t.want(err, context.Canceled)
		_, err = t.Create(ctx, createRequest("j"))
		t.want(err, context.Canceled)
	})
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "j"})
	t.want(err, provider.ErrNotFound)
}

func waitCancelled(t *trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	fetched := parked(t, func() error {
		req := fetchRequest()
		req.Wait = long
		_, err := t.FetchTurns(ctx, req)
		return err
	})
	cancel()
	t.want(fetched(), context.Canceled)
	i := t.create("i")
	t.fetchOne()
	is(t, "deliveries after a cancelled fetch", t.get(i.Key).Deliveries, 1)
}

func waitClose(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) { r.Message.Delay = long })
	turns := parked(t, func() error {
		req := fetchRequest()
		req.Wait = long
		_, err := t.FetchTurns(t.ctx, req)
		return err
	})
	got := parked(t, func() error {
		_, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: long})
		return err
	})
	t.ok(t.Close())
	t.want(turns(), provider.ErrClosed)
	t.want(got(), provider.ErrClosed)
}

func waitAfterClose(t *trial) {
	t.ok(t.Close())
	t.ok(t.Close())
	_, err := t.Create(t.ctx, createRequest("i"))
	t.want(err, provider.ErrClosed)
	_, err = t.FetchTurns(t.ctx, fetchRequest())
	t.want(err, provider.ErrClosed)
	_, err = t.Stats(t.ctx, provider.StatsRequest{})
	t.want(err, provider.ErrClosed)
}
