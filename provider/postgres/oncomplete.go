package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// maxHooks is how many functions of callers run in transactions at once.
const maxHooks = 4

const (
	// hookIdle is how long the server waits for the next statement of a function. The engine abandons a function
	// sooner, so this ends only transactions of processes that are paused or cut off. Their locks would block others.
	hookIdle = 20 * time.Second
	// hookLock is how long a statement of a function waits for a lock. Then the function runs again, in another
	// transaction.
	hookLock = 2500 * time.Millisecond
)

// A setting of the connection in milliseconds; NULL if it is off.
const (
	sqlSetting    = `1000 * extract(epoch FROM nullif(current_setting('`
	sqlSettingEnd = `'), '0')::interval)`
)

// OnComplete registers a function that runs inside the transaction which completes the running activity of ctx. Its
// effects on the database through tx are stored if and only if the activity's result is, exactly once. It runs after
// the activity has returned without an error. Its error fails the attempt, which is then retried as the call's policy
// says. Several functions run in the order of registration.
//
// The function should be quick and only work on tx. It runs again, in another transaction, if the first one could not
// be committed. It also runs again if one of its statements waited for a lock for 2.5 s, or for a shorter lock_timeout
// of the connection. It must then return that statement's error, which it may wrap. A lock that NOWAIT did not get is
// the function's own failure. If the process is paused, the server ends the transaction 20 s after the last statement.
//
// A commit or rollback of tx affects only what the function did. The function must not end the transaction by a
// statement. Constraints that are deferred to the commit are checked after the function has returned.
//
// An activity whose store is not a Postgres store fails with [provider.ErrForeignTx] when it completes. OnComplete
// returns [provider.ErrInvalid] if ctx is not a running activity's, or fn is nil.
func OnComplete(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return relational.OnComplete(ctx, "postgres", fn)
}

// errGone is returned if there is nothing to complete, so that what the function did must not be stored.
var errGone = errors.New("the task is not held or its execution is over")

// completions runs functions of callers in the transactions that complete their activities.
type completions struct {
	db      *database
	kinds   *kinds
	units   *units
	commits *commits
	hooks   chan struct{} // bounds the transactions that run callers' functions
	idle    time.Duration // tests change it, and the next one
	lock    time.Duration
}

func newCompletions(db *database, kinds *kinds, units *units, commits *commits) *completions {
	return &completions{
		db: db, kinds: kinds, units: units, commits: commits, hooks: make(chan struct{}, maxHooks), idle: hookIdle, lock: hookLock,
	}
}

// completeIn completes a task together with what fn does. The error is errGone if there is nothing to complete.
func (h *completions) completeIn(
	ctx context.Context, req *provider.ReportTasksRequest, fn func(provider.Tx) error,
) (provider.TaskReportResult, error) {
	m := &relational.Member{Op: "complete task", Needs: relational.ReportNeeds(req)}
	enqueue := func(ctx context.Context, m *relational.Member, _ bool) error { return h.complete(ctx, m, fn) }
	return relational.Do(ctx, enqueue, m, false, func(t *relational.Tx, res *provider.TaskReportResult) (err error) {
		*res, err = t.Report(&req.Items[0])
		if err == nil && (res.Err != nil || res.State.Kind != provider.ExecutionRunning) {
			return errGone
		}
		return err
	})
}

// complete runs fn and then m in one transaction of their own. The function comes first, so that the instance is locked
// no longer than for any other report.
func (h *completions) complete(ctx context.Context, m *relational.Member, fn func(provider.Tx) error) error {
	if err := h.db.door.Enter(ctx); err != nil {
		return err
	}
	defer h.db.door.Leave()
	if err := h.awaitHook(ctx); err != nil {
		return err
	}
	defer func() { <-h.hooks }()
	for more := 0; ; more++ {
		outcome, err := h.completeOnce(ctx, m, fn)
		need, asks := errors.AsType[*needError](err)
		if errors.Is(err, errGone) {
			return err
		}
		if !asks && !errors.Is(err, errHeld) || more == maxTries {
			return failed(m.Op, err, outcome)
		}
		if asks {
			if err := h.kinds.learn(ctx, h.db.pool, m, need); err != nil {
				return failed(m.Op, err, provider.OutcomeNothing)
			}
		}
	}
}

// awaitHook waits for a slot among the running functions.
func (h *completions) awaitHook(ctx context.Context) error {
	bounded, cancel := h.db.bounded(ctx)
	defer cancel()
	select {
	case h.hooks <- struct{}{}:
		return nil
	case <-bounded.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failed("complete task", fmt.Errorf("waiting for functions of other activities: %w", bounded.Err()), provider.OutcomeNothing)
}

// completeOnce is one try. The statements of the store have one deadline before the function and another one after it,
// so the function's time does not count.
func (h *completions) completeOnce(ctx context.Context, m *relational.Member, fn func(provider.Tx) error) (provider.Outcome, error) {
	opening, opened := h.db.bounded(ctx)
	defer opened()
	conn, err := h.db.pool.Acquire(opening)
	if err != nil {
		return provider.OutcomeNothing, err
	}
	defer conn.Release()
	tx, err := h.beginHook(opening, conn)
	if err != nil {
		return provider.OutcomeNothing, err
	}
	savepoint, err := tx.Begin(opening)
	if err != nil {
		return provider.OutcomeNothing, err
	}
	fault := fn(provider.Tx{Of: userTx{Tx: savepoint, Package: "postgres"}})
	ending, ended := h.db.bounded(ctx)
	defer ended()
	u := h.units.on(ending, conn.Conn())
	u.ownTx, u.wait, u.joined = true, true, true
	if err := endHook(ending, tx, savepoint, fault); err != nil {
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
	err = h.commits.end(u, t)
	return outcomeOf(err), err
}

// beginHook begins a transaction for a function, in one round trip. It limits how long the transaction waits for a
// lock, and how long for the next statement. Lower limits of the connection stay. The wait for a lock ends before a
// statement_timeout, whose error would not show what the statement did.
func (h *completions) beginHook(ctx context.Context, conn *pgxpool.Conn) (pgx.Tx, error) {
	begin := sqlBegin + `; `
	if h.db.settled {
		begin += sqlUnsettle + `; `
	}
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	const idle = `idle_in_transaction_session_timeout`
	begin += `SELECT set_config('` + idle + `', ceil(least(` + ms(h.idle) + `, ` + sqlSetting + idle + sqlSettingEnd + `))::text, true),
		set_config('lock_timeout', ceil(least(` + ms(h.lock) + `, ` + sqlSetting + `lock_timeout` + sqlSettingEnd + `,
		0.75 * ` + sqlSetting + `statement_timeout` + sqlSettingEnd + `))::text, true)`
	return conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
}

// endHook judges what a function did in its savepoint, and ends that. Constraints deferred to the commit are checked
// now, so that a violation is the function's error.
func endHook(ctx context.Context, tx, savepoint pgx.Tx, fault error) error {
	if fault != nil {
		fault = faultOf(tx, fault)
		_ = savepoint.Rollback(ctx) // a function that kept it can no longer reach the connection
		return fault
	}
	if tx.Conn().PgConn().TxStatus() == 'I' {
		return &provider.FuncError{Err: fmt.Errorf("%w: the transaction was ended by a statement of the function", provider.ErrInvalid)}
	}
	_, err := tx.Exec(ctx, `SET CONSTRAINTS ALL IMMEDIATE`)
	if err != nil {
		err = fmt.Errorf("at the function's end: %w", err)
	} else if err = savepoint.Commit(ctx); errors.Is(err, pgx.ErrTxClosed) {
		err = nil
	} else if err != nil {
		err = fmt.Errorf("the function left the transaction unusable: %w", err)
	}
	if err != nil {
		if ctx.Err() != nil { // the deadline is the store's
			return err
		}
		return faultOf(tx, err)
	}
	if status := tx.Conn().PgConn().TxStatus(); status != 'T' {
		return &provider.FuncError{Err: fmt.Errorf("the function left the transaction in state %q: it must not end it by a statement", status)}
	}
	return nil
}

// faultOf marks err as the function's own. It returns err unchanged if the wait for a lock took too long, if the server
// ended the transaction in favour of another one, or if the connection was lost. A context that ends on the way also
// closes the connection; that is the function's fault.
func faultOf(tx pgx.Tx, err error) error {
	stopped := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if isSerialization(err) || waitedForLock(err) || tx.Conn().IsClosed() && !stopped {
		return err
	}
	return &provider.FuncError{Err: err}
}

// waitedForLock reports whether lock_timeout ended a statement. NOWAIT has the same code.
func waitedForLock(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == stateLockTimeout && e.Routine == "ProcessInterrupts"
}
