package sqlite

import (
	"context"
	"errors"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/provider"
)

// failed gives an error of the storage its form for callers. Answers of the contract and
// errors of contexts go through as they are.
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

// isAnswer tells whether err is an answer of the contract: nothing happened, all is well.
func isAnswer(err error) bool { return provider.OutcomeOf(err) == provider.OutcomeNothing }

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// permanent tells whether repeating cannot help. A disk that is full, or mounted for reading
// only, is mended by a person while the callers go on trying.
func permanent(err error) bool {
	switch code(err) & 0xff {
	case lib.SQLITE_NOTADB, lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH, lib.SQLITE_ERROR:
		return true
	}
	return damaged(err)
}

// damaged tells whether something that is stored cannot be read.
func damaged(err error) bool {
	return errors.Is(err, errRow) || brokenPage(err)
}

// brokenPage tells whether SQLite found a page broken.
func brokenPage(err error) bool { return code(err)&0xff == lib.SQLITE_CORRUPT }

// ownFault tells whether a failed statement concerns the member that ran it alone: the
// transaction is whole and the others go on.
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
