package validations

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// awaitedCases meets each call that waits with each event that ends the wait, while the call waits and as it begins to.
func awaitedCases() []testCase {
	const blocks = "The call blocks up to Wait while nothing is fetchable and returns as soon as " +
		"something is. When Wait has passed, it returns an empty result, not an error."
	const told = "With WaitEnded it blocks until the instance has ended, until the instance is Blocked and " +
		"WaitBlocked is set, or until Wait has passed."
	const tasks = "The call blocks up to Wait while nothing is fetchable, as FetchTurns does."
	return []testCase{
		{name: "awaited-turns", run: awaitedTurns, broad: true, rule: blocks},
		{name: "awaited-turns-at-once", run: racedTurnWaits, broad: true, rule: blocks},
		{name: "awaited-tasks", run: awaitedTasks, broad: true, rule: tasks},
		{name: "awaited-tasks-at-once", run: racedTaskWaits, broad: true, rule: tasks},
		{name: "awaited-ends", run: awaitedEnds, broad: true, rule: told},
		{name: "awaited-end-of-the-blocked", run: awaitedBlocked, broad: true, rule: told},
		{
			name: "awaited-end-of-the-replaced", run: awaitedReplaced, broad: true,
			rule: "With an ID it waits for the instance that it finds first, not for a successor under the ID.",
		},
		{name: "awaited-ends-at-once", run: racedEndWaits, broad: true, rule: told},
		{name: "awaited-questions-at-once", run: racedAskWaits, broad: true, rule: "The call blocks up to Wait."},
		{
			name: "awaited-answers-at-once", run: racedAnswerWaits, broad: true,
			rule: "Ask stores a question outside the inbox. It blocks until the question is answered, Wait has passed " +
				"([ErrNoAnswer]) or the context is done.",
		},
		{
			name: "close-waits", run: closeWaits, broad: true,
			rule: "Close ends all blocked calls with [ErrClosed], waits for calls in progress and frees what the provider holds.",
		},
	}
}

// turnEvents prepare the instance id, which no fetch may take, and return the event that makes it fetchable.
func turnEvents(t *trial) map[string]func(id string) func() {
	waiting := func(id string) provider.Instance {
		i := t.begin(id)
		t.send(i.Key, text("m"))
		return i
	}
	taken := func(id string, changes ...func(*provider.FetchTurnsRequest)) turn {
		waiting(id)
		return t.fetchOne(append(changes, named(id))...)
	}
	from := func(id string, change func(r *provider.CommitTurnRequest, to provider.Instance)) func() {
		to, by := t.begin(id), t.begin("by-"+id)
		return func() {
			req := next(by)
			change(&req, to)
			t.commit(req)
		}
	}
	return map[string]func(id string) func(){
		"message": func(id string) func() { i := t.begin(id); return func() { t.send(i.Key, text("m")) } },
		"message of a commit": func(id string) func() {
			return from(id, func(r *provider.CommitTurnRequest, to provider.Instance) {
				r.Sends = []provider.OutMessage{{Key: to.Key, Message: text("m")}}
			})
		},
		"own message": func(id string) func() { i := t.begin(id); return func() { t.commit(rich(i)) } },
		"refused message": func(id string) func() {
			i := t.begin(id)
			return func() {
				req, m := next(i), text("refused")
				req.Sends = []provider.OutMessage{{ID: "nobody", Message: text("m"), Refused: &m}}
				t.commit(req)
			}
		},
		"timer": func(id string) func() {
			i := t.begin(id)
			return func() {
				req := next(i)
				req.Timers = []provider.Timer{{EventID: 1, Due: 1}}
				t.commit(req)
			}
		},
		"delayed message": func(id string) func() {
			i, m := t.begin(id), text("m")
			m.Delay = short
			return func() { t.send(i.Key, m) }
		},
		"continuation": func(id string) func() {
			i, m := t.begin(id), text("next")
			return func() {
				req := next(i)
				req.Next = &provider.NextExecution{CodeVersion: codeVersion, Message: &m}
				t.commit(req)
			}
		},
		"result": func(id string) func() {
			task, token := handedOff()
			i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
			held := leasedTask{provider.LeasedTask{TaskRef: ref(i, 1), Attempt: 1}, token}
			return func() { t.ok(t.report(held, provider.TaskComplete).Err) }
		},
		"resume": func(id string) func() {
			i := waiting(id)
			t.steer(i.Key, provider.SteerSuspend)
			return func() { t.steer(i.Key, provider.SteerResume) }
		},
		"unblock": func(id string) func() {
			u := taken(id)
			t.block(u, true)
			return func() { t.steer(u.Instance.Key, provider.SteerUnblock) }
		},
		"retry of a failed turn": func(id string) func() { u := taken(id); return func() { t.block(u, false) } },
		"reset":                  func(id string) func() { i := t.begin(id); return func() { t.steer(i.Key, provider.SteerReset) } },
		"release":                func(id string) func() { u := taken(id); return func() { t.ok(t.release(u)) } },
		"release of a token": func(id string) func() {
			u := taken(id)
			return func() {
				_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: u.token}}})
				t.ok(err)
			}
		},
		"delayed release": func(id string) func() {
			u := taken(id)
			return func() { t.ok(t.release(u, func(r *provider.TurnRelease) { r.Delay = short })) }
		},
		"expiry of a lease": func(id string) func() { taken(id, briefly); return func() {} },
		"end of stickiness": func(id string) func() {
			i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", long })
			t.send(i.Key, text("m"))
			item := provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: i.Key, Owner: "node-b"}
			return func() {
				_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
				t.ok(err)
			}
		},
		"expiry of stickiness": func(id string) func() {
			i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", short })
			t.send(i.Key, text("m"))
			return func() {}
		},
		"notice of a child": func(id string) func() {
			i := t.begin(id)
			child := t.create("child-"+id, under(i), func(r *provider.CreateRequest) { r.Name = "child" })
			return func() { t.steer(child.Key, provider.SteerTerminate, notices) }
		},
		"notice of a parent": func(id string) func() {
			parent := t.begin("parent-" + id)
			t.create(id, under(parent), func(r *provider.CreateRequest) { r.Name = "setup-" + id })
			t.commit(commitOf(t.fetchOne(named(id))))
			return func() { t.steer(parent.Key, provider.SteerTerminate, notices) }
		},
		"redriven message": func(id string) func() {
			i := t.begin(id)
			t.send(i.Key, text("m"))
			t.steer(i.Key, provider.SteerTerminate)
			t.steer(i.Key, provider.SteerReset)
			t.commit(commitOf(t.fetchOne(named(id))))
			letter := t.lettersOf(i.Key)[0].ID
			return func() { actOnLetters(t, provider.DeadLettersRedrive, letter) }
		},
	}
}

// lettersOf lists the dead letters of one instance; there must be one.
func (t *trial) lettersOf(key provider.UUID) []provider.DeadLetter {
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Key: key})
	t.ok(err)
	t.mustf(len(res.Letters) > 0, "the instance has no dead letters, want some")
	return res.Letters
}

func awaitedTurns(t *trial) {
	n := 0
	for name, prepare := range turnEvents(t) {
		n++
		id := fmt.Sprint("i", n)
		act := prepare(id)
		fetched := parkedFetch(t, named(id))
		act()
		list := fetched()
		t.checkf(len(list) == 1, "a fetch that waits for the event %q got %d turns, want 1", name, len(list))
	}
}

// racedTurnWaits begins to wait as the event comes. A fetch that looks before it listens misses it.
func racedTurnWaits(t *trial) {
	i := t.begin("i")
	for round := range 2 * rounds {
		var got []turn
		began := time.Now()
		t.parallel(2, func(n int) {
			if t.waits(n, round) {
				got = t.fetch(wait, named("i"))
				return
			}
			t.stagger(round)
			t.send(i.Key, text("m"))
		})
		t.mustf(len(got) == 1 && time.Since(began) < patience, "round %d: got %d turns after %v, want 1 at once", round, len(got), time.Since(began))
		t.commit(commitOf(got[0]))
	}
}

// waits reports whether caller n of two waits in a round. In turn the second one does.
func (t *trial) waits(n, round int) bool {
	if t.inTurn {
		return n == 1
	}
	return n == round%2
}

// stagger lets a little time pass, more in some rounds than in others.
func (t *trial) stagger(round int) {
	if round%3 == 0 || t.inTurn {
		return
	}
	for range (round % 7) * 200 { // some microseconds
		_ = unique()
	}
}

// taskEvents are turnEvents for tasks.
func taskEvents(t *trial) map[string]func(id string) func() {
	begin := func(id string, task provider.NewTask) provider.Instance {
		task.Queue = id
		return t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
	}
	taken := func(id string, changes ...func(*provider.FetchTasksRequest)) leasedTask {
		begin(id, newTask(1))
		return t.fetchTask(append(changes, fromQueue(id))...)
	}
	report := func(outcome provider.TaskOutcome, change func(*provider.TaskReport)) func(id string) func() {
		return func(id string) func() {
			task := taken(id)
			return func() { t.ok(t.report(task, outcome, change).Err) }
		}
	}
	nothing := func(*provider.TaskReport) {}
	later := func(r *provider.TaskReport) { r.Delay = short }
	return map[string]func(id string) func(){
		"commit": func(id string) func() {
			i := t.begin(id)
			return func() {
				req, task := next(i), newTask(1)
				task.Queue = id
				req.Tasks = []provider.NewTask{task}
				t.commit(req)
			}
		},
		"NotBefore": func(id string) func() {
			task := newTask(1)
			task.NotBefore = 2 * short
			begin(id, task)
			return func() {}
		},
		"resume": func(id string) func() {
			i := begin(id, newTask(1))
			t.steer(i.Key, provider.SteerSuspend)
			return func() { t.steer(i.Key, provider.SteerResume) }
		},
		"retry":           report(provider.TaskRetry, nothing),
		"delayed retry":   report(provider.TaskRetry, later),
		"release":         report(provider.TaskRelease, nothing),
		"delayed release": report(provider.TaskRelease, later),
		"discard":         report(provider.TaskDiscard, nothing),
		"release of a token": func(id string) func() {
			begin(id, newTask(1))
			token := unique()
			t.fetchTask(fromQueue(id), func(r *provider.FetchTasksRequest) { r.Token = token })
			return func() {
				_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{Token: token, Outcome: provider.TaskReleaseAll}}})
				t.ok(err)
			}
		},
		"expiry of a lease": func(id string) func() { taken(id, brieflyTask); return func() {} },
		"expiry of a renewal": func(id string) func() {
			task := taken(id)
			return func() {
				_, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{renewal(task)}, Lease: short})
				t.ok(err)
			}
		},
		"expiry of a hand-off": func(id string) func() {
			task, _ := handedOff()
			task.Lease.Duration = 2 * short
			begin(id, task)
			return func() {}
		},
		"retry of a parked task": func(id string) func() {
			task := taken(id)
			t.ok(t.report(task, provider.TaskPark).Err)
			return func() { t.ok(t.report(task, provider.TaskRetry).Err) }
		},
		"redriven task": func(id string) func() {
			task := taken(id)
			t.ok(t.report(task, provider.TaskPoison).Err)
			letter := t.lettersOf(task.Key)[0].ID
			return func() { actOnLetters(t, provider.DeadLettersRedrive, letter) }
		},
		"Deadline": func(id string) func() {
			task := newTask(1)
			task.NotBefore, task.Deadline = long, 2*short
			begin(id, task)
			return func() {}
		},
		"limit of a parked task": func(id string) func() {
			task := taken(id)
			return func() { t.ok(t.report(task, provider.TaskPark, func(r *provider.TaskReport) { r.Limit = short }).Err) }
		},
		"end of a session": func(id string) func() {
			tasks := newTask(1)
			tasks.Session = id
			begin(id, tasks)
			task := t.fetchTask(fromQueue(id), holding("node-b", 100))
			return func() {
				t.ok(t.report(task, provider.TaskRelease).Err)
				_, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Owner: "node-b", SessionLease: short, Lease: long})
				t.ok(err)
			}
		},
	}
}

// fromQueue fetches from one queue, also tasks past their time, and may claim sessions.
func fromQueue(name string) func(*provider.FetchTasksRequest) {
	return func(r *provider.FetchTasksRequest) {
		r.Queues[0].Queue, r.Expired, r.Sessions = name, true, claim(100)
	}
}

func awaitedTasks(t *trial) {
	n := 0
	for name, prepare := range taskEvents(t) {
		n++
		id := fmt.Sprint("i", n)
		act := prepare(id)
		fetched := parked(t, func() []leasedTask {
			return t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience }, fromQueue(id))
		})
		act()
		list := fetched()
		t.checkf(len(list) == 1, "a fetch that waits for the event %q got %d tasks, want 1", name, len(list))
	}
}

func racedTaskWaits(t *trial) {
	i := t.begin("i")
	for round := range 2 * rounds {
		var got []leasedTask
		req := next(i)
		req.Tasks = []provider.NewTask{newTask(int64(round + 1))}
		began := time.Now()
		t.parallel(2, func(n int) {
			if t.waits(n, round) {
				got = t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
				return
			}
			t.stagger(round)
			t.commit(req)
		})
		t.mustf(len(got) == 1 && time.Since(began) < patience, "round %d: got %d tasks after %v, want 1 at once", round, len(got), time.Since(began))
		i.Version = req.Commit
	}
}

// endEvents end the wait of a Get.
func endEvents(t *trial) map[string]func(i provider.Instance) {
	return map[string]func(i provider.Instance){
		"close":       func(i provider.Instance) { t.commit(closing(i)) },
		"termination": func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		"block": func(i provider.Instance) {
			t.send(i.Key, text("m"))
			t.block(t.fetchOne(named(i.ID)), true)
		},
	}
}

func awaitedEnds(t *trial) {
	n := 0
	for name, end := range endEvents(t) {
		n++
		i := t.begin(fmt.Sprint("i", n))
		told := parkedGet(t, i.Key, true)
		end(i)
		got := told()
		t.checkf(got.Status.Ended() || got.Blocked != nil, "a Get that waits for the event %q returned %+v, want it ended or blocked", name, got)
	}
}

// awaitedBlocked waits for the end only. An instance that is blocked does not end the wait.
func awaitedBlocked(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	got := parkedGet(t, i.Key, false)
	t.block(u, true)
	t.pass(short)
	t.steer(i.Key, provider.SteerTerminate)
	is(t, "the status after the wait", got().Status, provider.StatusTerminated)
}

// awaitedReplaced replaces the instance while callers wait for its end by ID.
func awaitedReplaced(t *trial) {
	i := t.begin("i")
	for range rounds {
		got := parked(t, func() provider.Instance {
			res, err := t.Get(t.ctx, provider.GetRequest{ID: "i", WaitEnded: true, Wait: patience})
			t.ok(err)
			return res.Instance
		})
		t.steer(i.Key, provider.SteerTerminate)
		successor := t.create("i", replace)
		ended := got()
		t.mustf(ended.Key == i.Key && ended.Status == provider.StatusTerminated, "the wait returned %v, want the instance %s, Terminated", ended, i.Key)
		i = successor
	}
}

func racedEndWaits(t *trial) {
	for round := range rounds {
		i := t.begin(fmt.Sprint("i", round))
		var got provider.Instance
		began := time.Now()
		t.parallel(2, func(n int) {
			if t.waits(n, round) {
				res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: patience})
				t.ok(err)
				got = res.Instance
				return
			}
			t.stagger(round)
			t.commit(closing(i))
		})
		t.mustf(got.Status == provider.StatusCompleted && time.Since(began) < patience,
			"round %d: status %s after %v, want Completed at once", round, got.Status, time.Since(began))
	}
}

func racedAskWaits(t *trial) {
	if t.inTurn {
		return
	}
	i := t.create("i")
	for round := range rounds {
		var open provider.OpenAsk
		began := time.Now()
		var answered func() answer
		t.parallel(2, func(n int) {
			if (n+round)%2 == 0 {
				open = fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Wait = patience })
				return
			}
			t.stagger(round)
			answered = parkedAsk(t, i.Key)
		})
		t.mustf(time.Since(began) < patience, "round %d: the question came after %v, want it at once", round, time.Since(began))
		t.ok(answerAsk(t, open.AskID))
		t.ok(answered().err)
	}
}

func racedAnswerWaits(t *trial) {
	if t.inTurn {
		return
	}
	i := t.create("i")
	for round := range rounds {
		began := time.Now()
		var err error
		t.parallel(2, func(n int) {
			if (n+round)%2 == 0 {
				_, err = t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: unique(), Wait: patience})
				return
			}
			t.ok(answerAsk(t, fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Wait = patience }).AskID))
		})
		t.mustf(err == nil && time.Since(began) < patience, "round %d: Ask returned %v after %v, want the answer at once", round, err, time.Since(began))
	}
}

// closeWaits closes the provider under its callers. No call succeeds long after Close has returned, and all return.
func closeWaits(t *trial) {
	const callers = 4
	i := t.begin("i")
	last := make([]time.Time, callers)
	var closed time.Time
	t.parallel(callers+1, func(n int) {
		if n == callers {
			t.pass(short)
			t.ok(t.Close())
			closed = time.Now()
			return
		}
		for !t.inTurn {
			_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
			if err != nil {
				t.want(err, provider.ErrClosed)
				return
			}
			last[n] = time.Now()
			_, _ = t.store.FetchAsks(t.ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: blink})
		}
	})
	for _, at := range last {
		late := at.Sub(closed)
		t.checkf(late < patience/10, "a call succeeded %v after Close had returned, want it to wait for calls in progress", late)
	}
	_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
	t.want(err, provider.ErrClosed)
}
