package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// maxHooks is how many functions of callers run in transactions at once.
const maxHooks = 4

// OnComplete hands over a function that is to run inside the transaction which completes the running activity, whose
// context is given: what it does to the database through tx is stored if and only if the activity's result
// is, exactly once. It runs after the activity has returned without an error; its error fails the attempt, which is then retried as
// the call's policy says. Several functions run in the order in which they were handed over.
//
// The function should be quick and do nothing but work on tx: it may run again, in another transaction, when the first one could
// not be committed, and has Options.Timeout in all. Committing tx or rolling it back concerns no more than what the function did; it
// must not end the transaction by a statement. Constraints that are deferred to the commit are checked when it has ended.
//
// An activity whose store is not one of Postgres fails with [provider.ErrForeignTx] when it completes. OnComplete answers
// [provider.ErrInvalid] for a context that is not a running activity's, and for no function.
func OnComplete(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return relational.OnComplete(ctx, "postgres", fn)
}

// errGone says that there is nothing to complete, so that what the function did must not be stored.
var errGone = errors.New("the task is not held or its execution is over")

// CompleteIn implements [provider.Transactor].
func (p *Provider) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (res provider.TaskReportResult, err error) {
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{item}}
	if err := req.Validate(); err != nil {
		return res, err
	}
	m := &relational.Member{Op: "complete task", Needs: relational.ReportNeeds(&req)}
	enqueue := func(ctx context.Context, m *relational.Member, _ bool) error { return p.complete(ctx, m, fn) }
	res, err = relational.Do(ctx, enqueue, m, false, func(t *relational.Tx, res *provider.TaskReportResult) (err error) {
		*res, err = t.Report(&item)
		if err == nil && (res.Err != nil || res.State.Kind != provider.ExecutionRunning) {
			return errGone
		}
		return err
	})
	if !errors.Is(err, errGone) {
		return res, err
	}
	alone, err := p.ReportTasks(ctx, req)
	if err != nil {
		return res, err
	}
	return alone.Items[0], nil
}

// complete runs fn and then m in one transaction of their own. The function comes first, so that the instance is
// locked no longer than for any other report.
func (p *Provider) complete(ctx context.Context, m *relational.Member, fn func(provider.Tx) error) error {
	if err := p.door.Enter(ctx); err != nil {
		return err
	}
	defer p.door.Leave()
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	select {
	case p.hooks <- struct{}{}:
		defer func() { <-p.hooks }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for more := 0; ; more++ {
		outcome, err := p.completeOnce(ctx, m, fn)
		need, asks := errors.AsType[*needError](err)
		if errors.Is(err, errGone) {
			return err
		}
		if !asks && !errors.Is(err, errHeld) || more == maxTries {
			return failed(m.Op, err, outcome)
		}
		if asks {
			if err := p.learn(ctx, m, need); err != nil {
				return failed(m.Op, err, provider.OutcomeNothing)
			}
		}
	}
}

func (p *Provider) completeOnce(ctx context.Context, m *relational.Member, fn func(provider.Tx) error) (provider.Outcome, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return provider.OutcomeNothing, err
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return provider.OutcomeNothing, err
	}
	if p.settled {
		if _, err := tx.Exec(ctx, sqlUnsettle); err != nil {
			return provider.OutcomeNothing, err
		}
	}
	u := newUnit(ctx, p, conn.Conn())
	u.single, u.wait, u.joined = true, true, true
	if err := hook(ctx, tx, fn); err != nil {
		u.rollback()
		return provider.OutcomeNothing, err
	}
	if err := u.begin(m.Needs); err != nil {
		u.rollback()
		return provider.OutcomeNothing, err
	}
	t := u.tx()
	if err := m.Run(t); err != nil {
		u.rollback()
		return provider.OutcomeNothing, err
	}
	err = p.writer.end(u, t)
	return outcomeOf(err), err
}

// hook calls the function in a savepoint, so that ending its transaction ends no more than that. What is
// deferred to the commit is checked before it: whatever the function broke is the function's error.
func hook(ctx context.Context, tx pgx.Tx, fn func(provider.Tx) error) error {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	if err := fn(provider.Tx{Of: userTx{Tx: savepoint, Package: "postgres"}}); err != nil {
		err = faultOf(tx, err)
		_ = savepoint.Rollback(ctx) // whoever kept it cannot reach the connection any more
		return err
	}
	if tx.Conn().PgConn().TxStatus() == 'I' {
		return &provider.FuncError{Err: fmt.Errorf("%w: the transaction was ended by a statement of the function", provider.ErrInvalid)}
	}
	if _, err := tx.Exec(ctx, `SET CONSTRAINTS ALL IMMEDIATE`); err != nil {
		return faultOf(tx, fmt.Errorf("at the function's end: %w", err))
	}
	if err := savepoint.Commit(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return faultOf(tx, fmt.Errorf("the function left the transaction unusable: %w", err))
	}
	if status := tx.Conn().PgConn().TxStatus(); status != 'T' {
		return &provider.FuncError{Err: fmt.Errorf("the function left the transaction in state %q: it must not end it by a statement", status)}
	}
	return nil
}

// faultOf answers an error of the function, unless it says that the server gave the transaction up for the sake of another
// one, or that it was lost. A context that ends on the way costs the connection, too: that is the function's doing.
func faultOf(tx pgx.Tx, err error) error {
	stopped := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if isSerialization(err) || tx.Conn().IsClosed() && !stopped {
		return err
	}
	return &provider.FuncError{Err: err}
}
