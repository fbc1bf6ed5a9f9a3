package validations

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// moverCases checks an optional feature. The suite skips the cases of a provider without it.
func moverCases() []testCase {
	const (
		suspends = "A running or Suspended instance that is held is Suspended and gets a new Version."
		queues   = "Its leased tasks are queued as if the leases had expired, but their tokens hold them no longer."
		accepts  = "It still accepts messages, reports of parked tasks and SteerTask."
		steering = "Every Steer and Reset of it, and a Delete without Force, returns [ErrMoved]."
		closed   = "Send, Steer, Reset, ReportTasks, SteerTask, and Delete without Force return [ErrMoved]."
		counts   = "A held instance that is closed counts as one that is being deleted, except that Get, List and ReadHistory still return it."
		steps    = "Another step returns [ErrMoved] for a sealed instance and [ErrConflict] for a free one, and so does a Transfer other than that of the seal."
		freed    = "A held instance that is freed gets back the status that it had, and a new Version. It continues at once."
	)
	return needs(lacking[provider.Mover], needs(lacking[provider.Cleaner], []testCase{
		{name: "hold", run: holdSuspends, rule: suspends},
		{name: "hold-ends-the-turn", run: holdEndsTurn, rule: "Its turn lease and its stickiness end."},
		{name: "hold-ends-leases", run: holdEndsLeases, rule: queues},
		{name: "hold-keeps-parked", run: holdKeepsParked, rule: "Parked tasks keep their tokens."},
		{name: "hold-accepts", run: holdAccepts, rule: accepts},
		{name: "hold-refuses-steering", run: holdRefuses, rule: steering},
		{name: "hold-the-suspended", run: holdSuspended, rule: freed},
		{name: "hold-the-ended", run: holdEnded, rule: "An instance that has ended is not sealed: the call returns [ErrEnded]."},
		{name: "hold-again", run: holdAgain, rule: "With Again, SealHeld gives an instance that was sealed here the new Transfer and keeps its seal."},
		{name: "close-refuses", run: closedRefuses, rule: closed},
		{name: "close-takes-no-sends", run: closedSends, rule: counts},
		{name: "close-tells-nobody", run: closedTells, rule: "Its end is told to nobody."},
		{name: "steps", run: sealSteps, rule: steps},
		{name: "steps-repeated", run: sealRepeats, rule: "A repeat succeeds and changes nothing."},
		{name: "back", run: sealBack, rule: "An instance that was sealed here goes back only with Back."},
		{name: "free", run: sealFree, rule: freed},
		{name: "free-tasks", run: sealFreeTasks, rule: freed},
		{name: "reopen", run: sealReopens, rule: "A closed instance that is held again accepts messages again."},
		{name: "seals", run: sealsListed, rule: "Seals returns the seals of instances that are not free, in order of their keys, a page at a time."},
	}))
}

func holdSuspends(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	res := t.seal(i.Key, unique(), provider.SealHeld)
	t.checkf(res.Instance.Status == provider.StatusSuspended && res.Instance.Version != i.Version, "got %+v, want it Suspended under a new Version", res.Instance)
	is(t, "the status that it gets back", res.Seal.Status, provider.StatusRunning)
	t.refused(commitOf(u, "late"), provider.ErrConflict)
	t.noTurn("the instance is held", named("i"))
}

func holdEndsTurn(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	transfer := t.held(i.Key)
	res, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Kind: provider.ReleaseClean, Key: i.Key, Token: u.token,
	}}})
	t.ok(err)
	t.want(res.Errs[0], provider.ErrLeaseLost)
	t.seal(i.Key, transfer, provider.SealNone, back)
	again := t.fetchOne(named("i"))
	is(t, "the messages", again.payloads(), "m")
	is(t, "Deliveries", again.Instance.Deliveries, 1)
}

func holdEndsLeases(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.renew(provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token, Details: []byte("half")}).Err)
	transfer := t.held(i.Key)
	info := t.pending(i.Key)
	t.checkf(info.State == provider.TaskQueued && info.Attempt == 1 && info.Deliveries == 1 && string(info.Details) == "half",
		"got %+v, want attempt 1, queued after one delivery, with its details", info)
	t.want(t.report(task, provider.TaskComplete).Err, provider.ErrLeaseLost)
	t.want(t.renew(renewal(task)).Err, provider.ErrLeaseLost)
	t.noTask("the instance is held")
	t.seal(i.Key, transfer, provider.SealNone, back)
	again := t.fetchTask()
	t.checkf(again.Attempt == 1 && again.Deliveries == 2 && string(again.Details) == "half", "got %+v, want the second delivery of attempt 1", again)
}

// parkedTask returns a parked task of a new instance.
func parkedTask(t *trial) (provider.Instance, leasedTask) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.ok(t.report(task, provider.TaskPark).Err)
	return i, task
}

func holdKeepsParked(t *trial) {
	i, task := parkedTask(t)
	transfer := t.held(i.Key)
	t.ok(t.report(task, provider.TaskComplete).Err)
	t.seal(i.Key, transfer, provider.SealNone, back)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "result")
}

func holdAccepts(t *trial) {
	i := t.beginTasks(newTask(1))
	transfer := t.held(i.Key)
	t.send(i.Key, text("sent"))
	t.act(ref(i, 1), 1, provider.SteerTaskComplete)
	other := t.begin("other")
	req := next(other)
	req.Sends = []provider.OutMessage{{Key: i.Key, Message: text("from-another")}}
	t.commit(req)
	t.seal(i.Key, transfer, provider.SealNone, back)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "sent done from-another")
}

// steerings are requests of Steer, one of each action.
func steerings(i provider.Instance) (list []provider.SteerRequest) {
	for action := provider.SteerSuspend; action <= provider.SteerDrop; action++ {
		req := provider.SteerRequest{Key: i.Key, Action: action, Commit: unique()}
		switch action { //nolint:exhaustive // the others have no more fields
		case provider.SteerReset:
			req.Events = [][]byte{[]byte("started")}
		case provider.SteerMove:
			req.Expected, req.CodeVersion = i.Version, "v2"
		case provider.SteerDrop:
			req.MessageID, req.Reason = 1, "test"
		}
		list = append(list, req)
	}
	return list
}

// unsteered checks that nothing steers or removes a sealed instance.
func (t *trial) unsteered(key provider.UUID) {
	i := t.get(key)
	t.unchanged(key, func() {
		for _, req := range steerings(i) {
			_, err := t.Steer(t.ctx, req)
			t.want(err, provider.ErrMoved)
		}
		_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: key})
		t.want(err, provider.ErrMoved)
		if lacking[provider.Opener](t.store) == "" {
			_, err = t.store.Reset(t.ctx, resetOf(i, prefix("started")))
			t.want(err, provider.ErrMoved)
		}
	})
}

func holdRefuses(t *trial) {
	i := t.begin("i")
	t.held(i.Key)
	t.unsteered(i.Key)
}

func holdSuspended(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerSuspend)
	t.send(i.Key, text("m"))
	got := t.freed(i.Key, t.closed(i.Key))
	is(t, "the status", got.Status, provider.StatusSuspended)
	t.noTurn("the instance is Suspended", named("i"))
	t.steer(i.Key, provider.SteerResume)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "m")
}

func holdEnded(t *trial) {
	i := t.end(t.begin("i"))
	t.unchanged(i.Key, func() {
		_, err := t.sealing(i.Key, unique(), provider.SealHeld)
		t.want(err, provider.ErrEnded)
		_, err = t.sealing(newKey("other"), unique(), provider.SealHeld)
		t.want(err, provider.ErrNotFound)
	})
}

func holdAgain(t *trial) {
	i := t.begin("i")
	t.closed(i.Key)
	second := unique()
	_, err := t.sealing(i.Key, second, provider.SealHeld)
	t.want(err, provider.ErrMoved)
	res, err := t.sealing(i.Key, second, provider.SealHeld, func(r *provider.SealRequest) { r.Again = true })
	t.ok(err)
	t.checkf(res.Seal.State == provider.SealClosed && res.Seal.Transfer == second, "got %+v, want it closed under the second transfer", res.Seal)
	t.export(i.Key, second, 0)
}

func closedRefuses(t *trial) {
	i, task := parkedTask(t)
	t.closed(i.Key)
	t.unsteered(i.Key)
	t.unchanged(i.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
		t.want(err, provider.ErrMoved)
		t.want(err, provider.ErrNotFound)
		t.want(t.report(task, provider.TaskComplete).Err, provider.ErrMoved)
		if lacking[provider.TaskSteerer](t.store) == "" {
			_, err = t.actOn(task.TaskRef, 1, provider.SteerTaskComplete)
			t.want(err, provider.ErrMoved)
		}
		if lacking[provider.Asker](t.store) == "" {
			_, err = t.store.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: provider.NewKeyIn(provider.SlotOf(i.Key)), Wait: patience})
			t.want(err, provider.ErrNotFound)
		}
	})
	t.historyIs(i.Key, 1, "1:started")
	is(t, "the listed key", t.byID("i").Key, i.Key)
	t.noTask("the instance is closed", expired)
}

func closedSends(t *trial) {
	i, other := t.begin("i"), t.begin("other")
	t.closed(i.Key)
	before := t.get(i.Key)
	refused := text("refused")
	req := next(other)
	req.Sends = []provider.OutMessage{{Key: i.Key, Message: text("m"), Refused: &refused}}
	t.commit(req)
	is(t, "the messages of the sender", t.fetchOne(named("other")).payloads(), "refused")
	is(t, "the messages of the closed instance", t.get(i.Key).InboxMessages, before.InboxMessages)
	child := createRequest("child")
	child.Parent = provider.Parent{Key: i.Key, ID: "i", Execution: 1, EventID: 1}
	_, err := t.Create(t.ctx, child)
	t.want(err, provider.ErrNotFound)
	_, err = t.Create(t.ctx, createRequest("i"))
	t.want(err, provider.ErrExists)
}

func closedTells(t *trial) {
	to := t.begin("to")
	i := t.create("i", heardBy(to.Key, "ended"))
	t.closed(i.Key)
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key, Force: true})
	t.ok(err)
	t.gone(i.Key)
	t.heard(to, "")
}

func sealSteps(t *trial) {
	i := t.begin("i")
	transfer := unique()
	t.unchanged(i.Key, func() {
		for _, to := range []provider.SealState{provider.SealNone, provider.SealClosed} {
			_, err := t.sealing(i.Key, transfer, to)
			t.want(err, provider.ErrConflict)
		}
	})
	t.seal(i.Key, transfer, provider.SealHeld)
	for _, to := range []provider.SealState{provider.SealNone, provider.SealHeld, provider.SealClosed} {
		_, err := t.sealing(i.Key, unique(), to, back)
		t.want(err, provider.ErrMoved)
	}
	t.seal(i.Key, transfer, provider.SealClosed)
	_, err := t.sealing(i.Key, transfer, provider.SealNone, back)
	t.want(err, provider.ErrMoved)
}

func sealRepeats(t *trial) {
	i := t.begin("i")
	transfer := unique()
	for _, to := range []provider.SealState{provider.SealHeld, provider.SealClosed, provider.SealHeld, provider.SealNone} {
		t.seal(i.Key, transfer, to, back)
		t.unchanged(i.Key, func() { t.seal(i.Key, transfer, to, back) })
	}
	is(t, "the status", t.get(i.Key).Status, provider.StatusRunning)
}

func sealBack(t *trial) {
	i := t.begin("i")
	transfer := t.held(i.Key)
	_, err := t.sealing(i.Key, transfer, provider.SealNone)
	t.want(err, provider.ErrMoved)
	t.seal(i.Key, transfer, provider.SealClosed)
	_, err = t.sealing(i.Key, transfer, provider.SealHeld)
	t.want(err, provider.ErrMoved)
}

func sealFree(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	before := t.get(i.Key)
	got := t.freed(i.Key, t.closed(i.Key))
	t.checkf(got.Status == provider.StatusRunning && !got.Deleting && got.Version != before.Version && got.ReadyAt == before.ReadyAt,
		"got %+v, want it as before under a new Version", got)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "m")
	t.steer(i.Key, provider.SteerSuspend)
}

func sealFreeTasks(t *trial) {
	i := t.beginTasks(newTask(1))
	transfer := t.closed(i.Key)
	t.noTask("the instance is closed")
	t.freed(i.Key, transfer)
	t.ok(t.report(t.fetchTask(), provider.TaskComplete).Err)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "result")
}

func sealReopens(t *trial) {
	i := t.begin("i")
	transfer := t.closed(i.Key)
	t.seal(i.Key, transfer, provider.SealHeld, back)
	t.send(i.Key, text("m"))
	t.noTurn("the instance is held", named("i"))
	t.unsteered(i.Key)
}

func sealsListed(t *trial) {
	want := make([]string, 0, 3)
	for n := range 3 {
		i := t.begin(fmt.Sprintf("i%d", n))
		t.held(i.Key)
		want = append(want, i.Key.String())
	}
	t.begin("free")
	was := t.begin("was-sealed")
	t.freed(was.Key, t.closed(was.Key))
	for size := 1; size <= 4; size++ { // the last page may be full, and then has no Cursor either
		var got []string
		req := provider.SealsRequest{Max: size}
		for more := true; more; more = req.Cursor != "" {
			res, err := t.mover("Seals").Seals(t.ctx, req)
			t.mustf(err == nil && len(res.Seals) > 0, "a page of %d seals after %d has none, and error %v, want seals on each page", size, len(got), err)
			for _, s := range res.Seals {
				got = append(got, s.Key.String())
				t.checkf(s.State == provider.SealHeld && !s.Arrived && s.ID != "", "got %+v, want the seal of a held instance with its ID", s)
			}
			req.Cursor = res.Cursor
		}
		is(t, "the seals", fmt.Sprint(got), fmt.Sprint(slices.Sorted(slices.Values(want))))
	}
	one, err := t.mover("Seals").Seals(t.ctx, provider.SealsRequest{Key: was.Key})
	t.ok(err)
	is(t, "the seals of a free instance", len(one.Seals), 0)
}
