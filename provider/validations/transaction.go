package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

// A Transaction is a transaction of the caller on the store's database.
type Transaction struct {
	Tx       provider.Tx
	Commit   func() error
	Rollback func() error // also after Commit, which stays
}

// Transactions sets how to begin a transaction on the database of the store that open made. Without it Run skips the cases of
// [provider.Transactor].
func Transactions(begin func(ctx context.Context, p provider.Provider) (Transaction, error)) Option {
	return func(o *options) { o.begin = begin }
}

// transactionCases checks an optional feature. The suite skips the cases of a provider without it.
func transactionCases() []testCase {
	const (
		create   = "CreateIn is Create inside tx: the instance exists if and only if tx commits, and is not visible outside tx before that."
		send     = "SendIn is Send inside tx: the message is in the inbox, of an instance that has not closed, if and only if tx commits."
		holder   = "The holder of the ID is the one that tx sees."
		own      = "It may go to an instance that was created inside the same tx."
		complete = "CompleteIn is ReportTasks of one Complete item, with fn called inside the transaction " +
			"that stores it. The writes of fn are stored if and only if the completion is."
		gone = "If the token does not hold the task, or the execution no longer runs, nothing of fn is stored."
	)
	list := []testCase{
		{name: "create", run: transactionCreate, rule: create},
		{name: "create-rollback", run: transactionRollback, rule: create},
		{name: "create-unseen", run: transactionUnseen, rule: create},
		{name: "create-with-a-first-turn", run: transactionFirst, rule: create},
		{name: "first-turn-rollback", run: transactionFirstRollback, rule: create},
		{name: "holder", run: transactionHolder, rule: holder},
		{name: "create-refused", run: transactionRefused, rule: holder + " A refusal leaves tx as it was."},
		{
			name: "wakes", run: transactionWakes,
			rule: "Waiting fetches wake soon after tx has committed, although the caller does not report the commit to the provider.",
		},
		{name: "send", run: transactionSend, rule: send},
		{name: "send-rollback", run: transactionSendRollback, rule: send},
		{name: "send-or-close", run: transactionSendOrClose, rule: send},
		{name: "send-to-own", run: transactionSendToOwn, rule: own},
		{name: "send-refused", run: transactionSendRefused, rule: own + " A refusal leaves tx as it was."},
		{name: "complete", run: transactionComplete, rule: complete},
		{name: "complete-fails", run: transactionFails, rule: "An error of fn is returned as a [*FuncError], and nothing is stored."},
		{name: "complete-lost", run: transactionLost, rule: gone},
		{name: "complete-ended", run: transactionEnded, rule: gone},
		{
			name: "foreign", run: transactionForeign,
			rule: "A transaction that is not on the store's database fails with [ErrForeignTx].",
		},
	}
	for i := range list {
		list[i].within = true
	}
	return needs(lacking[provider.Transactor], list)
}

func transactionCreate(t *trial) {
	var key provider.UUID
	inTransaction(t, true, func(tx provider.Tx) {
		res := createIn(t, tx, "i", func(r *provider.CreateRequest) { r.RequestID = "r" })
		t.checkf(res.Created && res.Instance.ID == "i" && res.Instance.Status == provider.StatusRunning, "got %+v, want the created instance, Running", res)
		key = res.Instance.Key
	})
	i := t.get(key)
	t.checkf(i.ID == "i" && i.Execution == 1 && i.InboxMessages == 1 && i.RequestID == "r", "stored is %+v, want the request's instance with one message", i)
	is(t, "the start message", t.fetchOne().payloads(), "start")
}

func transactionRollback(t *trial) {
	inTransaction(t, false, func(tx provider.Tx) { createIn(t, tx, "i") })
	t.checkf(!exists(t, "i"), "the instance exists after the rollback")
	t.noTurn("the transaction was rolled back")
	t.create("i")
}

func transactionUnseen(t *trial) {
	inTransaction(t, true, func(tx provider.Tx) {
		createIn(t, tx, "i")
		t.checkf(!exists(t, "i"), "the instance is visible before the commit")
		t.noTurn("the transaction has not committed")
	})
	t.checkf(exists(t, "i"), "the instance does not exist after the commit")
}

func transactionHolder(t *trial) {
	inTransaction(t, true, func(tx provider.Tx) {
		own := createIn(t, tx, "i").Instance.Key
		_, err := transactor(t).CreateIn(t.ctx, tx, createRequest("i"))
		t.want(err, provider.ErrExists)
		res := createIn(t, tx, "i", func(r *provider.CreateRequest) { r.Policy = provider.IDUseExisting })
		t.checkf(!res.Created && res.Instance.Key == own, "got %+v, want the instance of the same transaction, not created", res)
	})
}

func transactionRefused(t *trial) {
	old := t.create("old", func(r *provider.CreateRequest) { r.Name = "other" })
	inTransaction(t, true, func(tx provider.Tx) {
		createIn(t, tx, "before")
		_, err := transactor(t).CreateIn(t.ctx, tx, createRequest("old"))
		exists, ok := errors.AsType[*provider.ExistsError](err)
		t.checkf(ok && exists.Key == old.Key, "got error %v, want an *ExistsError with the key that the transaction sees", err)
		createIn(t, tx, "after")
	})
	t.checkf(exists(t, "before") && exists(t, "after"), "a refusal lost the rest of the transaction")
}

func transactionWakes(t *trial) {
	fetched := parked(t, func() []turn { return t.fetch(wait) })
	inTransaction(t, true, func(tx provider.Tx) { createIn(t, tx, "i") })
	list := fetched()
	t.checkf(len(list) == 1 && list[0].Instance.ID == "i", "got %d turns, want that of i", len(list))
}

func sendIn(t *trial, tx provider.Tx, key provider.UUID, m provider.NewMessage) {
	res, err := transactor(t).SendIn(t.ctx, tx, provider.SendRequest{Key: key, Message: m})
	t.ok(err)
	t.checkf(res.Key == key, "sent to %s, want %s", res.Key, key)
}

func transactionSend(t *trial) {
	i := t.begin("i")
	inTransaction(t, true, func(tx provider.Tx) {
		sendIn(t, tx, i.Key, text("a"))
		sendIn(t, tx, i.Key, text("b"))
		t.noTurn("the transaction has not committed", named("i"))
	})
	got := t.fetchOne(named("i")).payloads()
	t.checkf(got == "a b", "inbox %q, want \"a b\"", got)
}

func transactionSendRollback(t *trial) {
	i := t.begin("i")
	inTransaction(t, false, func(tx provider.Tx) { sendIn(t, tx, i.Key, text("a")) })
	is(t, "messages after the rollback", t.get(i.Key).InboxMessages, 0)
}

// Either call may be refused because of the other. No instance closes with an accepted message in its inbox.
func transactionSendOrClose(t *trial) {
	i := t.begin("i")
	tx, err := t.beginTx(t.ctx, t.store.Provider)
	t.ok(err)
	defer func() { _ = tx.Rollback() }()
	sendIn(t, tx.Tx, i.Key, text("a"))
	closed := parked(t, func() bool {
		req := next(i)
		req.Status = provider.StatusCompleted
		_, err := t.CommitTurn(t.ctx, req)
		return err == nil
	})
	sent := tx.Commit() == nil
	t.checkf(sent != closed(), "sent is %v and closed is %v, want exactly one", sent, !sent)
	t.checkf(t.get(i.Key).InboxMessages > 0 == sent, "%d messages, want one exactly if the send committed", t.get(i.Key).InboxMessages)
}

func transactionSendToOwn(t *trial) {
	inTransaction(t, true, func(tx provider.Tx) {
		sendIn(t, tx, createIn(t, tx, "i").Instance.Key, text("a"))
	})
	got := t.fetchOne().payloads()
	t.checkf(got == "start a", "inbox %q, want \"start a\"", got)
}

func transactionSendRefused(t *trial) {
	ended := t.end(t.begin("ended"))
	inTransaction(t, true, func(tx provider.Tx) {
		_, err := transactor(t).SendIn(t.ctx, tx, provider.SendRequest{Key: ended.Key, Message: text("a")})
		t.want(err, provider.ErrEnded)
		_, err = transactor(t).SendIn(t.ctx, tx, provider.SendRequest{ID: "nobody", Message: text("a")})
		t.want(err, provider.ErrNotFound)
		createIn(t, tx, "after")
	})
	t.checkf(exists(t, "after"), "a refusal lost the rest of the transaction")
}

// completeIn completes a task and starts an instance in the same transaction.
func completeIn(t *trial, item provider.TaskReport, fails error) (provider.TaskReportResult, error) {
	return transactor(t).CompleteIn(t.ctx, item, func(tx provider.Tx) error {
		if _, err := transactor(t).CreateIn(t.ctx, tx, createRequest("effect")); err != nil {
			return err
		}
		return fails
	})
}

func transactionComplete(t *trial) {
	i := t.beginTasks(newTask(4))
	res, err := completeIn(t, reportOf(t.fetchTask(), provider.TaskComplete), nil)
	t.ok(err)
	t.checkf(res.Err == nil && res.State.Kind == provider.ExecutionRunning, "got %+v, want Running and no error", res)
	t.tasksAre(i.Key, "")
	got := t.fetchOne(named("i")).payloads()
	t.checkf(got == "result", "inbox %q, want \"result\"", got)
	got = t.fetchOne().payloads()
	t.checkf(got == "start", "the inbox of the started instance has %q, want \"start\"", got)
}

func transactionFails(t *trial) {
	i := t.beginTasks(newTask(4))
	task := t.fetchTask()
	oops := errors.New("oops")
	_, err := completeIn(t, reportOf(task, provider.TaskComplete), oops)
	refused, ok := errors.AsType[*provider.FuncError](err)
	t.checkf(ok && errors.Is(refused, oops) && !provider.Retryable(err), "got error %v, want a *FuncError that is not retryable", err)
	t.checkf(!exists(t, "effect"), "the function's writes are stored")
	is(t, "messages after the failed completion", t.get(i.Key).InboxMessages, 0)
	again := t.report(task, provider.TaskComplete)
	t.checkf(again.Err == nil, "the token no longer holds the task: %v", again.Err)
}

func transactionLost(t *trial) {
	i := t.beginTasks(newTask(4))
	item := reportOf(t.fetchTask(), provider.TaskComplete)
	item.Token = unique()
	res, err := completeIn(t, item, nil)
	t.ok(err)
	t.want(res.Err, provider.ErrLeaseLost)
	t.checkf(!exists(t, "effect") && t.get(i.Key).InboxMessages == 0, "the function's writes or the result are stored")
}

func transactionEnded(t *trial) {
	i := t.beginTasks(newTask(4))
	item := reportOf(t.fetchTask(), provider.TaskComplete)
	t.end(i)
	res, err := completeIn(t, item, nil)
	t.ok(err)
	t.checkf(res.State == terminal(provider.StatusCompleted), "got %+v, want Terminal with status Completed", res)
	t.checkf(!exists(t, "effect"), "the function's writes are stored")
}

func transactionForeign(t *trial) {
	i := t.begin("i")
	foreign := provider.Tx{Of: "another database"}
	_, err := transactor(t).CreateIn(t.ctx, foreign, createRequest("new"))
	t.want(err, provider.ErrForeignTx)
	_, err = transactor(t).SendIn(t.ctx, foreign, provider.SendRequest{Key: i.Key, Message: text("a")})
	t.want(err, provider.ErrForeignTx)
	t.checkf(!exists(t, "new") && t.get(i.Key).InboxMessages == 0, "a call in a foreign transaction stored something")
}
