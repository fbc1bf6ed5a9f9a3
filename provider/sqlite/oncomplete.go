package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// OnComplete hands over a function that is to run inside the transaction which completes the running activity, whose
// context is given: what it does to the file's other tables through tx is stored if and only if the activity's result
// is, exactly once. It runs after the activity has returned without an error; its error fails the attempt, which is then retried as
// the call's policy says. Several functions run in the order in which they were handed over.
//
// The function should be quick and do nothing but work on tx: the file has one writer, and all others wait for it. It may run
// again, in another transaction, when the first one could not be committed. Committing tx or rolling it back concerns no
// more than what the function did; it must not end the transaction by a statement. Foreign keys are enforced. Calls of the store with the
// activity's context, other than with InTx(tx), are refused: they would wait for the function.
//
// An activity whose store is not one of SQLite fails with [provider.ErrForeignTx] when it completes. OnComplete answers
// [provider.ErrInvalid] for a context that is not a running activity's, and for no function.
func OnComplete(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return relational.OnComplete(ctx, "sqlite", fn)
}

// CompleteIn implements [provider.Transactor]. The call goes alone: a statement of the function that is
// interrupted ends the whole transaction.
func (g *guests) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (res provider.TaskReportResult, err error) {
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{item}}
	if err := req.Validate(); err != nil {
		return res, err
	}
	m := &relational.Member{Op: "complete task", Alone: true}
	//nolint:contextcheck // a group belongs to no caller
	res, err = relational.Do(ctx, g.enqueue, m, false, func(t *relational.Tx, res *provider.TaskReportResult) error {
		return g.store.writer.complete(t, &item, fn, res)
	})
	if refusedCommit(err) { // the store itself defers no constraint
		err = &provider.FuncError{Err: err}
	}
	return res, err
}

// complete runs fn and then the report. What fn did counts only if there is something to complete.
func (w *writer) complete(t *relational.Tx, item *provider.TaskReport, fn func(provider.Tx) error, res *provider.TaskReportResult) error {
	state, _, err := t.State(item.Key, item.Execution)
	if err != nil {
		return err
	}
	task, err := t.Rows.Task(item.TaskRef)
	if err != nil {
		return err
	}
	if state.Kind == provider.ExecutionRunning && task != nil && task.Holds(item) {
		if err := w.hook(fn); err != nil {
			return err
		}
		// The function may have started instances, or sent to this one: all that is known of the file is void, and all fetches look.
		w.tx.forget()
		w.due.stale, w.foreign.changed = true, true
		t.Changes++
	}
	*res, err = t.Report(item)
	return err
}

// hook calls the function. Should the transaction end on the way - by a statement of the function, or one that
// was interrupted - then nothing may be written as if it were open: another one begins, and the function has failed.
func (w *writer) hook(fn func(provider.Tx) error) error {
	if _, err := w.conn.exec(writerContext(), "SAVEPOINT perdure_hook"); err != nil {
		return err
	}
	err := w.call(fn)
	if _, gone := w.conn.exec(writerContext(), "RELEASE perdure_hook"); gone != nil {
		w.rollback()
		if again := w.begin(); again != nil {
			return again
		}
		if err == nil {
			return &provider.FuncError{Err: fmt.Errorf("%w: the transaction was ended by a statement of the function", provider.ErrInvalid)}
		}
		gone = fmt.Errorf("the transaction was ended by a statement of the function, or because one was interrupted: %w", gone)
		return &provider.FuncError{Err: errors.Join(err, gone)}
	}
	return err
}

// call calls the function in a savepoint of the writer's transaction.
func (w *writer) call(fn func(provider.Tx) error) (err error) {
	db := sql.OpenDB(lender{w.conn})
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(writerContext(), nil)
	if err != nil {
		return err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	if err := fn(provider.Tx{Of: userTx{Tx: tx, Package: "sqlite"}}); err != nil {
		undone := tx.Rollback()
		if broken(err) {
			return err
		}
		if errors.Is(undone, sql.ErrTxDone) || noTransaction(undone) {
			undone = nil
		}
		return &provider.FuncError{Err: errors.Join(err, undone)}
	}
	if err := tx.Commit(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return &provider.FuncError{Err: fmt.Errorf("the function left the transaction unusable: %w", err)}
	}
	return nil
}

// broken tells whether the file is at fault, as against what the function did. It is never busy for its one writer: a function that
// met that wrote past its transaction.
func broken(err error) bool {
	switch code(err) & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_CORRUPT, lib.SQLITE_READONLY:
		return true
	}
	return false
}

// A lender gives the writer's connection to package database/sql for as long as a function of a caller runs: what that takes
// for a transaction is a savepoint.
type lender struct{ conn *conn }

// Connect implements [driver.Connector].
func (l lender) Connect(context.Context) (driver.Conn, error) { return l, nil }

// Driver implements [driver.Connector]; nobody asks.
func (l lender) Driver() driver.Driver { return nil }

// Prepare implements [driver.Conn].
func (l lender) Prepare(query string) (driver.Stmt, error) { return l.conn.raw.Prepare(query) } //nolint:wrapcheck // the caller's own statement

// Close implements [driver.Conn]: the connection stays the writer's.
func (l lender) Close() error { return nil }

// Begin implements [driver.Conn].
func (l lender) Begin() (driver.Tx, error) {
	_, err := l.conn.exec(writerContext(), "SAVEPOINT perdure_function")
	return savepoint(l), err
}

// savepoint is a transaction within the writer's.
type savepoint lender

// Commit implements [driver.Tx].
func (s savepoint) Commit() error {
	_, err := s.conn.exec(writerContext(), "RELEASE perdure_function")
	return err
}

// Rollback implements [driver.Tx].
func (s savepoint) Rollback() error {
	if _, err := s.conn.exec(writerContext(), "ROLLBACK TO perdure_function"); err != nil {
		return err
	}
	return s.Commit()
}
