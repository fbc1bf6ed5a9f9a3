package client

import (
	"errors"

	"github.com/perdure/perdure/internal/sealing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/moving"
	"github.com/perdure/perdure/provider"
)

// Codes of errors that are no sentinels of perdure.
const (
	codeStorage     = "storage"     // a *provider.Error
	codeUnsupported = "unsupported" // errors.ErrUnsupported
)

// sentinelCode is the code of a sentinel.
type sentinelCode struct {
	err  error
	code string
}

// sentinelCodes has the sentinels of all packages but those that histories hold, whose codes are stored. See failure.Code.
// A code never changes.
//
//nolint:gochecknoglobals // constant table
var sentinelCodes = []sentinelCode{
	{ErrRunning, "running"},
	{ErrMoved, "moved"},
	{ErrConflict, "conflict"},
	{ErrForeignTx, "foreign-tx"},
	{ErrClosed, "closed"},
	{ErrOverloaded, "overloaded"},
	{ErrFailed, "failed"},
	{ErrBlocked, "blocked"},
	{ErrForbidden, "forbidden"},
	{ErrBusy, "busy"},
	{ErrNoNode, "no-node"},
	{ErrHistoryFile, "history-file"},
	{ErrNotEnded, "not-ended"},
	{ErrEncrypted, "encrypted"},
	{sealing.ErrCodec, "codec"},
	{ErrNotSet, "not-set"},
	{ErrNotStored, "not-stored"},
	{ErrBadPoint, "bad-point"},
	{ErrNoPoint, "no-point"},
	{ErrSuperseded, "superseded"},
	{ErrUnserved, "unserved"},
	{ErrUnknownQuery, "unknown-query"},
	{ErrQueryFailed, "query-failed"},
	{ErrQueryRefused, "query-refused"},
	{ErrQueryPanicked, "query-panicked"},
	{ErrQueryTimeout, "query-timeout"},
	{ErrNotReplayed, "not-replayed"},
	{ErrRejected, "rejected"},
	{ErrUnknownUpdate, "unknown-update"},
	{ErrPanicked, "panicked"},
	{ErrClosing, "closing"},
	{ErrUpdateFailed, "update-failed"},
	{ErrAbandoned, "abandoned"},
	{ErrNotCarried, "not-carried"},
	{ErrOutcomeGone, "outcome-gone"},
	{ErrDiscarded, "discarded"},
	{ErrUpdateDiffers, "update-differs"},
	{ErrNotFinished, "upgrade-not-finished"},

	{failure.ErrRegistration, "registration"},
	{failure.ErrLeaked, "leaked"},
	{failure.ErrTooManyLeaks, "too-many-leaks"},

	{activity.ErrOrchestrationEnded, "orchestration-ended"},
	{activity.ErrOrchestrationMissing, "orchestration-missing"},
	{activity.ErrCancelled, "activity-cancelled"},
	{activity.ErrTimeout, "activity-timeout"},
	{activity.ErrLeaseLost, "lease-lost"},
	{activity.ErrShutdown, "shutdown"},
	{activity.ErrPending, "pending"},
	{activity.ErrParked, "parked"},
	{activity.ErrAlreadyCompleted, "already-completed"},
	{activity.ErrNotCancelled, "not-cancelled"},

	{moving.ErrDamaged, "damaged-file"},
	{moving.ErrNewer, "newer-file"},
	{moving.ErrUnsound, "unsound"},

	{provider.ErrLeaseLost, "lease-not-held"},
	{provider.ErrInboxNotEmpty, "inbox-not-empty"},
	{provider.ErrNoAnswer, "no-answer"},
	{provider.ErrNewerSchema, "newer-schema"},
	{provider.ErrNotStore, "not-a-store"},
	{provider.ErrClockBehind, "clock-behind"},
	{provider.ErrReadOnly, "store-read-only"},
}

// Code returns the stable code of an error of any package of perdure but those for tests, such as "not-found", for programs, logs and metrics.
// It has lower-case words joined by hyphens and never changes. docs/reference/errors.md has them all.
//
// An error that wraps several sentinels has the code of the outermost one: the code of the error of Wait is "failed", whatever the
// instance failed of. A failure of the storage, a *provider.Error, has the code "storage" unless it wraps a sentinel, and
// errors.ErrUnsupported has "unsupported". The code of nil and of all other errors is "". Many goroutines may call Code at once.
func Code(err error) string {
	if code := outermost(err); code != "" {
		return code
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return codeUnsupported
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return codeStorage
	}
	return ""
}

// outermost walks the tree of an error as errors.Is does. It compares each error with all sentinels before it goes on to those that the error
// wraps.
func outermost(err error) string {
	if err == nil {
		return ""
	}
	if code := failure.Code(err); code != "" {
		return code
	}
	is, asks := err.(interface{ Is(target error) bool })
	for i := range sentinelCodes {
		if s := &sentinelCodes[i]; err == s.err || asks && is.Is(s.err) { //nolint:errorlint // the value itself
			return s.code
		}
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			if code := outermost(cause); code != "" {
				return code
			}
		}
	case interface{ Unwrap() error }:
		return outermost(e.Unwrap())
	}
	return ""
}
