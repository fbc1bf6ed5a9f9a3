package dashboard

import (
	"context"
	"errors"
	"net/http"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
)

// meaning is what an error of the client means in HTTP.
type meaning struct {
	err    error
	status int
	code   string
}

// meanings are looked through in order: the first that an error is counts.
//
//nolint:gochecknoglobals // constant table
var meanings = []meaning{
	{client.ErrForbidden, http.StatusForbidden, "forbidden"},
	{client.ErrMoved, http.StatusGone, "moved"}, // it is ErrNotFound, too
	{client.ErrNotFound, http.StatusNotFound, "not-found"},
	{client.ErrNotSet, http.StatusNotFound, "not-set"},
	{client.ErrNotStored, http.StatusConflict, "not-stored"},
	{client.ErrExists, http.StatusConflict, "exists"},
	{operate.ErrDamagedFile, http.StatusBadRequest, "damaged-file"},
	{operate.ErrNewerFile, http.StatusBadRequest, "newer-file"},
	{operate.ErrClockBehind, http.StatusConflict, "clock-behind"},
	{operate.ErrUnsound, http.StatusUnprocessableEntity, "unsound"},
	{client.ErrNoNode, http.StatusServiceUnavailable, "no-node"},
	{client.ErrRunning, http.StatusConflict, "running"},
	{client.ErrEnded, http.StatusConflict, "ended"},
	{client.ErrConflict, http.StatusConflict, "conflict"},
	{client.ErrSuperseded, http.StatusConflict, "superseded"},
	{client.ErrClosing, http.StatusConflict, "closing"},
	{client.ErrUpdateDiffers, http.StatusConflict, "update-differs"},
	{client.ErrDiscarded, http.StatusConflict, "discarded"},
	{client.ErrAbandoned, http.StatusConflict, "abandoned"},
	{client.ErrNotCarried, http.StatusConflict, "not-carried"},
	{client.ErrNotFinished, http.StatusConflict, "upgrade-not-finished"},
	{client.ErrOutcomeGone, http.StatusGone, "outcome-gone"},
	{client.ErrRejected, http.StatusUnprocessableEntity, "rejected"},
	{client.ErrUpdateFailed, http.StatusUnprocessableEntity, "update-failed"},
	{client.ErrUnknownUpdate, http.StatusUnprocessableEntity, "unknown-update"},
	{client.ErrPanicked, http.StatusUnprocessableEntity, "panicked"},
	{client.ErrUnknownQuery, http.StatusUnprocessableEntity, "unknown-query"},
	{client.ErrQueryFailed, http.StatusUnprocessableEntity, "query-failed"},
	{client.ErrQueryRefused, http.StatusUnprocessableEntity, "query-refused"},
	{client.ErrQueryPanicked, http.StatusUnprocessableEntity, "query-panicked"},
	{client.ErrNotReplayed, http.StatusUnprocessableEntity, "not-replayed"},
	{client.ErrBlocked, http.StatusConflict, "blocked"},
	{activity.ErrTimeout, http.StatusConflict, "activity-timeout"},
	{activity.ErrLeaseLost, http.StatusConflict, "lease-lost"},
	{activity.ErrAlreadyCompleted, http.StatusConflict, "already-completed"},
	{activity.ErrCancelled, http.StatusConflict, "activity-cancelled"},
	{activity.ErrNotCancelled, http.StatusConflict, "not-cancelled"},
	{client.ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{client.ErrInvalid, http.StatusBadRequest, "invalid"},
	{orchestration.ErrPayload, http.StatusBadRequest, "payload"},
	{client.ErrInboxFull, http.StatusTooManyRequests, "inbox-full"},
	{client.ErrOverloaded, http.StatusTooManyRequests, "overloaded"},
	{client.ErrUnserved, http.StatusServiceUnavailable, "unserved"},
	{client.ErrBusy, http.StatusConflict, "busy"},
	{client.ErrQueryTimeout, http.StatusGatewayTimeout, "query-timeout"},
	{client.ErrOutcomeUnknown, http.StatusBadGateway, "outcome-unknown"},
	{client.ErrClosed, http.StatusServiceUnavailable, "closed"},
	{errors.ErrUnsupported, http.StatusNotImplemented, "unsupported"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout"},
	{context.Canceled, http.StatusServiceUnavailable, "cancelled"},
}

// classify returns the status and the code of an error.
func classify(err error) (status int, code string) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status, r.code
	}
	for i := range meanings {
		if errors.Is(err, meanings[i].err) {
			return meanings[i].status, meanings[i].code
		}
	}
	return http.StatusInternalServerError, "internal"
}

// badInput is an error of the request's input.
func badInput(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "invalid", format, args...)
}
