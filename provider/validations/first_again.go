package validations

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// A provider that ignores the turn keeps the start message. The turn then comes the ordinary way.
func firstOrStart(t *trial) {
	i, begun := createFirst(t, firstRequest("i"))
	if begun {
		t.noTurn("the start message has been consumed", named("i"))
		t.historyIs(i.Key, 1, "1:started")
		return
	}
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "start" && u.Instance.Deliveries == 1, "got %q of %+v, want the start message on its first delivery", u.payloads(), u.Instance)
	t.commit(commitOf(u, "started"))
}

// A repeated start returns whether its first turn is the last stored commit.
func firstRepeated(t *trial) {
	req := firstRequest("i")
	req.RequestID = "r"
	i, begun := createFirst(t, req)
	again := func(req provider.CreateRequest, begun bool) {
		t.unchanged(i.Key, func() {
			res, err := t.Create(t.ctx, req)
			t.ok(err)
			t.checkf(res.Created && res.Instance.Key == i.Key && res.Begun == begun, "want begun %v and the created instance, got %+v", begun, res)
		})
	}
	again(req, begun)
	other := firstRequest("i")
	other.RequestID = "r"
	again(other, false)
	t.send(i.Key, text("m"))
	again(req, begun)
	t.commit(next(t.get(i.Key), "later"))
	again(req, false)
}

// No caller ever sees the instance before its first turn.
func firstAtOnce(t *trial) {
	if _, begun := createFirst(t, firstRequest("before")); !begun {
		return
	}
	const starters, starts = 2, 20
	var left atomic.Int64
	left.Store(starters)
	t.parallel(2*starters, func(n int) {
		if n < starters {
			defer left.Add(-1)
			for range starts {
				req := createRequest(fresh())
				req.First = firstTurn(req)
				createFirst(t, req)
			}
			return
		}
		for left.Load() > 0 {
			t.noTurn("each start has stored its turn")
			list, err := t.List(t.ctx, provider.ListRequest{})
			t.ok(err)
			for _, i := range list.Instances {
				t.checkf(i.HistoryLength == 1 && i.InboxMessages == 0, "got %+v before its first turn, want one event and an empty inbox", i)
			}
			t.pass(blink)
		}
	})
}

// One of several concurrent starts with one ID is stored, with its own turn and nothing of the others.
func firstRace(t *trial) {
	var won atomic.Pointer[provider.CreateRequest]
	var begun atomic.Bool
	t.parallel(8, func(n int) {
		req := firstRequest("i", func(r *provider.CommitTurnRequest) {
			r.Events = [][]byte{fmt.Append(nil, "turn", n)}
			r.Tasks = []provider.NewTask{newTask(int64(n + 1))}
		})
		req.First.Starts = []provider.Start{startOf(provider.Instance{ID: "i", Key: req.Key, Execution: 1}, fmt.Sprint("child", n))}
		res, err := t.Create(t.ctx, req)
		if err != nil {
			t.want(err, provider.ErrExists)
			return
		}
		t.checkf(won.Swap(&req) == nil, "two starts inserted the instance, want one")
		begun.Store(res.Begun)
	})
	req := won.Load()
	t.mustf(req != nil, "no start inserted the instance, want one")
	all, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{Replaced: true}})
	t.ok(err)
	if !begun.Load() {
		t.checkf(all.Count == 1 && t.fetchOne(named("i")).Instance.Version == req.Commit, "%d instances, want 1 with the turn of the start", all.Count)
		return
	}
	child := req.First.Starts[0].Create.ID
	t.checkf(all.Count == 2 && exists(t, child), "%d instances, want 2 including %s", all.Count, child)
	t.historyIs(req.Key, 1, "1:"+string(req.First.Events[0]))
	is(t, "the task fetched", t.fetchTask().EventID, req.First.Tasks[0].EventID)
}

// Concurrent calls with one request return Begun if and only if their own turn is stored.
func firstRepeatRace(t *trial) {
	var begun atomic.Int64
	t.parallel(8, func(int) {
		req := firstRequest("i")
		req.RequestID = "r"
		res, err := t.Create(t.ctx, req)
		t.ok(err)
		t.checkf(res.Created, "Created is false for a repeated request, want true")
		own := res.Instance.Version == req.First.Commit
		is(t, "Begun of the call, against whether its turn is the stored one", res.Begun, own)
		if res.Begun {
			begun.Add(1)
		}
	})
	i := t.byID("i")
	is(t, "calls that returned Begun, against stored turns", begun.Load(), i.HistoryLength)
	t.checkf(i.InboxMessages == 1-i.HistoryLength, "%d messages after %d turns, want %d", i.InboxMessages, i.HistoryLength, 1-i.HistoryLength)
}

// unknownFirst cuts off starts that carry a turn. A repeat returns whether the turn is stored, and all of it is stored or nothing.
func unknownFirst(t *trial) {
	cutOff(t, func() cut {
		req := firstRequest(fresh(), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		req.RequestID = fresh()
		begun := false
		return cut{
			call: func(ctx context.Context) error {
				res, err := t.Create(ctx, req)
				t.checkf(err != nil || res.Created, "Created is false for a repeated request, want true")
				begun = res.Begun
				return err
			},
			done: func() {
				i := checkFirstStored(t, req, provider.CreateResult{Instance: t.byID(req.ID), Begun: begun})
				if begun {
					t.tasksAre(i.Key, "1")
					t.historyIs(i.Key, 1, "1:started")
				}
			},
		}
	})
}

// transactionFirst checks that a start inside a transaction returns whether its turn is stored.
func transactionFirst(t *trial) {
	var req provider.CreateRequest
	var res provider.CreateResult
	inTransaction(t, true, func(tx provider.Tx) {
		res = createIn(t, tx, "i", func(r *provider.CreateRequest) {
			r.First = firstTurn(*r, func(f *provider.CommitTurnRequest) { f.Tasks = []provider.NewTask{newTask(1)} })
			req = *r
		})
	})
	i := t.get(req.Key)
	if res.Begun {
		t.checkf(i.Version == req.First.Commit && i.InboxMessages == 0, "Begun is true, but stored is %+v", i)
		t.tasksAre(i.Key, "1")
		return
	}
	t.checkf(i.Version == req.Commit && i.HistoryLength == 0, "Begun is false, but stored is %+v", i)
	u := t.fetchOne()
	t.checkf(u.payloads() == "start", "the inbox has %q, want \"start\"", u.payloads())
}

func transactionFirstRollback(t *trial) {
	t.begin("to")
	inTransaction(t, false, func(tx provider.Tx) {
		_, err := transactor(t).CreateIn(t.ctx, tx, fully())
		t.ok(err)
	})
	t.checkf(!exists(t, "i") && !exists(t, "child of i"), "the instance or its child exists after the rollback")
	t.noTask("the transaction was rolled back")
	is(t, "messages of the turn after the rollback", t.byID("to").InboxMessages, 0)
}
