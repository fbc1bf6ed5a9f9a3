package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

// unknownCases cuts off calls. Stored changes are whole, and a repeat of the same request has the effect of an
// undisturbed call.
func unknownCases() []testCase {
	const unknown = "A call whose context is done before the storage takes it up changes nothing " +
		"and returns the context's error. After that, the outcome is unknown."
	return []testCase{
		{name: "finished-before", run: unknownFinished, rule: unknown},
		{name: "create", run: unknownCreate, rule: unknown},
		{name: "create-with-a-first-turn", run: unknownFirst, rule: unknown},
		{name: "commit", run: unknownCommit, rule: unknown},
		{name: "close", run: unknownClose, rule: unknown},
		{name: "steer", run: unknownSteer, rule: unknown},
		{name: "send", run: unknownSend, rule: unknown},
		{name: "fetch-turns", run: unknownFetch, rule: unknown},
		{name: "release-turns", run: unknownRelease, rule: unknown},
		{name: "fetch-tasks", run: unknownFetchTasks, rule: unknown},
		{name: "report", run: unknownReport, rule: unknown},
		{name: "renew", run: unknownRenew, rule: unknown},
		{name: "answer", run: unknownAnswer, rule: unknown},
		{name: "delete", run: unknownDelete, rule: unknown},
		{name: "prune", run: unknownPrune, rule: unknown},
		{name: "redrive", run: unknownRedrive, rule: unknown},
		{name: "lease", run: unknownLease, rule: unknown},
		{name: "record", run: unknownRecord, rule: unknown},
	}
}

func unknownCreate(t *trial) {
	cutOff(t, func() cut {
		req := createRequest(fresh())
		req.RequestID = fresh()
		req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 5}}
		return cut{
			call: func(ctx context.Context) error {
				res, err := t.Create(ctx, req)
				t.checkf(err != nil || res.Created, "Created is false for a repeated request, want true")
				return err
			},
			done: func() {
				i := t.byID(req.ID)
				t.checkf(i.Key == req.Key && i.Version == req.Commit && i.InboxMessages == 1 && len(i.Attributes) == 1,
					"stored is %+v, want the request's instance with one message", i)
				u := t.fetchOne()
				t.checkf(u.Instance.ID == req.ID && u.payloads() == "start", "the inbox has %q, want \"start\"", u.payloads())
			},
		}
	})
}

func unknownCommit(t *trial) {
	cutOff(t, func() cut {
		i := t.begin(fresh())
		req := rich(i)
		return cut{
			call:  func(ctx context.Context) error { _, err := t.CommitTurn(ctx, req); return err },
			looks: func() string { return t.picture(i.Key).text() },
			done: func() {
				res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true})
				t.ok(err)
				got := res.Instance
				t.historyIs(i.Key, 1, "1:started 2:event")
				t.checkf(got.Version == req.Commit && got.InboxMessages == 2 && len(got.Attributes) == 1 && string(got.CustomStatus) == "custom" &&
					len(res.Tasks) == 1 && len(res.Values) == 1, "stored %+v, tasks %+v, values %+v", got, res.Tasks, res.Values)
			},
		}
	})
}

func unknownClose(t *trial) {
	cutOff(t, func() cut {
		i := t.begin(fresh(), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		req := closing(i)
		return cut{
			call:  func(ctx context.Context) error { _, err := t.CommitTurn(ctx, req); return err },
			looks: func() string { return t.picture(i.Key).text() },
			done: func() {
				got := t.get(i.Key)
				t.checkf(got.Status == provider.StatusCompleted && string(got.Result) == "result" && got.EndedAt > 0,
					"stored is %+v, want Completed with its result and end", got)
				t.historyIs(i.Key, 1, "1:started 2:over")
				t.tasksAre(i.Key, "")
			},
		}
	})
}

func unknownSteer(t *trial) {
	cutOff(t, func() cut {
		i := t.begin(fresh(), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		req := provider.SteerRequest{Key: i.Key, Action: provider.SteerTerminate, Commit: unique(), Event: []byte("end"), Result: []byte("result")}
		return cut{
			call:  func(ctx context.Context) error { _, err := t.Steer(ctx, req); return err },
			looks: func() string { return t.picture(i.Key).text() },
			done: func() {
				got := t.get(i.Key)
				t.checkf(got.Status == provider.StatusTerminated && string(got.Result) == "result", "stored is %+v, want Terminated with its result", got)
				t.historyIs(i.Key, 1, "1:started 2:end")
				t.tasksAre(i.Key, "")
			},
		}
	})
}

// A repeated send may store the message twice, but each message is whole.
func unknownSend(t *trial) {
	cutOff(t, func() cut {
		id := fresh()
		i := t.begin(id)
		return cut{
			call: func(ctx context.Context) error {
				_, err := t.Send(ctx, provider.SendRequest{Key: i.Key, Message: text("message")})
				return err
			},
			looks: func() string { return t.picture(i.Key).text() },
			done: func() {
				u := t.fetchOne(named(id))
				for _, m := range u.Messages {
					checkBytes(t, "message", m.Payload, "message")
				}
				t.checkf(len(u.Messages) <= 2, "%d messages of one send and its repeat, want at most 2", len(u.Messages))
			},
		}
	})
}

// A caller that does not know what a fetch has leased releases it.
func unknownFetch(t *trial) {
	cutOff(t, func() cut {
		t.create(fresh())
		req := fetchRequest()
		req.Wait = long
		var res provider.FetchTurnsResult
		return cut{
			call: func(ctx context.Context) (err error) {
				res, err = t.FetchTurns(ctx, req)
				return err
			},
			after: func() {
				t.ok(t.release(turn{token: req.Token}, func(r *provider.TurnRelease) { r.Kind = provider.ReleaseToken }))
				req.Token = unique()
			},
			done: func() {
				t.mustf(len(res.Turns) == 1, "got %d turns, want 1", len(res.Turns))
				u := turn{res.Turns[0], req.Token}
				t.checkf(u.Instance.Deliveries == 1 && u.payloads() == "start", "delivery %d with %q, want 1 with \"start\"", u.Instance.Deliveries, u.payloads())
				t.commit(commitOf(u))
			},
		}
	})
}

func unknownRelease(t *trial) {
	cutOff(t, func() cut {
		t.create(fresh())
		u := t.fetchOne()
		req := provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Key: u.Instance.Key, Token: u.token}}}
		return cut{
			call:  func(ctx context.Context) error { return firstOf(t.ReleaseTurns(ctx, req)) },
			again: provider.ErrLeaseLost,
			done: func() {
				u := t.fetchOne()
				t.checkf(u.Instance.Deliveries == 1, "delivery %d, want 1 without the released one", u.Instance.Deliveries)
				t.commit(commitOf(u))
			},
		}
	})
}

// firstOf returns the error of a release of one turn.
func firstOf(res provider.ReleaseTurnsResult, err error) error {
	if err != nil {
		return err
	}
	return res.Errs[0]
}

func unknownAnswer(t *trial) {
	cutOff(t, func() cut {
		i := t.create(fresh())
		answered := parkedAsk(t, i.Key)
		open := fetchAsk(t)
		return cut{
			call: func(ctx context.Context) error {
				return t.Answer(ctx, provider.AnswerRequest{AskID: open.AskID, Payload: []byte("answer")})
			},
			again: provider.ErrNotFound,
			done: func() {
				got := answered()
				t.checkf(got.err == nil && got.payload == "answer", "Ask returned %+v, want the answer", got)
			},
		}
	})
}

func unknownDelete(t *trial) {
	cutOff(t, func() cut {
		i := t.begin(fresh())
		req := next(i)
		child := startOf(i, fresh())
		req.Starts = []provider.Start{child}
		t.commit(req)
		return cut{
			call: func(ctx context.Context) error {
				_, err := t.Delete(ctx, provider.DeleteRequest{Key: i.Key, Force: true})
				return err
			},
			again: provider.ErrNotFound,
			done: func() {
				t.gone(i.Key)
				t.gone(child.Create.Key)
			},
		}
	})
}

func unknownPrune(t *trial) {
	kept := t.begin("kept")
	cutOff(t, func() cut {
		i := t.end(t.begin(fresh()))
		return cut{
			call: func(ctx context.Context) error { _, err := t.Prune(ctx, provider.PruneRequest{}); return err },
			done: func() {
				t.gone(i.Key)
				t.get(kept.Key)
			},
		}
	})
}

func unknownRedrive(t *trial) {
	cutOff(t, func() cut {
		id := fresh()
		i := t.begin(id)
		t.send(i.Key, text("letter"))
		t.steer(i.Key, provider.SteerTerminate)
		t.steer(i.Key, provider.SteerReset, resetTo("again"))
		list := t.letters()
		t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
		req := provider.DeadLettersRequest{Action: provider.DeadLettersRedrive, IDs: []int64{list[0].ID}}
		return cut{
			call:  func(ctx context.Context) error { _, err := t.DeadLetters(ctx, req); return err },
			looks: func() string { return t.picture(i.Key).text() },
			done: func() {
				u := t.fetchOne(named(id))
				t.checkf(u.payloads() == "letter", "the inbox has %q, want \"letter\"", u.payloads())
				is(t, "dead letters after the redrive", len(t.letters()), 0)
			},
		}
	})
}

func unknownLease(t *trial) {
	cutOff(t, func() cut {
		req := acquire("a")
		req.Name = fresh()
		return cut{
			call: func(ctx context.Context) error { _, err := t.Lease(ctx, req); return err },
			done: func() {
				other := acquire("b")
				other.Name = req.Name
				res, err := t.Lease(t.ctx, other)
				t.want(err, provider.ErrLeaseLost)
				t.checkf(res.Owner == "a" && res.Until >= res.Now, "the holder is %+v, want a until later", res)
			},
		}
	})
}

func unknownRecord(t *trial) {
	cutOff(t, func() cut {
		req := put(fresh(), "value", 0)
		return cut{
			call:  func(ctx context.Context) error { _, err := t.Record(ctx, req); return err },
			again: provider.ErrConflict,
			done: func() {
				got := t.record(provider.RecordRequest{Action: provider.RecordGet, Namespace: "n", Key: req.Key})
				t.checkf(len(got) == 1 && string(got[0].Value) == "value" && got[0].Version == 1, "stored is %+v, want version 1 with the value", got)
			},
		}
	})
}

// unknownFinished calls every method with a finished context.
func unknownFinished(t *trial) {
	i, task := beginTask(t, "i")
	t.create("j")
	u := t.fetchOne()
	ended := t.end(t.begin("ended"))
	report := reportOf(task, provider.TaskComplete)
	deadline, cancel := context.WithTimeout(t.ctx, 0)
	defer cancel()
	for name, call := range map[string]func(ctx context.Context) error{
		"create": func(ctx context.Context) error { _, err := t.Create(ctx, createRequest("new")); return err },
		"get":    func(ctx context.Context) error { _, err := t.Get(ctx, provider.GetRequest{Key: i.Key}); return err },
		"steer": func(ctx context.Context) error {
			_, err := t.Steer(ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerSuspend, Commit: unique()})
			return err
		},
		"fetch turns": func(ctx context.Context) error { _, err := t.FetchTurns(ctx, fetchRequest()); return err },
		"commit turn": func(ctx context.Context) error { _, err := t.CommitTurn(ctx, rich(i)); return err },
		"release turns": func(ctx context.Context) error {
			_, err := t.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Key: u.Instance.Key, Token: u.token}}})
			return err
		},
		"fetch tasks": func(ctx context.Context) error { _, err := t.FetchTasks(ctx, fetchTasksRequest()); return err },
		"report tasks": func(ctx context.Context) error {
			_, err := t.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{report}})
			return err
		},
		"renew tasks": func(ctx context.Context) error {
			_, err := t.RenewTasks(ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{renewal(task)}, Lease: 2 * long})
			return err
		},
		"send": func(ctx context.Context) error { _, err := t.Send(ctx, provider.SendRequest{Key: i.Key}); return err },
		"delete": func(ctx context.Context) error {
			_, err := t.Delete(ctx, provider.DeleteRequest{Key: ended.Key})
			return err
		},
		"prune":  func(ctx context.Context) error { _, err := t.Prune(ctx, provider.PruneRequest{}); return err },
		"lease":  func(ctx context.Context) error { _, err := t.Lease(ctx, acquire("a")); return err },
		"record": func(ctx context.Context) error { _, err := t.Record(ctx, put("k", "v", 0)); return err },
		"list":   func(ctx context.Context) error { _, err := t.List(ctx, provider.ListRequest{}); return err },
		"history": func(ctx context.Context) error {
			_, err := t.ReadHistory(ctx, provider.ReadHistoryRequest{Key: i.Key, From: 1})
			return err
		},
	} {
		t.unchanged(i.Key, func() {
			err := call(deadline)
			t.checkf(errors.Is(err, context.DeadlineExceeded), "%s returned error %v, want the context's error", name, err)
		})
	}
	t.get(ended.Key)
	callLease(t, acquire("b"))
	t.record(put("k", "v", 0))
	t.noTurn("the lease was not released")
	t.ok(t.report(task, provider.TaskComplete).Err)
	_, err := t.Get(t.ctx, provider.GetRequest{ID: "new"})
	t.want(err, provider.ErrNotFound)
}
