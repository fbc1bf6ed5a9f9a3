package validations

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

func getAtOnce(t *trial) {
	i := t.begin("i")
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, WaitBlocked: true})
	t.ok(err)
	t.checkf(res.Instance.Key == i.Key && res.Instance.Status == provider.StatusRunning, "got %+v, want the instance, Running", res.Instance)
}

// wokenByCommit ends several instances and measures how soon a waiting caller returns. The best time must beat any poll with an
// acceptable load.
func wokenByCommit(t *trial) {
	best := long
	for n := range 10 {
		i := t.begin(fmt.Sprint("i", n))
		var heard time.Time
		ended := parked(t, func() provider.Status {
			res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: long})
			heard = time.Now()
			t.ok(err)
			return res.Instance.Status
		})
		t.commit(closing(i))
		stored := time.Now()
		is(t, "the status of the waiting Get", ended(), provider.StatusCompleted)
		best = min(best, heard.Sub(stored))
	}
	t.checkf(best < short*time.Duration(max(1, t.times)), "the waiting Get returned %v after the end at best, want less than a poll would take", best)
}

// wokenFindsCommit checks that a caller woken by a commit reads all of it at once.
func wokenFindsCommit(t *trial) {
	for n := range 10 {
		i := t.begin(fmt.Sprint("i", n))
		ended := parked(t, func() string {
			res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: long})
			t.ok(err)
			return fmt.Sprint(res.Instance.Status, t.history(i.Key, 0))
		})
		to := t.begin(fmt.Sprint("to", n))
		fetched := parked(t, func() string {
			list := t.fetch(wait, named(to.ID))
			return fmt.Sprint(len(list), t.history(i.Key, 0))
		})
		req := closing(i)
		req.Sends = []provider.OutMessage{{Key: to.Key, Message: text("m")}}
		t.commit(req)
		const history = " [1:started 2:over]"
		got := ended()
		is(t, "the state read after the wait for the end", got, "Completed"+history)
		got = fetched()
		is(t, "the state read after the wait for a turn", got, "1"+history)
	}
}

// toldOfTasks checks that the wait for questions ends, too.
func asksPass(t *trial) {
	t.create("i")
	req := fetchAsksRequest()
	req.Wait = short
	began := time.Now()
	res, err := t.FetchAsks(t.ctx, req)
	t.ok(err)
	t.checkf(len(res.Asks) == 0 && time.Since(began) >= short,
		"got %d questions after %v, want none after a Wait of %v", len(res.Asks), time.Since(began), short)
}

func asksWake(t *trial) {
	i := t.create("i")
	fetched := parked(t, func() provider.OpenAsk { return fetchAsk(t) })
	parkedAsk(t, i.Key)
	open := fetched()
	t.checkf(open.Instance.Key == i.Key, "got %+v, want the question", open)
}

func asksMax(t *trial) {
	i := t.create("i")
	for range 3 {
		parkedAsk(t, i.Key)
	}
	req := fetchAsksRequest()
	req.Max, req.Wait = 2, patience
	for got := 0; got < 3; { // a question may come late
		res, err := t.FetchAsks(t.ctx, req)
		t.ok(err)
		t.mustf(len(res.Asks) > 0 && len(res.Asks) <= req.Max, "got %d questions, want 1 or 2", len(res.Asks))
		got += len(res.Asks)
	}
	req.Wait = 0
	res, err := t.FetchAsks(t.ctx, req)
	t.ok(err)
	t.checkf(len(res.Asks) == 0, "got %d questions, want none after all of them", len(res.Asks))
}

func askNeedsWait(t *trial) {
	i := t.create("i")
	for _, d := range []time.Duration{0, -1} {
		_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: d})
		t.want(err, provider.ErrInvalid)
	}
}

// steerBare checks that Steer without an Event appends none, and that Reset keeps the name.
func steerBare(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerSuspend)
	t.steer(i.Key, provider.SteerResume)
	t.steer(i.Key, provider.SteerUnblock)
	t.steer(i.Key, provider.SteerTerminate)
	t.historyIs(i.Key, 1, "1:started")
	t.steer(i.Key, provider.SteerReset)
	t.historyIs(i.Key, 2, "")
}

func steerEvent(t *trial) {
	i := t.begin("i")
	for _, a := range []provider.SteerAction{provider.SteerSuspend, provider.SteerResume, provider.SteerUnblock} {
		t.steer(i.Key, a, func(r *provider.SteerRequest) { r.Event = []byte("event") })
	}
	t.historyIs(i.Key, 1, "1:started 2:event 3:event 4:event")
}

func steerResetLevel(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.EngineLevel = 4 })
	for _, level := range []int64{2, 5} {
		got := t.steer(i.Key, provider.SteerReset, func(r *provider.SteerRequest) { r.EngineLevel = level })
		is(t, "the engine level", got.EngineLevel, level)
	}
}

// taskExpiredToo checks that Expired does not hide tasks that are in time.
func taskExpiredToo(t *trial) {
	late, elsewhere := newTask(1), newTask(2)
	late.Deadline, elsewhere.Deadline = short, short
	elsewhere.Queue, elsewhere.Name = "elsewhere", "other"
	t.beginTasks(late, elsewhere, newTask(3))
	t.pass(2 * short)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Expired = true })
	t.mustf(len(list) == 3, "got %d tasks, want 3: one in time and two past it", len(list))
	for _, task := range list {
		is(t, fmt.Sprintf("PastDeadline of task %d", task.EventID), task.PastDeadline, task.EventID != 3)
	}
}

// taskEnds checks that no task is fetched after the end of its execution, whatever ends it.
func taskEnds(t *trial) {
	ends := map[string]func(i provider.Instance){
		"closed":     func(i provider.Instance) { t.end(i) },
		"continued":  func(i provider.Instance) { t.continueAsNew(i) },
		"terminated": func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		"reset":      func(i provider.Instance) { t.steer(i.Key, provider.SteerReset) },
		"deleted":    func(i provider.Instance) { t.remove(i.Key, true) },
	}
	for name, end := range ends {
		end(t.begin(name, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} }))
		is(t, "tasks of an execution that was "+name, len(t.fetchTasks()), 0)
	}
}
