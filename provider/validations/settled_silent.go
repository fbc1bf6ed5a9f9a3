package validations

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// settledSilent checks what no sentence said, or what only the reference in memory did, when a third author wrote a provider.
func settledSilent() []testCase {
	const differ = "In a request the two differ wherever a comment says what nil does."
	return slices.Concat([]testCase{
		{name: "nil-and-empty", run: settledNil, rule: differ},
		{
			name: "steer-of-the-missing", run: settledMissing,
			rule: "For one that is unknown or being deleted, every action returns [ErrNotFound].",
		},
		{name: "commit-ends-a-delay", run: settledCommitDelay, rule: "It ends the delay of a release."},
		{name: "unblock-ends-a-delay", run: settledUnblockDelay, rule: "It ends the delay of a release, too."},
		{name: "release-of-a-token-with-delay", run: settledTokenDelay, rule: "Their instances are fetchable after Delay. A token that holds no lease is no error."},
		{
			name: "children-of-an-earlier-execution", run: settledOlderChildren,
			rule: "The execution that started the child does not matter.",
		},
		{name: "renewed-while-parked", run: settledRenewedParked, rule: "TaskRenewalResult.LeaseUntil: 0 for a parked task, which has no lease"},
		{name: "prune-counts-trees", run: settledPruneTrees, rule: "What goes with a parent does not count towards Max."},
		{name: "stats-of-what-is-held", run: settledHeldStats, rule: "StatsResult.Turns: fetchable now by some owner, by name and version"},
		{
			name: "stats-of-held-tasks", run: settledHeldTasks,
			rule: "StatsResult.Tasks: fetchable now but for MaxLeased and sessions, by queue and name",
		},
		{name: "stats-oldest-turn", run: settledOldestTurn, rule: "WaitingTurns.Oldest: the earliest ReadyAt of them"},
		{name: "stats-oldest-task", run: settledOldestTask, rule: "WaitingTasks.Oldest: since when the first of them could be fetched"},
		{name: "timers-of-one-commit", run: settledTimersInTurn, rule: "So does a nearer timer after it."},
		{
			name: "redriven-message-keeps", run: settledRedrivenFields,
			rule: "It keeps its kind, execution and event, and is a timer again if its execution is the current one.",
		},
		{name: "numbers-of-letters", run: settledLetterNumbers, rule: "DeadLetter.ID: assigned by the storage: positive and never used again"},
		{
			name: "numbers-of-messages", run: settledMessageNumbers,
			rule: "Message.ID: assigned by the storage: positive, unique in the inbox, rising per sender, never used again for the instance",
		},
	}, needs(lacking[provider.Opener], []testCase{
		{
			name: "timer-before-a-carried-message", run: settledCarriedTimer,
			rule: "Of a timer and a message that are visible at the same moment, the timer comes first.",
		},
		{name: "link-of-an-earlier-execution", run: settledOlderLink, rule: "The execution in that link does not matter."},
	}))
}

// settledNil gives nil and nothing for each field that keeps, clears or deletes.
func settledNil(t *trial) {
	i := t.beginTasks(newTask(1))
	req := next(i)
	req.CustomStatus, req.Values = []byte("custom"), []provider.KeyValue{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("1")}}
	t.commit(req)
	req = next(t.get(i.Key))
	req.Values = []provider.KeyValue{{Key: "a"}, {Key: "b", Value: []byte{}}}
	t.commit(req)
	is(t, "the custom status after nil", string(t.get(i.Key).CustomStatus), "custom")
	checkValues(t, i.Key, "b=")
	req = next(t.get(i.Key))
	req.CustomStatus = []byte{}
	t.commit(req)
	is(t, "the custom status after an empty one", string(t.get(i.Key).CustomStatus), "")
	task := t.fetchTask()
	for _, details := range [][]byte{[]byte("details"), nil, {}} {
		t.ok(t.renew(provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token, Details: details}).Err)
		want := "details"
		if details != nil {
			want = string(details)
		}
		is(t, "the details after a renewal", string(t.infoOf(i.Key).Details), want)
	}
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitValue: true, Value: "b", Wait: patience}) // every value ends it
	t.ok(err)
	t.checkf(res.Value != nil && len(res.Value.Value) == 0, "the empty key-value is %+v, want it stored and empty", res.Value)
	length := t.get(i.Key).HistoryLength
	t.steer(i.Key, provider.SteerSuspend)
	is(t, "the history without an Event", t.get(i.Key).HistoryLength, length)
	t.steer(i.Key, provider.SteerResume, func(r *provider.SteerRequest) { r.Event = []byte{} })
	is(t, "the history with an empty Event", t.get(i.Key).HistoryLength, length+1)
}

func settledMissing(t *trial) {
	deleted := t.end(t.begin("i"))
	t.remove(deleted.Key, false)
	for _, key := range []provider.UUID{newKey("nobody"), deleted.Key, {}} {
		for _, req := range steerings(provider.Instance{Key: key}) {
			if key.IsZero() {
				req.ID = "i"
			}
			_, err := t.Steer(t.ctx, req)
			t.checkf(errors.Is(err, provider.ErrNotFound), "action %d on a missing instance returned %v, want ErrNotFound", req.Action, err)
		}
	}
	root := beginTree(t)
	t.parallel(2, func(n int) {
		if n == 0 {
			t.remove(root.Key, true)
			return
		}
		for {
			_, err := t.Send(t.ctx, provider.SendRequest{Key: root.Key, Message: text("m")})
			if err != nil {
				break
			}
			t.pass(blink)
		}
		for _, req := range steerings(root) {
			_, err := t.Steer(t.ctx, req)
			t.checkf(errors.Is(err, provider.ErrNotFound), "action %d on an instance that is being deleted returned %v, want ErrNotFound", req.Action, err)
		}
	})
}

// beginDelayed makes an instance with a message that a release holds back.
func beginDelayed(t *trial, id string) provider.Instance {
	i := t.begin(id)
	t.send(i.Key, text("m"))
	t.ok(t.release(t.fetchOne(named(id)), func(r *provider.TurnRelease) { r.Delay = long }))
	t.noTurn("the release has a delay", named(id))
	return i
}

func settledCommitDelay(t *trial) {
	i := beginDelayed(t, "i")
	t.commit(next(t.get(i.Key), "event"))
	is(t, "the messages after a commit", t.fetchOne(named("i")).payloads(), "m")
}

func settledUnblockDelay(t *trial) {
	i := beginDelayed(t, "i")
	t.steer(i.Key, provider.SteerUnblock)
	is(t, "the messages after Unblock", t.fetchOne(named("i")).payloads(), "m")
}

func settledTokenDelay(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	j := t.create("j")
	v := t.fetchOne()
	free := func(token provider.UUID) provider.TurnRelease {
		return provider.TurnRelease{Kind: provider.ReleaseToken, Token: token, Delay: long}
	}
	nobody, late := free(unique()), free(u.token)
	at := free(v.token)
	at.Delay = 0
	res, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{nobody, late, at, late}})
	t.ok(err)
	t.mustf(len(res.Errs) == 4, "%d errors for four items, want 4", len(res.Errs))
	for n, err := range res.Errs {
		t.checkf(err == nil, "item %d returned %v, want nil: a token that holds nothing is no error", n, err)
	}
	got := t.fetch()
	t.mustf(len(got) == 1, "got %d turns, want the one that was released without a delay", len(got))
	is(t, "the instance that was released without a delay", got[0].Instance.Key, j.Key)
	is(t, "deliveries of the delayed instance", t.get(i.Key).Deliveries, 0)
	t.steer(i.Key, provider.SteerUnblock)
	is(t, "the instance after the end of its delay", t.fetchOne().Instance.Key, i.Key)
}

func settledOlderChildren(t *trial) {
	i := beginFamily(t, func(*provider.Start) {}, func(*provider.Start) {})
	i = t.continueAsNew(i)
	t.steer(t.byID("b").Key, provider.SteerSuspend)
	t.steer(i.Key, provider.SteerTerminate, notices)
	for _, id := range []string{"a", "b"} {
		is(t, "messages of child "+id+" of an earlier execution", t.byID(id).InboxMessages, 2)
	}
}

func settledRenewedParked(t *trial) {
	t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.report(task, provider.TaskPark).Err)
	item := renewal(task)
	item.Details = []byte("half")
	got := t.renew(item)
	t.checkf(got.Err == nil && got.LeaseUntil == 0, "the renewal of a parked task returned %+v, want LeaseUntil 0 and no error", got)
	is(t, "the details of the parked task", string(t.infoOf(task.Key).Details), "half")
}

func settledPruneTrees(t *trial) {
	i := beginFamily(t, func(*provider.Start) {}, func(*provider.Start) {})
	for _, id := range []string{"a", "b", "parent"} {
		t.steer(t.byID(id).Key, provider.SteerTerminate)
	}
	t.pass(short) // the next one ends later even by a clock of milliseconds
	last := t.end(t.begin("last"))
	is(t, "instances pruned with Max 1", prune(t, provider.PruneRequest{Max: 1}), 3)
	t.gone(i.Key)
	t.get(last.Key)
	is(t, "instances pruned with Max 1 afterwards", prune(t, provider.PruneRequest{Max: 1}), 1)
}

// settledHeldStats makes one instance for each reason for which it cannot be fetched, and two that can be.
func settledHeldStats(t *trial) {
	held := func(hold func(u turn)) {
		t.create(fresh())
		hold(t.fetchOne())
	}
	later := func(delay *provider.TurnRelease) { delay.Delay = long }
	held(func(turn) {}) // leased
	held(func(u turn) { t.block(u, true) })
	held(func(u turn) {
		t.ok(t.release(u, later, func(r *provider.TurnRelease) {
			r.Kind, r.Failure = provider.ReleaseFailed, &provider.TurnFailure{Reason: "panic"}
		}))
	})
	held(func(u turn) { t.ok(t.release(u, later)) })
	t.steer(t.create("suspended").Key, provider.SteerSuspend)
	t.create("due later", func(r *provider.CreateRequest) { r.Message.Delay = long })
	sticky := t.create("sticky")
	req := commitOf(t.fetchOne(), "started")
	req.Owner, req.Sticky = "node-b", long
	t.commit(req)
	t.send(sticky.Key, text("m"))
	t.create("free")
	checkStats(t, func(s provider.StatsResult) string {
		var n int64
		for _, w := range s.Turns {
			n += w.Count
		}
		return fmt.Sprintf("%d turns, %d leased, %d blocked", n, s.TurnLeases, s.Blocked)
	}, "2 turns, 1 leased, 2 blocked")
}

// settledHeldTasks makes one task for each reason for which it cannot be fetched, and two that can be.
func settledHeldTasks(t *trial) {
	t.beginTasks(tasksOf(2)...)
	leased := t.fetchTask(one)
	t.ok(t.report(t.fetchTask(one), provider.TaskPark).Err)
	later, late, ofSession, free := newTask(3), newTask(4), newTask(5), newTask(6)
	later.NotBefore, late.Deadline, ofSession.Session = long, short, "s"
	t.begin("j", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{later, late, ofSession, free} })
	k := t.begin("k", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(7)} })
	t.steer(k.Key, provider.SteerSuspend)
	t.pass(2 * short) // until the deadline
	checkStats(t, func(s provider.StatsResult) string {
		var n int64
		for _, w := range s.Tasks {
			n += w.Count
		}
		return fmt.Sprintf("%d tasks, %d leased", n, s.TaskLeases)
	}, "2 tasks, 1 leased")
	t.ok(t.report(leased, provider.TaskComplete).Err)
}

func settledOldestTurn(t *trial) {
	first := t.create("z")
	t.pass(short)
	t.create("a")
	t.pass(short)
	t.create("other", func(r *provider.CreateRequest) { r.Name = "other" })
	checkStats(t, func(s provider.StatsResult) string {
		for _, w := range s.Turns {
			if w.Name == orchestration {
				return fmt.Sprint(w.Count, " since ", w.Oldest)
			}
		}
		return "none"
	}, fmt.Sprint("2 since ", first.ReadyAt))
}

// settledOldestTask makes tasks whose ranks are not the moments at which they could be fetched.
func settledOldestTask(t *trial) {
	low := newTask(1)
	low.Priority = provider.PriorityLowest
	i := t.beginTasks(low)
	first := t.infoOf(i.Key).NotBefore
	t.pass(short)
	lanes := tasksOf(4)
	for n := range lanes {
		lanes[n].FairnessKey = "fair"
	}
	lanes[3].Priority, lanes[3].FairnessKey = provider.PriorityHighest, ""
	j := t.begin("j", func(r *provider.CommitTurnRequest) { r.Tasks = lanes })
	t.oldestTask(5, first)
	t.steer(i.Key, provider.SteerTerminate)
	res, err := t.Get(t.ctx, provider.GetRequest{Key: j.Key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == 4, "%d tasks, want 4", len(res.Tasks))
	t.oldestTask(4, res.Tasks[0].NotBefore)
}

// oldestTask checks the figures of the tasks of a queue.
func (t *trial) oldestTask(count int64, since provider.Time) {
	checkStats(t, func(s provider.StatsResult) string {
		if len(s.Tasks) != 1 {
			return "none"
		}
		return fmt.Sprint(s.Tasks[0].Count, " since ", s.Tasks[0].Oldest)
	}, fmt.Sprint(count, " since ", since))
}

// settledTimersInTurn sets a near and a far timer in one commit without the lease.
func settledTimersInTurn(t *trial) {
	for _, far := range []bool{true, false} {
		id := fmt.Sprint("far first ", far)
		u, req := farTimer(t, id)
		req.Timers = append(req.Timers, provider.Timer{EventID: 6, Due: u.Instance.CreatedAt.Add(5 * long)})
		if !far {
			slices.Reverse(req.Timers)
		}
		t.commit(req)
		err := t.release(u)
		t.checkf((err == nil) != far, "%s: the release of the lease returned %v, want an error only if the nearer timer comes after the far one", id, err)
	}
}

func settledRedrivenFields(t *trial) {
	i := t.begin("i")
	m := provider.NewMessage{Kind: 9, Execution: 1, EventID: 8, Payload: []byte("answer")}
	t.send(i.Key, m)
	t.steer(i.Key, provider.SteerTerminate)
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	req := next(t.get(i.Key))
	req.Timers = []provider.Timer{{EventID: 4, Kind: 3, Due: 1, Payload: []byte("timer")}}
	t.commit(req)
	timer := t.fetchOne(named("i"))
	t.mustf(len(timer.Messages) == 1, "%d messages, want the timer", len(timer.Messages))
	t.steer(i.Key, provider.SteerDrop, func(r *provider.SteerRequest) { r.MessageID, r.Reason = timer.Messages[0].ID, "dropped" })
	t.ok(t.release(timer))
	list := t.letters()
	t.mustf(len(list) == 2, "%d dead letters, want 2", len(list))
	is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, list[0].ID, list[1].ID), 2)
	u := t.fetchOne(named("i"))
	t.mustf(u.payloads() == "answer timer", "got %q, want \"answer timer\"", u.payloads())
	got := u.Messages[0]
	t.checkf(got.Kind == 9 && got.Execution == 1 && got.EventID == 8 && !got.Timer, "redriven to %+v, want kind 9 for event 8 of execution 1", got)
	got = u.Messages[1]
	t.checkf(got.Kind == 3 && got.Execution == 2 && got.EventID == 4 && got.Timer, "redriven to %+v, want the timer of event 4 of execution 2", got)
}

func settledLetterNumbers(t *trial) {
	i := t.begin("i")
	var last int64
	for round := range 4 {
		t.send(i.Key, text("m"))
		t.send(i.Key, text("n"))
		t.steer(i.Key, provider.SteerTerminate)
		list := t.letters()
		t.mustf(len(list) == 2, "%d dead letters, want 2", len(list))
		for _, l := range list {
			t.checkf(l.ID > last, "round %d: letter %q has ID %d after %d, want one that was never used", round, l.Payload, l.ID, last)
			last = l.ID
		}
		t.steer(i.Key, provider.SteerReset)
		switch round { // each makes the list empty in its own way
		case 0:
			actOnLetters(t, provider.DeadLettersDiscard, list[0].ID, list[1].ID)
		case 1:
			actOnLetters(t, provider.DeadLettersRedrive, list[0].ID, list[1].ID)
			req := next(t.get(i.Key))
			for _, m := range t.fetchOne(named("i")).Messages {
				req.Consumed = append(req.Consumed, m.ID)
			}
			t.commit(req)
		default:
			t.remove(i.Key, true)
			i = t.begin("i")
		}
	}
}

func settledMessageNumbers(t *trial) {
	i := t.begin("i")
	var last int64
	rises := func(how string) provider.SendResult {
		res := t.send(i.Key, text("m"))
		t.checkf(res.MessageID > last, "after %s a message has ID %d, want more than %d: an ID is never used again", how, res.MessageID, last)
		last = res.MessageID
		return res
	}
	empty := func() provider.CommitTurnRequest { return commitOf(t.fetchOne(named("i")), "event") }
	rises("the start")
	t.commit(empty())
	rises("the last message was consumed")
	sent := rises("a message")
	t.steer(i.Key, provider.SteerDrop, func(r *provider.SteerRequest) { r.MessageID, r.Reason = sent.MessageID, "dropped" })
	rises("the last message was dropped")
	req := empty()
	req.Next = &provider.NextExecution{CodeVersion: codeVersion, Events: [][]byte{[]byte("again")}}
	t.commit(req)
	rises("the next execution has opened")
	req = empty()
	req.Timers = []provider.Timer{{EventID: 9, Due: 1 << 60}}
	t.commit(req)
	req = next(t.get(i.Key))
	req.CancelTimers = []int64{9}
	t.commit(req)
	rises("a timer was cancelled")
	t.steer(i.Key, provider.SteerTerminate)
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	rises("a reset")
}

func settledCarriedTimer(t *trial) {
	i := t.begin("i")
	p := prefix("started", "two", "three")
	p.Timers = []provider.Timer{{EventID: 2, Due: 9, Payload: []byte("timer")}, {EventID: 3, Due: 9, Payload: []byte("another")}}
	p.Messages = []provider.CarriedMessage{{Message: text("carried"), At: 9}}
	t.reset(resetOf(i, p))
	is(t, "the messages of one moment", t.fetchOne(named("i")).payloads(), "timer another carried")
}

func settledOlderLink(t *trial) {
	i, a, b := family(t)
	i = t.continueAsNew(i)
	req := resetOf(i, prefix("one"))
	req.Children = []provider.ChildLink{linkOf(a), linkOf(b)}
	t.reset(req)
	for _, child := range []provider.Instance{a, b} {
		is(t, "the execution in the link of "+child.ID, t.get(child.Key).Parent.Execution, 3)
	}
}
