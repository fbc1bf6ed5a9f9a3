package validations

import "github.com/perdure/perdure/provider"

// atomicCases makes each part of a commit fail in turn. Nothing of the other parts is stored.
func atomicCases() []testCase {
	const all = "CommitTurn applies one turn of one instance: all of it, or nothing."
	return []testCase{
		{name: "each-part-fails", run: atomicParts, rule: all},
		{name: "refused-keeps-the-lease", run: atomicLease, rule: "A refused commit changes nothing."},
		{name: "later-messages-wait", run: atomicArrivals, rule: "A turn consumes messages and extends the history in one commit."},
	}
}

// partsThatFail breaks one part of a valid commit. The instance has task 1, leased under the token, task 2, queued, timer 3,
// and an unconsumed message.
func partsThatFail(token provider.UUID) map[string]func(*provider.CommitTurnRequest) {
	return map[string]func(*provider.CommitTurnRequest){
		"execution":             func(r *provider.CommitTurnRequest) { r.Execution = 2 },
		"version":               func(r *provider.CommitTurnRequest) { r.Expected = unique() },
		"length":                func(r *provider.CommitTurnRequest) { r.Length++ },
		"message that is gone":  func(r *provider.CommitTurnRequest) { r.Consumed = append(r.Consumed, 1<<40) },
		"token of a completion": func(r *provider.CommitTurnRequest) { r.Completes[0].Token = unique() },
		"completion that is gone": func(r *provider.CommitTurnRequest) {
			r.Completes = append(r.Completes, provider.TaskCompletion{EventID: 77, Token: token})
		},
		"completion of a queued task": func(r *provider.CommitTurnRequest) {
			r.Completes = append(r.Completes, provider.TaskCompletion{EventID: 2, Token: token})
		},
		"event that is too large": func(r *provider.CommitTurnRequest) {
			r.Events = append(r.Events, make([]byte, provider.MaxPayload+1))
		},
		"task without a queue": func(r *provider.CommitTurnRequest) { r.Tasks[0].Queue = "" },
		"task twice":           func(r *provider.CommitTurnRequest) { r.Tasks = append(r.Tasks, r.Tasks[0]) },
		"timer that is never due": func(r *provider.CommitTurnRequest) {
			r.Timers = append(r.Timers, provider.Timer{EventID: 55})
		},
		"send to nobody": func(r *provider.CommitTurnRequest) { r.Sends = append(r.Sends, provider.OutMessage{}) },
		"start without a key": func(r *provider.CommitTurnRequest) {
			r.Starts[0].Create.Key = provider.UUID{}
		},
		"close over a message": func(r *provider.CommitTurnRequest) {
			r.Consumed, r.Status = nil, provider.StatusCompleted
		},
		"end and continuation": func(r *provider.CommitTurnRequest) {
			r.Status, r.Next = provider.StatusCompleted, &provider.NextExecution{}
		},
	}
}

func atomicParts(t *trial) {
	task, token := handedOff()
	i := t.beginTasks(task, newTask(2))
	to := t.begin("to")
	req := next(i)
	req.Timers = []provider.Timer{{EventID: 3, Due: i.CreatedAt.Add(long)}}
	t.commit(req)
	sent := t.send(i.Key, text("m"))
	i = t.get(i.Key)
	for part, fails := range partsThatFail(token) {
		req := rich(i)
		req.Completes = []provider.TaskCompletion{{EventID: 1, Token: token}}
		req.Consumed = []int64{sent.MessageID}
		req.CancelTasks, req.CancelTimers = []provider.CancelTask{{EventID: 2}}, []int64{3}
		req.Sends = append(req.Sends, provider.OutMessage{Key: to.Key, Message: text("to")})
		req.Starts = []provider.Start{startOf(i, "child")}
		fails(&req)
		t.unchanged(i.Key, func() {
			t.unchanged(to.Key, func() {
				_, err := t.CommitTurn(t.ctx, req)
				t.checkf(err != nil && provider.OutcomeOf(err) == provider.OutcomeNothing,
					"a commit with a bad %s returned %v, want an error with outcome nothing", part, err)
			})
		})
		_, err := t.Get(t.ctx, provider.GetRequest{ID: "child"})
		t.want(err, provider.ErrNotFound)
	}
}

func atomicLease(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), false)
	u := t.fetchOne()
	req := commitOf(u, "event")
	req.Expected = unique()
	t.refused(req, provider.ErrConflict)
	now := t.get(i.Key)
	t.checkf(now.Deliveries == 2 && now.Blocked != nil,
		"%d deliveries, blocked %+v, want 2 and the flag, unchanged by the refused commit", now.Deliveries, now.Blocked)
	t.noTurn("the refused commit keeps the lease")
	t.commit(commitOf(u, "event"))
}

// A message that arrives during a turn comes with the next turn, in order of arrival.
func atomicArrivals(t *trial) {
	task, token := handedOff()
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task, newTask(2)} })
	other := t.fetchTask()
	t.send(i.Key, text("first"))
	u := t.fetchOne(named("i"))
	first := leasedTask{provider.LeasedTask{TaskRef: ref(i, 1), Attempt: 1}, token}
	t.ok(t.report(first, provider.TaskComplete, func(r *provider.TaskReport) { r.Message.Payload = []byte("result1") }).Err)
	t.send(i.Key, text("second"))
	t.ok(t.report(other, provider.TaskComplete, func(r *provider.TaskReport) { r.Message.Payload = []byte("result2") }).Err)
	t.noTurn("the lease holds the instance", named("i"))
	t.commit(commitOf(u))
	u = t.fetchOne(named("i"))
	t.checkf(u.payloads() == "result1 second result2", "the next turn has %q, want \"result1 second result2\"", u.payloads())
}
