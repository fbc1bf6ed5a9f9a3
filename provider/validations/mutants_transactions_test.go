package validations

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// The requests of provider.Transactor with their other arguments.
type (
	createInRequest struct {
		provider.CreateRequest

		tx provider.Tx
	}
	sendInRequest struct {
		provider.SendRequest

		tx provider.Tx
	}
	completeInRequest struct {
		provider.TaskReport

		fn func(provider.Tx) error
	}
	createInMethod   = method[createInRequest, provider.CreateResult]
	sendInMethod     = method[sendInRequest, provider.SendResult]
	completeInMethod = method[completeInRequest, provider.TaskReportResult]
)

func (m *mutant) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (provider.CreateResult, error) {
	return m.createIn(ctx, createInRequest{req, tx})
}

func (m *mutant) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (provider.SendResult, error) {
	return m.sendIn(ctx, sendInRequest{req, tx})
}

func (m *mutant) CompleteIn(ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error) (provider.TaskReportResult, error) {
	return m.completeIn(ctx, completeInRequest{item, fn})
}

func brokenTransactions() []brokenRule {
	return []brokenRule{
		{name: "a start in a transaction outlives its rollback", caught: "transactions/create-rollback", breaks: createsAtOnce},
		{name: "a start in a transaction is seen before its commit", caught: "transactions/create-unseen", breaks: createsAtOnce},
		{name: "a start in a transaction is lost", caught: "transactions/create", breaks: createsNothing},
		{name: "a transaction does not see its own starts", caught: "transactions/holder", breaks: seesOthersOnly},
		{name: "a refused start ends the transaction", caught: "transactions/create-refused", breaks: endsRefusing},
		{name: "a refused message ends the transaction", caught: "transactions/send-refused", breaks: endsRefusing},
		{name: "fetches do not hear of a caller's commit", caught: "transactions/wakes", breaks: hearsNoCommit},
		{name: "a message in a transaction outlives its rollback", caught: "transactions/send-rollback", breaks: sendsAtOnce},
		{name: "a message in a transaction is lost", caught: "transactions/send", breaks: sendsNothing},
		{name: "a transaction commits although its message came after the close", caught: "transactions/send-or-close", breaks: commitsInVain},
		{name: "a message to an instance of the same transaction is refused", caught: "transactions/send-to-own", breaks: refusesOwn},
		{name: "the writes inside a completion are lost", caught: "transactions/complete", breaks: forgetsFunctions},
		{name: "a function that fails does not hold up the completion", caught: "transactions/complete-fails", breaks: ignoresFailures},
		{name: "a function counts although the lease is lost", caught: "transactions/complete-lost", breaks: runsFunctionsApart},
		{name: "a function counts although the execution has ended", caught: "transactions/complete-ended", breaks: runsFunctionsApart},
		{name: "a foreign transaction counts as none", caught: "transactions/foreign", breaks: takesForeigners},
	}
}

// apart stores the request in another transaction, committed at once.
func (m *mutant) apart(ctx context.Context, do func(tx provider.Tx) error) error {
	own, err := m.begin(ctx, m)
	if err != nil {
		return err
	}
	return errors.Join(do(own.Tx), own.Commit())
}

func createsAtOnce(m *mutant) {
	m.createIn.around(func(ctx context.Context, req createInRequest, inner createInMethod) (res provider.CreateResult, err error) {
		err = m.apart(ctx, func(tx provider.Tx) error {
			req.tx = tx
			res, err = inner(ctx, req)
			return err
		})
		return res, err
	})
}

// createsNothing stores the start in a transaction that is never committed.
func createsNothing(m *mutant) {
	m.createIn.before(func(req *createInRequest) {
		if own, err := m.begin(context.Background(), m); err == nil {
			req.tx = own.Tx
		}
	})
}

func seesOthersOnly(m *mutant) {
	m.createIn.after(func(_ createInRequest, res *provider.CreateResult, err *error) {
		if errors.Is(*err, provider.ErrExists) && m.nobody(*err) {
			*err = nil
		}
	})
}

// nobody reports whether the instance that a refusal names is not stored.
func (m *mutant) nobody(err error) bool {
	exists, ok := errors.AsType[*provider.ExistsError](err)
	return ok && m.stored(context.Background(), exists.Key).Key.IsZero()
}

func endsRefusing(m *mutant) {
	end := func(tx provider.Tx, err error) {
		if own, ok := tx.Of.(*memory.Tx); ok && err != nil {
			_ = own.Rollback()
		}
	}
	m.createIn.after(func(req createInRequest, _ *provider.CreateResult, err *error) { end(req.tx, *err) })
	m.sendIn.after(func(req sendInRequest, _ *provider.SendResult, err *error) { end(req.tx, *err) })
}

// hearsNoCommit makes fetches that were blocked before a start in a transaction use up their Wait.
func hearsNoCommit(m *mutant) {
	var mu sync.Mutex
	within := false
	m.createIn.after(func(createInRequest, *provider.CreateResult, *error) {
		mu.Lock()
		within = true
		mu.Unlock()
	})
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, inner turnsMethod) (provider.FetchTurnsResult, error) {
		res, err := inner(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		if within && req.Wait > 0 && len(res.Turns) > 0 {
			res.Turns = nil
		}
		return res, err
	})
}

func sendsAtOnce(m *mutant) {
	m.sendIn.around(func(ctx context.Context, req sendInRequest, inner sendInMethod) (res provider.SendResult, err error) {
		err = m.apart(ctx, func(tx provider.Tx) error {
			req.tx = tx
			res, err = inner(ctx, req)
			return err
		})
		return res, err
	})
}

func sendsNothing(m *mutant) {
	m.sendIn.before(func(req *sendInRequest) {
		if own, err := m.begin(context.Background(), m); err == nil {
			req.tx = own.Tx
		}
	})
}

// commitsInVain commits a transaction without an error although an instance had closed before.
func commitsInVain(m *mutant) {
	begin := m.begin
	m.begin = func(ctx context.Context, p provider.Provider) (Transaction, error) {
		tx, err := begin(ctx, p)
		commit := tx.Commit
		tx.Commit = func() error {
			if err := commit(); !errors.Is(err, provider.ErrEnded) {
				return err
			}
			return nil
		}
		return tx, err
	}
}

func refusesOwn(m *mutant) {
	m.sendIn.around(func(ctx context.Context, req sendInRequest, inner sendInMethod) (provider.SendResult, error) {
		if m.stored(ctx, req.Key).Key.IsZero() {
			return provider.SendResult{}, provider.ErrNotFound
		}
		return inner(ctx, req)
	})
}

func forgetsFunctions(m *mutant) {
	m.completeIn.before(func(req *completeInRequest) {
		fn := req.fn
		req.fn = func(tx provider.Tx) error {
			err := fn(tx)
			if own, ok := tx.Of.(*memory.Tx); ok && err == nil {
				_ = own.Rollback()
			}
			return err
		}
	})
}

func ignoresFailures(m *mutant) {
	m.completeIn.before(func(req *completeInRequest) {
		fn := req.fn
		req.fn = func(tx provider.Tx) error {
			_ = fn(tx)
			return nil
		}
	})
}

// runsFunctionsApart commits the writes of a function whatever happens to the completion.
func runsFunctionsApart(m *mutant) {
	m.completeIn.around(func(ctx context.Context, req completeInRequest, inner completeInMethod) (provider.TaskReportResult, error) {
		if m.wanted(ctx, &req.TaskReport) {
			return inner(ctx, req)
		}
		if err := m.apart(ctx, req.fn); err != nil {
			return provider.TaskReportResult{}, err
		}
		req.fn = func(provider.Tx) error { return nil }
		return inner(ctx, req)
	})
}

// wanted reports whether a report has a task to complete.
func (m *mutant) wanted(ctx context.Context, item *provider.TaskReport) bool {
	res, err := m.Provider.RenewTasks(ctx, provider.RenewTasksRequest{
		Lease: long, Items: []provider.TaskRenewal{{TaskRef: item.TaskRef, Token: item.Token}},
	})
	return err == nil && res.Items[0].Err == nil && res.Items[0].State.Kind == provider.ExecutionRunning
}

func takesForeigners(m *mutant) {
	m.createIn.around(func(ctx context.Context, req createInRequest, inner createInMethod) (provider.CreateResult, error) {
		if _, ok := req.tx.Of.(*memory.Tx); !ok {
			return m.Provider.Create(ctx, req.CreateRequest)
		}
		return inner(ctx, req)
	})
}
