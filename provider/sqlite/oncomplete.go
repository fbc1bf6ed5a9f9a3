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

// OnComplete registers a function to run inside the transaction that completes the running activity of ctx. Its changes to the
// file's other tables through tx are stored exactly once, if and only if the activity's result is. It runs after the
// activity has returned without an error. Its error fails the attempt, which is then retried by the call's policy. Several
// functions run in the order in which they were registered.
//
// The function should be quick and only work on tx, because all other writers of the file wait for it. It may run again, in
// another transaction, if the first one could not be committed. Committing or rolling back tx concerns only what the function
// did. The function must not end the transaction by a statement. Foreign keys are enforced. Calls of the store with the
// activity's context are refused, except with InTx(tx), because they would wait for the function.
//
// An activity whose store is not a SQLite store fails with [provider.ErrForeignTx] when it completes. OnComplete returns
// [provider.ErrInvalid] for a context that is not a running activity's, and for a nil function.
func OnComplete(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return relational.OnComplete(ctx, "sqlite", fn)
}

// CompleteIn implements [provider.Transactor]. The call has a group of its own, because a statement of the function that is
// interrupted ends the whole transaction.
func (tr *transactor) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (res provider.TaskReportResult, err error) {
	req := provider.ReportTasksRequest{Items: []provider.TaskReport{item}}
	if err := req.Validate(); err != nil {
		return res, err
	}
	m := &relational.Member{Op: "complete task", Exclusive: true}
	//nolint:contextcheck // a group belongs to no caller
	res, err = relational.Do(ctx, tr.enqueue, m, false, func(t *relational.Tx, res *provider.TaskReportResult) error {
		return tr.store.writer.complete(t, &item, fn, res)
	})
	if refusedCommit(err) { // the store itself defers no constraint
		err = &provider.FuncError{Err: err}
	}
	return res, err
}

// complete runs fn and then the report. It runs fn only if there is something to complete.
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
		// The function may have started instances, or sent to this one. So all that is cached of the file is stale, and all fetches
		// are tried.
		w.committer.forget()
		w.tx.schedule.stale, w.others.changed = true, true
		t.Changes++
	}
	*res, err = t.Report(item)
	return err
}

// hook calls the function. A statement of the function, or one that was interrupted, may have ended the transaction. Then
// nothing may be written as if it were open: another one begins, and the function has failed.
func (w *writer) hook(fn func(provider.Tx) error) error {
	if _, err := w.conn.exec(writerContext(), "SAVEPOINT perdure_hook"); err != nil {
		return err
	}
	err := callInSavepoint(w.conn, fn)
	if _, gone := w.conn.exec(writerContext(), "RELEASE perdure_hook"); gone != nil {
		w.committer.rollback()
		if again := w.committer.begin(); again != nil {
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

// callInSavepoint calls the function in a savepoint of the writer's transaction.
func callInSavepoint(c *conn, fn func(provider.Tx) error) (err error) {
	db := sql.OpenDB(hookConn{c})
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

// broken reports whether the file is at fault, and not the function. The file is never busy for its one writer: a function
// that finds it busy has written outside of its transaction.
func broken(err error) bool {
	switch code(err) & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_CORRUPT, lib.SQLITE_READONLY:
		return true
	}
	return false
}

// A hookConn gives the writer's connection to package database/sql while a function of a caller runs. Its transactions are
// savepoints.
type hookConn struct{ conn *conn }

// Connect implements [driver.Connector].
func (h hookConn) Connect(context.Context) (driver.Conn, error) { return h, nil }

// Driver implements [driver.Connector]. It is not used.
func (h hookConn) Driver() driver.Driver { return nil }

// Prepare implements [driver.Conn].
func (h hookConn) Prepare(query string) (driver.Stmt, error) { return h.conn.raw.Prepare(query) } //nolint:wrapcheck // the caller's own statement

// Close implements [driver.Conn]. The connection stays the writer's.
func (h hookConn) Close() error { return nil }

// Begin implements [driver.Conn].
func (h hookConn) Begin() (driver.Tx, error) {
	_, err := h.conn.exec(writerContext(), "SAVEPOINT perdure_function")
	return savepoint(h), err
}

// savepoint is a transaction within the writer's.
type savepoint hookConn

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
