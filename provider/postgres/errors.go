package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure/provider"
)

// SQLSTATE codes and classes that this package knows.
const (
	stateUnique      = "23505"
	stateDivision    = "22012"
	stateCancelled   = "57014" // also where a lock comes just when its timeout does
	stateLockTimeout = "55P03"
	stateDeadlock    = "40P01"
	stateNoColumn    = "42703"
	stateForbidden   = "42501"
	stateReadOnly    = "25006"
	stateNoStatement = "26000"                 // somebody has removed what was prepared, or a pooler has changed the connection
	stateTwice       = "42P05"                 // somebody has prepared it already
	stateOldPlan     = "0A000"                 // or the columns of its tables are others
	oldPlan          = "RevalidateCachedQuery" // says so; the state stands for all that a server cannot do
	// A savepoint was asked for outside of a transaction.
	stateNoTransaction = "25P01"
)

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isUnique tells whether a unique index whose name begins so refused a row.
func isUnique(err error, index string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == stateUnique && strings.HasPrefix(e.ConstraintName, index)
}

// isAnswer tells whether err is an answer of the contract: nothing happened, all is well.
func isAnswer(err error) bool { return provider.OutcomeOf(err) == provider.OutcomeNothing }

// failed gives an error of the database its form for callers. Answers of the contract go
// through as they are.
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

// setPooler is what to do about errors that a pooler causes.
const setPooler = "if the connections go through a pooler such as PgBouncer, set Options.Pooler, and Options.ListenURL to the server's own URL"

// permanent tells whether repeating cannot help: the data or the schema is at fault. A
// read-only server may be a standby that is promoted soon, so it is none of these.
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

// outcomeOf tells what is known of a transaction of which the last thing sent, its COMMIT,
// was answered by err. An error of the server means that it has rolled back; all else may have come too late, unless
// nothing was sent. So may the last words of a server, or of a pooler whose server is gone.
func outcomeOf(err error) provider.Outcome {
	state := sqlState(err)
	switch {
	case unsent(err):
		return provider.OutcomeNothing
	case state == "" || ends(err):
		return provider.OutcomeUnknown
	case state[:2] == "57" || state[:2] == "08" || state[:2] == "40" && state == "40003":
		return provider.OutcomeUnknown // the server goes down, or says so itself
	}
	return provider.OutcomeNothing
}

// ends tells whether the server has ended the connection with the error.
func ends(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	severity := cmp.Or(e.SeverityUnlocalized, e.Severity)
	return severity == "FATAL" || severity == "PANIC"
}

// errRow marks a stored row that cannot be read.
var errRow = errors.New("unreadable row")

// unsent tells whether err came before anything was sent.
func unsent(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting || pgconn.SafeToRetry(err)
}

// lost tells whether the server or the way to it is at fault, as against a statement.
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

// isSerialization tells whether the server gave up a transaction for the sake of another one.
func isSerialization(err error) bool {
	return strings.HasPrefix(sqlState(err), "40")
}
