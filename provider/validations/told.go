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
	t.checkf(res.Instance.Key == i.Key && res.Instance.Status == provider.StatusRunning, "got %+v", res.Instance)
}

// toldByCommit ends several instances and measures how long it takes until the one who waits
// hears of it. The best of them must beat any poll that would spare the storage.
func toldByCommit(t *trial) {
	best := long
	for n := range 10 {
		i := t.begin(fmt.Sprint("i", n))
		var heard time.Time
		told := parked(t, func() provider.Status {
			res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: long})
			heard = time.Now()
			t.ok(err)
			return res.Instance.Status
		})
		t.commit(closing(i))
		stored := time.Now()
		t.checkf(told() == provider.StatusCompleted, "told before the end")
		best = min(best, heard.Sub(stored))
	}
	t.checkf(best < short, "the end was told %v late at best", best)
}

// wokenFindsCommit: who was woken by a commit reads all of it, without waiting.
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
		t.checkf(got == "Completed"+history, "told of the end, one reads %s", got)
		got = fetched()
		t.checkf(got == "1"+history, "with the message at hand, one reads %s", got)
	}
}

// toldOfTasks: the wait for questions ends, too.
func asksPass(t *trial) {
	t.create("i")
	req := fetchAsksRequest()
	req.Wait = short
	began := time.Now()
	res, err := t.FetchAsks(t.ctx, req)
	t.ok(err)
	t.checkf(len(res.Asks) == 0 && time.Since(began) >= short, "%d questions after %v, Wait is %v", len(res.Asks), time.Since(began), short)
}

func asksWake(t *trial) {
	i := t.create("i")
	fetched := parked(t, func() provider.OpenAsk { return fetchAsk(t) })
	parkedAsk(t, i.Key)
	open := fetched()
	t.checkf(open.Instance.Key == i.Key, "woken with %+v", open)
}

func asksMax(t *trial) {
	i := t.create("i")
	for range 3 {
		parkedAsk(t, i.Key)
	}
	req := fetchAsksRequest()
	req.Max = 2
	for _, want := range []int{2, 1, 0} {
		res, err := t.FetchAsks(t.ctx, req)
		t.ok(err)
		t.checkf(len(res.Asks) == want, "took %d questions, want %d", len(res.Asks), want)
	}
}

func askNeedsWait(t *trial) {
	i := t.create("i")
	for _, d := range []time.Duration{0, -1} {
		_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: unique(), Wait: d})
		t.want(err, provider.ErrInvalid)
	}
}

// steerBare: without an event of the caller there is none, and what it names is not renamed.
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
		t.checkf(got.EngineLevel == level, "the level is %d, want %d", got.EngineLevel, level)
	}
}

// taskExpiredToo: to ask for what is past its time does not hide what is not.
func taskExpiredToo(t *trial) {
	late, elsewhere := newTask(1), newTask(2)
	late.Deadline, elsewhere.Deadline = short, short
	elsewhere.Queue, elsewhere.Name = "elsewhere", "other"
	t.beginTasks(late, elsewhere, newTask(3))
	t.pass(2 * short)
	list := t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Expired = true })
	t.mustf(len(list) == 3, "fetched %d tasks, want the one in time and two past it", len(list))
	for _, task := range list {
		t.checkf(task.PastDeadline == (task.EventID != 3), "task %d: past its deadline %v", task.EventID, task.PastDeadline)
	}
}

// taskEnds: however an execution ends, its tasks are not fetched any more.
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
		t.checkf(len(t.fetchTasks()) == 0, "a task was fetched though its execution was %s", name)
	}
}
