package sqlite

import (
	"context"
	"errors"
	"fmt"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
)

// ErrReadOnly is in the error of every call that would change a store opened with [Options].ReadOnly. The call changed nothing,
// and a retry does not help.
var ErrReadOnly = provider.ErrReadOnly

// failed wraps an error of the storage for callers. Errors of the contract and of contexts pass unchanged.
func failed(op string, err error, outcome provider.Outcome) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok || isAnswer(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &provider.Error{Op: op, Outcome: outcome, Retryable: !permanent(err), Err: err}
}

// isAnswer reports whether err is one that the contract names for a call that changed nothing.
func isAnswer(err error) bool { return provider.OutcomeOf(err) == provider.OutcomeNothing }

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// permanent reports whether a retry cannot help. A disk that is full or read-only may be repaired while callers go on trying.
func permanent(err error) bool {
	switch code(err) & 0xff {
	case lib.SQLITE_NOTADB, lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH, lib.SQLITE_ERROR:
		return true
	}
	return damaged(err)
}

// damaged reports whether stored data cannot be read.
func damaged(err error) bool {
	return errors.Is(err, errRow) || brokenPage(err)
}

// brokenPage reports whether SQLite found a broken page.
func brokenPage(err error) bool { return code(err)&0xff == lib.SQLITE_CORRUPT }

// ownFault reports whether a failed statement concerns only the member that ran it. Then the transaction is whole and the
// others go on.
func ownFault(err error) bool {
	if isAnswer(err) || damaged(err) {
		return true
	}
	switch code(err) & 0xff {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH, lib.SQLITE_RANGE:
		return true
	}
	return false
}

func refused(op string) error {
	return &provider.Error{Op: op, Outcome: provider.OutcomeNothing, Err: ErrReadOnly}
}

// commitError marks a COMMIT that failed: whether it is on disk is unknown.
type commitError struct{ err error }

func (e *commitError) Error() string { return fmt.Sprintf("commit: %v", e.err) }

func (e *commitError) Unwrap() error { return e.err }

// outcomeOfAbort returns what is known of a group's writes. When the disk was full, the log lacks the mark of the commit,
// which is written last: the group was not committed.
func outcomeOfAbort(err error) provider.Outcome {
	if _, ok := errors.AsType[*commitError](err); ok && code(err)&0xff != lib.SQLITE_FULL && !refusedCommit(err) {
		return provider.OutcomeUnknown
	}
	return provider.OutcomeNothing
}

// refusedCommit reports whether a COMMIT failed because of a constraint that is first checked there.
func refusedCommit(err error) bool {
	_, ok := errors.AsType[*commitError](err)
	return ok && code(err)&0xff == lib.SQLITE_CONSTRAINT
}

// noTransaction reports whether a ROLLBACK failed because SQLite had rolled back itself.
func noTransaction(err error) bool { return code(err)&0xff == 1 }

// explain explains why SQLite refuses a file, and what to do.
func explain(err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: the file is not a SQLite database; give another path, or move the file away: %w", provider.ErrNotStore, err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("the SQLite file is damaged; restore a backup, or take out what can be read with sqlite3's .dump: %w", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("the file or its directory cannot be written; check their owner and mode and that the disk is mounted for writing, "+
			"or open it with ReadOnly to look only: %w", err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("another process holds a lock on the file for long; try again, or end its transaction: %w", err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("the disk is full; make room: %w", err)
	}
	return err
}
