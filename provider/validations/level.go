package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// The sentences about the engine level that a message needs.
const (
	storingRaises  = "Storing it raises the engine level of its instance to that of the message, in the same transaction."
	leavesToOthers = "So nodes that cannot read the message leave the instance to others at once."
)

func sendLevels() []testCase {
	return []testCase{
		{name: "raises-the-level", run: sendLevel, rule: storingRaises},
		{name: "refused-raises-nothing", run: sendLevelRefused, rule: storingRaises},
		{name: "level-keeps-old-nodes-away", run: sendLevelFetch, rule: leavesToOthers},
	}
}

func deliverLevels() []testCase {
	return append(delayedLevels(), testCase{name: "raises-the-level", run: deliverLevel, rule: storingRaises})
}

func executionLevels() []testCase {
	return []testCase{{name: "level-of-what-waits", run: executionLevel, rule: "While messages wait, the engine level does not fall."}}
}

func steerLevels() []testCase {
	return []testCase{{
		name: "reset-level-of-what-waits", run: steerLevel,
		rule: "SteerRequest.EngineLevel: Reset: of the new execution, no lower than before while messages wait",
	}}
}

func transactionLevels() []testCase {
	return []testCase{{name: "send-level", run: transactionLevel, rule: storingRaises, lacks: lacking[provider.Transactor], within: true}}
}

func sendLevel(t *trial) {
	i := t.begin("i")
	for _, step := range []struct{ sent, want int64 }{{0, 0}, {3, 3}, {2, 3}, {0, 3}, {4, 4}} {
		t.send(i.Key, levelled("m", step.sent))
		t.levelIs(fmt.Sprint("a message of level ", step.sent), i.Key, step.want)
	}
	is(t, "the version", t.get(i.Key).Version, i.Version)
	u := t.fetchOne(named("i"), upTo(4))
	t.checkf(len(u.Messages) == 5 && u.Instance.EngineLevel == 4, "got %d messages at level %d, want 5 at level 4", len(u.Messages), u.Instance.EngineLevel)
	t.commit(commitOf(u))
	t.levelIs("the turn", i.Key, 4)
}

func sendLevelRefused(t *trial) {
	ended := t.end(t.begin("ended"))
	t.unchanged(ended.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{Key: ended.Key, Message: levelled("m", 3)})
		t.want(err, provider.ErrEnded)
	})
	i := t.begin("i")
	t.unchanged(i.Key, func() {
		_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: levelled("m", -1)})
		t.want(err, provider.ErrInvalid)
		req := next(i)
		req.Length++
		req.Sends = []provider.OutMessage{{Key: i.Key, Message: levelled("m", 3)}}
		_, err = t.CommitTurn(t.ctx, req)
		t.want(err, provider.ErrConflict)
	})
}

// A node that cannot read one message gets none of the instance, although it could read others.
func sendLevelFetch(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("old"))
	t.send(i.Key, levelled("new", 3))
	t.noTurn("a message needs a higher level", named("i"), upTo(2))
	is(t, "the deliveries", t.get(i.Key).Deliveries, 0)
	u := t.fetchOne(named("i"), upTo(3))
	is(t, "the messages", u.payloads(), "old new")
}

// deliverLevel sends a message in each way other than Send.
func deliverLevel(t *trial) {
	to, i := t.begin("to"), t.begin("i")
	req := next(i)
	refused := levelled("refused", 4)
	req.Sends = []provider.OutMessage{{Key: to.Key, Message: levelled("m", 3)}, {ID: "nobody", Message: text("m"), Refused: &refused}}
	start := startOf(i, "child")
	start.Create.Message.EngineLevel = 2
	req.Starts = []provider.Start{start}
	req.Tasks = []provider.NewTask{newTask(1)}
	t.commit(req)
	t.levelIs("a message of a commit", to.Key, 3)
	t.levelIs("a refused message", i.Key, 4)
	t.levelIs("the start message of a child", start.Create.Key, 2)

	task := t.fetchTask()
	_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{
		TaskRef: task.TaskRef, Token: task.token, Attempt: task.Attempt, Outcome: provider.TaskComplete, Message: levelled("done", 5),
	}}})
	t.ok(err)
	t.levelIs("the result of a task", i.Key, 5)

	notice := levelled("ended", 6)
	t.steer(start.Create.Key, provider.SteerTerminate, func(r *provider.SteerRequest) { r.ParentNotice = &notice })
	t.levelIs("the notice of a child", i.Key, 6)

	created := t.create("created", func(r *provider.CreateRequest) { r.EngineLevel, r.Message.EngineLevel = 1, 2 })
	t.checkf(created.EngineLevel == 2, "the level of a new instance is %d, want that of its start message", created.EngineLevel)
	t.levelIs("a start message", created.Key, 2)

	child := createRequest("attached")
	child.Parent = provider.Parent{Key: to.Key, ID: to.ID, Execution: 1, EventID: 3, Close: provider.CloseCancel}
	_, err = t.Create(t.ctx, child)
	t.ok(err)
	t.steer(to.Key, provider.SteerTerminate, func(r *provider.SteerRequest) { r.ChildNotice = &notice })
	t.levelIs("the notice of a parent", child.Key, 6)
}

func executionLevel(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.EngineLevel = 3 })
	i = t.continueAsNew(i, func(r *provider.CommitTurnRequest) { r.Next.EngineLevel, r.Next.Message = 1, nil })
	is(t, "the level without a message", i.EngineLevel, 1)
	t.send(i.Key, levelled("m", 4))
	i = t.continueAsNew(i, func(r *provider.CommitTurnRequest) { r.Next.EngineLevel, r.Next.Message = 2, nil })
	is(t, "the level with a message", i.EngineLevel, 4)
	i = t.continueAsNew(i, func(r *provider.CommitTurnRequest) { r.Next.EngineLevel, r.Next.Message = 5, nil })
	is(t, "a higher level with a message", i.EngineLevel, 5)
	i = t.continueAsNew(i, func(r *provider.CommitTurnRequest) { r.EngineLevel, r.Next.EngineLevel, r.Next.Message = 6, 2, nil })
	is(t, "the level of the last turn, with a message", i.EngineLevel, 6)
	t.commit(commitOf(t.fetchOne(named("i"), upTo(6))))
	own := levelled("next", 3)
	i = t.continueAsNew(t.get(i.Key), func(r *provider.CommitTurnRequest) { r.Next.EngineLevel, r.Next.Message = 2, &own })
	is(t, "the level with a message of Next", i.EngineLevel, 3)
}

func steerLevel(t *trial) {
	i := t.begin("i")
	t.send(i.Key, levelled("m", 4))
	for _, step := range []struct{ reset, want int64 }{{2, 4}, {5, 5}} {
		got := t.steer(i.Key, provider.SteerReset, func(r *provider.SteerRequest) { r.EngineLevel = step.reset })
		is(t, "the level", got.EngineLevel, step.want)
	}
}

func transactionLevel(t *trial) {
	i := t.begin("i")
	for level, commit := range map[int64]bool{5: false, 4: true} {
		inTransaction(t, commit, func(tx provider.Tx) {
			_, err := transactor(t).SendIn(t.ctx, tx, provider.SendRequest{Key: i.Key, Message: levelled("m", level)})
			t.ok(err)
		})
	}
	t.levelIs("a rollback of level 5 and a commit of level 4", i.Key, 4)
}
