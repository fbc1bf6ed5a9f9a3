package sqlite

import (
	"context"
	"errors"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
)

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
