package validations

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// refusedCases combines each reason for a refusal with each part of the request. A refused call changes nothing in the store.
func refusedCases() []testCase {
	return []testCase{
		{name: "refused-commit", run: refusedCommit, rule: "A refused commit changes nothing."},
		{name: "refused-create", run: refusedCreate, rule: "and otherwise returns ErrExists."},
		{name: "refused-steer", run: refusedSteer, rule: "For an ended instance, every action except Reset returns [ErrEnded]."},
		{name: "refused-send", run: refusedSend, rule: "and [ErrEnded] for one that has ended."},
		{
			name: "refused-report", run: refusedReport,
			rule: "An item whose token does not hold the task gets the error ErrLeaseLost. So does a repeat of an item that was stored before.",
		},
		{
			name: "refused-renewal", run: refusedRenewal,
			rule: "Missing comes before Terminal, Terminal before ErrLeaseLost, and ErrLeaseLost before Running.",
		},
		{name: "refused-release", run: refusedRelease, rule: "An item whose token no longer holds the lease gets the error ErrLeaseLost."},
		{name: "refused-delete", run: refusedDelete, rule: "Unless Force is set, it returns [ErrRunning] if the instance or one below it is running."},
		{name: "refused-redrive", run: refusedRedrive, rule: "An item that cannot go back stays and is not counted."},
		{
			name: "refused-record", run: refusedRecord,
			rule: "A write or delete names the version that it expects, 0 if the record must not exist. A mismatch returns [ErrConflict].",
		},
		{name: "refused-messages", run: refusedMessages, rule: "A refused call is not remembered."},
		{name: "refused-parent", run: refusedParent, rule: "After that, a Parent that is gone or being deleted is refused with [ErrNotFound]."},
		{name: "refused-start", run: refusedStart, rule: "Start.Refused: put into the sender's inbox if the ID or Key is in use"},
		{name: "refused-replacement", run: refusedReplacement, rule: "A Suspended instance has not ended."},
	}
}

// A crowded instance has task 1, leased under the token, task 2, queued, timer 3 and two messages. The other instance is a target.
type crowdedInstance struct {
	provider.Instance

	token    provider.UUID
	messages []int64
	other    provider.Instance
}

func beginCrowded(t *trial) crowdedInstance {
	other := t.begin("other")
	i, token, messages := beginUsed(t)
	return crowdedInstance{i, token, messages, other}
}

// commitParts are the parts of a commit that are stored apart from each other.
func (c crowdedInstance) commitParts() map[string]func(*provider.CommitTurnRequest) {
	refused := text("refused")
	return map[string]func(*provider.CommitTurnRequest){
		"nothing": func(*provider.CommitTurnRequest) {},
		"a completion": func(r *provider.CommitTurnRequest) {
			r.Completes = []provider.TaskCompletion{{EventID: 1, Token: c.token}}
		},
		"a message":        func(r *provider.CommitTurnRequest) { r.Consumed = append(r.Consumed, c.messages[0]) },
		"events":           func(r *provider.CommitTurnRequest) { r.Events = [][]byte{[]byte("event")} },
		"a task":           func(r *provider.CommitTurnRequest) { r.Tasks = append(r.Tasks, newTask(100)) },
		"a cancelled task": func(r *provider.CommitTurnRequest) { r.CancelTasks = []provider.CancelTask{{EventID: 2}} },
		"a timer":          func(r *provider.CommitTurnRequest) { r.Timers = append(r.Timers, provider.Timer{EventID: 101, Due: 1}) },
		"a cancelled timer": func(r *provider.CommitTurnRequest) {
			r.CancelTimers = []int64{3}
		},
		"sends": func(r *provider.CommitTurnRequest) {
			r.Sends = []provider.OutMessage{{Key: c.other.Key, Message: text("to")}, {ID: "nobody", Message: text("m"), Refused: &refused}}
		},
		"a start": func(r *provider.CommitTurnRequest) { r.Starts = []provider.Start{startOf(c.Instance, "child")} },
		"values":  func(r *provider.CommitTurnRequest) { r.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}} },
		"attributes": func(r *provider.CommitTurnRequest) {
			r.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}}
		},
		"a custom status": func(r *provider.CommitTurnRequest) { r.CustomStatus = []byte("custom") },
		"a level":         func(r *provider.CommitTurnRequest) { r.EngineLevel = 3 },
	}
}

// commitReasons are reasons to refuse a commit. Each is added last.
func (c crowdedInstance) commitReasons() map[string]func(*provider.CommitTurnRequest) error {
	return map[string]func(*provider.CommitTurnRequest) error{
		"another version": func(r *provider.CommitTurnRequest) error { r.Expected = unique(); return provider.ErrConflict },
		"another length":  func(r *provider.CommitTurnRequest) error { r.Length++; return provider.ErrConflict },
		"another execution": func(r *provider.CommitTurnRequest) error {
			r.Execution++
			return provider.ErrConflict
		},
		"a message that is gone": func(r *provider.CommitTurnRequest) error {
			r.Consumed = append(r.Consumed, 1<<40)
			return provider.ErrConflict
		},
		"a message that waits": func(r *provider.CommitTurnRequest) error {
			r.Status, r.Result = provider.StatusCompleted, []byte("result")
			return provider.ErrInboxNotEmpty
		},
		"a lost completion": func(r *provider.CommitTurnRequest) error {
			r.Completes = append(r.Completes, provider.TaskCompletion{EventID: 2, Token: c.token})
			return provider.ErrLeaseLost
		},
		"a lost completion of a close": func(r *provider.CommitTurnRequest) error {
			r.Status, r.CloseInbox = provider.StatusCompleted, "closed"
			r.Completes = append(r.Completes, provider.TaskCompletion{EventID: 2, Token: c.token})
			return provider.ErrLeaseLost
		},
		"a used event of a task": func(r *provider.CommitTurnRequest) error {
			r.Tasks, r.CancelTasks = append(r.Tasks, newTask(2)), nil
			return provider.ErrInvalid
		},
		"a used event of a timer": func(r *provider.CommitTurnRequest) error {
			r.Timers = append(r.Timers, provider.Timer{EventID: 3, Due: 1})
			r.CancelTimers = nil
			return provider.ErrInvalid
		},
		"a used event and a continuation": func(r *provider.CommitTurnRequest) error {
			r.Next = &provider.NextExecution{CodeVersion: codeVersion, Events: [][]byte{[]byte("next")}}
			r.Timers = append(r.Timers, provider.Timer{EventID: 3, Due: 1})
			r.CancelTimers = nil
			return provider.ErrInvalid
		},
	}
}

func refusedCommit(t *trial) {
	c := beginCrowded(t)
	parts := c.commitParts()
	for reason, refuse := range c.commitReasons() {
		before := t.whole()
		everything := next(c.Instance)
		for part, add := range parts {
			req := next(c.Instance)
			add(&req)
			add(&everything)
			t.refusedBy(refuse(&req), req, part+" and "+reason)
		}
		t.refusedBy(refuse(&everything), everything, "everything and "+reason)
		t.sameAs(before, "commits with "+reason)
	}
	req := next(c.Instance)
	for _, add := range parts {
		add(&req)
	}
	t.commit(req) // nothing but the reasons was wrong
}

// refusedBy checks that a commit returns the sentinel.
func (t *trial) refusedBy(sentinel error, req provider.CommitTurnRequest, what string) {
	_, err := t.CommitTurn(t.ctx, req)
	if err == nil || provider.OutcomeOf(err) != provider.OutcomeNothing {
		t.fatalf("a commit with %s returned %v, want %v", what, err, sentinel)
	}
	t.want(err, sentinel)
}

// sameAs checks that the store is what it was.
func (t *trial) sameAs(before portrait, what string) {
	t.differs(what, before, t.whole())
}

func refusedCreate(t *trial) {
	i := beginFamily(t, func(*provider.Start) {})
	full := func(id string, policy provider.IDPolicy) provider.CreateRequest {
		req := createRequest(id)
		req.Policy, req.RequestID = policy, "request"
		req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}}
		return req
	}
	used, orphan := full("parent!new", provider.IDReject), full("orphan", provider.IDReject)
	used.Key = i.Key
	orphan.Parent = provider.Parent{Key: unique(), ID: "nobody", Execution: 1, EventID: 1}
	for what, req := range map[string]provider.CreateRequest{
		"a used ID":             full("parent", provider.IDReject),
		"a running ID":          full("parent", provider.IDReplaceEnded),
		"a used key":            used,
		"an ID of a child":      full("a", provider.IDReplaceEnded),
		"a parent that is gone": orphan,
	} {
		t.wholeUnchanged("a create with "+what, func() {
			_, err := t.Create(t.ctx, req)
			want := provider.ErrExists
			if what == "a parent that is gone" {
				want = provider.ErrNotFound
			}
			t.checkf(errors.Is(err, want), "a create with %s returned %v, want %v", what, err, want)
		})
	}
	t.wholeUnchanged("the use of an existing instance", func() {
		res, err := t.Create(t.ctx, full("parent", provider.IDUseExisting))
		t.ok(err)
		t.checkf(!res.Created && res.Instance.Key == i.Key, "got %v, want the existing instance", res.Instance)
	})
}

// steerRequests are requests of each action with all that it takes.
func steerRequests() map[string]provider.SteerRequest {
	list := map[string]provider.SteerRequest{
		"suspend":   {Action: provider.SteerSuspend},
		"resume":    {Action: provider.SteerResume},
		"terminate": {Action: provider.SteerTerminate, Result: []byte("result")},
		"unblock":   {Action: provider.SteerUnblock},
		"move":      {Action: provider.SteerMove, CodeVersion: "v2", EngineLevel: 3},
		"drop":      {Action: provider.SteerDrop, MessageID: 1, Reason: "reason"},
		"reset":     {Action: provider.SteerReset, Events: [][]byte{[]byte("one")}},
	}
	for name, req := range list {
		if req.Action == provider.SteerTerminate {
			notices(&req)
		}
		if req.Action != provider.SteerReset {
			req.Event = []byte("event")
		}
		list[name] = req
	}
	return list
}

func refusedSteer(t *trial) {
	beginFamily(t, func(*provider.Start) {}, func(*provider.Start) {})
	ended := t.end(t.byID("a"))
	replaced := t.end(t.begin("i"))
	t.create("i", replace)
	for name, req := range steerRequests() {
		for what, key := range map[string]provider.UUID{"ended": ended.Key, "replaced": replaced.Key, "unknown": unique()} {
			want := provider.ErrEnded
			switch {
			case what == "unknown":
				want = provider.ErrNotFound
			case name == "reset" && what == "ended":
				continue // it may be reset
			case name == "reset":
				want = provider.ErrExists
			}
			t.wholeUnchanged(fmt.Sprintf("the act %q on an instance that is %s", name, what), func() {
				req.Key, req.RequestID = key, "request "+name
				for _, repeat := range []string{"", " and is repeated"} {
					req.Commit = unique()
					_, err := t.Steer(t.ctx, req)
					t.checkf(errors.Is(err, want), "the act %q on an instance that is %s%s returned %v, want %v: a refused act is not remembered",
						name, what, repeat, err, want)
				}
			})
		}
	}
}

func refusedSend(t *trial) {
	ended := t.end(t.begin("ended"))
	t.begin("other")
	for what, req := range map[string]provider.SendRequest{
		"an ended instance": {Key: ended.Key}, "an ended ID": {ID: "ended"}, "nobody": {ID: "nobody"}, "an unknown key": {Key: unique()},
	} {
		req.Message = text("m")
		t.wholeUnchanged("a send to "+what, func() {
			_, err := t.Send(t.ctx, req)
			t.checkf(errors.Is(err, provider.ErrEnded) || errors.Is(err, provider.ErrNotFound), "a send to %s returned %v, want ErrEnded or ErrNotFound", what, err)
		})
	}
}

// lostReports are reports of tasks that their token does not hold.
func lostReports(i provider.Instance, task leasedTask) map[string]provider.TaskReport {
	wrong, attempt, queued, unknown := reportOf(task, 0), reportOf(task, 0), reportOf(task, 0), reportOf(task, 0)
	wrong.Token = unique()
	attempt.Attempt++
	queued.TaskRef = ref(i, 2)
	unknown.TaskRef = ref(i, 99)
	return map[string]provider.TaskReport{"another token": wrong, "another attempt": attempt, "a queued task": queued, "an unknown task": unknown}
}

func refusedReport(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	task := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	for what, item := range lostReports(i, task) {
		for outcome := provider.TaskComplete; outcome <= provider.TaskPoison; outcome++ {
			t.wholeUnchanged(fmt.Sprintf("outcome %d for %s", outcome, what), func() {
				item.Outcome, item.Message, item.Details, item.Failure, item.Reason = outcome, text("m"), []byte("details"), []byte("failure"), "reason"
				res, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
				t.ok(err)
				t.mustf(len(res.Items) == 1, "%d results for one report, want 1", len(res.Items))
				t.lost(fmt.Sprintf("a report with outcome %d for %s", outcome, what), res.Items[0].Err)
			})
		}
	}
	t.ok(t.report(task, provider.TaskPark).Err)
	for _, outcome := range []provider.TaskOutcome{provider.TaskPark, provider.TaskRelease, provider.TaskDiscard} {
		t.wholeUnchanged(fmt.Sprintf("outcome %d for a parked task", outcome), func() {
			t.lost(fmt.Sprintf("a report with outcome %d for a parked task", outcome), t.report(task, outcome).Err)
		})
	}
}

func refusedRenewal(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	task := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	for what, item := range lostReports(i, task) {
		if what == "another attempt" {
			continue // a renewal names none
		}
		t.wholeUnchanged("a renewal for "+what, func() {
			res := t.renew(provider.TaskRenewal{TaskRef: item.TaskRef, Token: item.Token, Details: []byte("details")})
			t.lost("a renewal for "+what, res.Err)
		})
	}
}

// lost checks that an item of a batch was refused.
func (t *trial) lost(what string, err error) {
	t.checkf(errors.Is(err, provider.ErrLeaseLost), "%s returned error %v, want ErrLeaseLost", what, err)
}

func refusedRelease(t *trial) {
	t.create("i")
	u := t.fetchOne()
	for what, change := range map[string]func(*provider.TurnRelease){
		"nothing": func(*provider.TurnRelease) {},
		"a delay": func(r *provider.TurnRelease) { r.Delay = long },
		"a failure": func(r *provider.TurnRelease) {
			r.Kind, r.Failure = provider.ReleaseFailed, &provider.TurnFailure{Reason: "reason", Message: "message", Hold: true}
		},
	} {
		t.wholeUnchanged("a release by another token with "+what, func() {
			t.lost("a release by another token with "+what, t.release(u, change, func(r *provider.TurnRelease) { r.Token = unique() }))
		})
	}
	t.ok(t.release(u))
}

func refusedDelete(t *trial) {
	parent := beginFamily(t, func(*provider.Start) {})
	below := t.create("below", under(t.byID("a")))
	t.end(parent)
	t.end(t.byID("a"))
	for _, i := range []provider.Instance{parent, t.byID("a"), below} {
		t.wholeUnchanged("the delete of "+i.ID+" above a running grandchild", func() {
			_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key})
			t.want(err, provider.ErrRunning)
		})
	}
}

// under makes a child of i.
func under(i provider.Instance) func(*provider.CreateRequest) {
	return func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: i.Key, ID: i.ID, Execution: 1, EventID: 1}
	}
}

func refusedRedrive(t *trial) {
	i := t.beginTasks(newTask(1), newTask(2))
	t.send(i.Key, text("m"))
	for range 2 {
		t.ok(t.report(t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 }), provider.TaskPoison).Err)
	}
	t.steer(i.Key, provider.SteerTerminate)
	letters := t.letters()
	ids := make([]int64, 0, len(letters))
	for _, l := range letters {
		ids = append(ids, l.ID)
	}
	t.wholeUnchanged("a redrive to an ended instance", func() {
		is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, ids...), 0)
	})
	t.steer(i.Key, provider.SteerReset)
	is(t, "messages redriven after Reset", actOnLetters(t, provider.DeadLettersRedrive, ids...), 3)
	is(t, "tasks of the old execution that stay", len(t.letters()), 2)
}

func refusedRecord(t *trial) {
	t.record(put("k", "v", 0))
	t.record(put("k", "v", 1))
	for _, expect := range []int64{0, 1, 3} {
		t.wholeUnchanged(fmt.Sprint("a write that expects version ", expect), func() {
			_, err := t.Record(t.ctx, put("k", "new", expect))
			t.want(err, provider.ErrConflict)
			_, err = t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordDelete, Namespace: "n", Key: "k", Expect: expect})
			t.want(err, provider.ErrConflict)
		})
	}
	t.wholeUnchanged("a write that expects a version of nothing", func() {
		_, err := t.Record(t.ctx, put("other", "new", 2))
		t.want(err, provider.ErrConflict)
	})
}
