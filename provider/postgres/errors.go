package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// SQLSTATE codes and classes that this package handles.
const (
	stateUnique      = "23505"
	stateDivision    = "22012"
	stateCancelled   = "57014" // also if a lock is granted just as its timeout fires
	stateLockTimeout = "55P03"
	stateDeadlock    = "40P01"
	stateNoColumn    = "42703"
	stateForbidden   = "42501"
	stateReadOnly    = "25006"
	stateNoStatement = "26000"                 // a prepared statement was removed, or a pooler changed the connection
	stateTwice       = "42P05"                 // a statement of this name was prepared already
	stateOldPlan     = "0A000"                 // or the columns of its tables changed
	oldPlan          = "RevalidateCachedQuery" // the routine that reports an old plan; the state alone means any unsupported feature
	// A savepoint was requested outside of a transaction.
	stateNoTransaction = "25P01"
)

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isUnique reports whether a unique index with this prefix refused a row.
func isUnique(err error, index string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == stateUnique && strings.HasPrefix(e.ConstraintName, index)
}

// isAnswer reports whether err is a refusal of the contract: nothing happened and nothing is broken.
func isAnswer(err error) bool { return provider.OutcomeOf(err) == provider.OutcomeNothing }

// failed converts an error of the database for callers. Refusals of the contract stay as they are.
func failed(op string, err error, outcome provider.Outcome) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok || isAnswer(err) {
		return err
	}
	if state := sqlState(err); state == stateNoStatement || state == stateTwice {
		err = fmt.Errorf("%w; %s", err, setPooler)
	}
	return &provider.Error{Op: op, Outcome: outcome, Retryable: !permanent(err), Err: err}
}

// setPooler is the advice for errors that a pooler causes.
const setPooler = "if the connections go through a pooler such as PgBouncer, set Options.Pooler, and Options.ListenURL to the server's own URL"

// permanent reports whether a retry cannot help, because the data or the schema is at fault. An error of a read-only
// server is not permanent: it may be a standby that is promoted soon.
func permanent(err error) bool {
	state := sqlState(err)
	if len(state) != 5 || state == stateUnique {
		return errors.Is(err, errRow)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Routine == oldPlan {
		return false // another connection plans anew
	}
	switch state[:2] {
	case "22", "23", "28", "3D", "42", "54", "0A", "3F":
		return true
	case "XX": // XX001 data corrupted, XX002 index corrupted
		return state != "XX000"
	}
	return false
}

// outcomeOf returns what is known of a transaction whose COMMIT, sent last, returned err. An error of the server means
// that it rolled back. All other errors may have come after the commit, unless nothing was sent. The last error of a
// server that goes down may, too, and so may that of a pooler whose server is gone.
func outcomeOf(err error) provider.Outcome {
	state := sqlState(err)
	switch {
	case unsent(err):
		return provider.OutcomeNothing
	case state == "" || ends(err):
		return provider.OutcomeUnknown
	case state[:2] == "57" || state[:2] == "08" || state[:2] == "40" && state == "40003":
		return provider.OutcomeUnknown // the server is going down
	}
	return provider.OutcomeNothing
}

// ends reports whether the server ended the connection with the error.
func ends(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	severity := cmp.Or(e.SeverityUnlocalized, e.Severity)
	return severity == "FATAL" || severity == "PANIC"
}

// errRow marks a stored row that cannot be read.
var errRow = relational.ErrRow

// unsent reports whether err occurred before anything was sent.
func unsent(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting || pgconn.SafeToRetry(err)
}

// lost reports whether the server or the connection is at fault, and not a statement.
func lost(err error) bool {
	state := sqlState(err)
	if len(state) != 5 || state == stateReadOnly {
		return true
	}
	switch state[:2] {
	case "08", "53", "57", "58":
		return true
	}
	return false
}

// isSerialization reports whether the server ended a transaction in favour of another one.
func isSerialization(err error) bool {
	return strings.HasPrefix(sqlState(err), "40")
}

// needError requests a transaction that begins with more than the calls' own needs.
type needError struct {
	needs relational.Needs
	turns []relational.TurnKind
	tasks []relational.TaskKind

	numbers []int64 // of kinds that this process does not know
}

func (e *needError) Error() string { return fmt.Sprintf("more is needed: %+v", *e) }

// kind reports whether kinds are missing.
func (e *needError) kind() bool { return len(e.turns)+len(e.tasks)+len(e.numbers) > 0 }

// errHeld is returned if another transaction holds what a call needs.
var errHeld = errors.New("another transaction holds the instance")

// errOwnTx is returned if a call cannot share its transaction. A group writes nothing before its end. So a refused call
// can be rolled back, and no call waits for locks of another one in its group.
var errOwnTx = errors.New("the call needs a transaction of its own")

// needsMore reports whether a call could not be judged in a group.
func needsMore(err error) bool {
	_, need := errors.AsType[*needError](err)
	return need || errors.Is(err, errHeld) || errors.Is(err, errOwnTx)
}
