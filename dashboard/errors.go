package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/perdure/perdure/client"
)

// statuses has the HTTP statuses of the codes that client.Code returns. All others have 500.
//
//nolint:gochecknoglobals // constant table
var statuses = map[string]int{
	"forbidden":            http.StatusForbidden,
	"store-read-only":      http.StatusForbidden,
	"moved":                http.StatusGone,
	"outcome-gone":         http.StatusGone,
	"not-found":            http.StatusNotFound,
	"not-set":              http.StatusNotFound,
	"not-stored":           http.StatusConflict,
	"exists":               http.StatusConflict,
	"clock-behind":         http.StatusConflict,
	"running":              http.StatusConflict,
	"ended":                http.StatusConflict,
	"conflict":             http.StatusConflict,
	"superseded":           http.StatusConflict,
	"closing":              http.StatusConflict,
	"update-differs":       http.StatusConflict,
	"discarded":            http.StatusConflict,
	"abandoned":            http.StatusConflict,
	"not-carried":          http.StatusConflict,
	"upgrade-not-finished": http.StatusConflict,
	"blocked":              http.StatusConflict,
	"activity-timeout":     http.StatusConflict,
	"lease-lost":           http.StatusConflict,
	"already-completed":    http.StatusConflict,
	"activity-cancelled":   http.StatusConflict,
	"not-cancelled":        http.StatusConflict,
	"busy":                 http.StatusConflict,
	"not-ended":            http.StatusConflict,
	"damaged-file":         http.StatusBadRequest,
	"newer-file":           http.StatusBadRequest,
	"invalid":              http.StatusBadRequest,
	"payload":              http.StatusBadRequest,
	"bad-point":            http.StatusBadRequest,
	"history-file":         http.StatusBadRequest,
	"no-point":             http.StatusUnprocessableEntity,
	"unsound":              http.StatusUnprocessableEntity,
	"rejected":             http.StatusUnprocessableEntity,
	"update-failed":        http.StatusUnprocessableEntity,
	"unknown-update":       http.StatusUnprocessableEntity,
	"panicked":             http.StatusUnprocessableEntity,
	"unknown-query":        http.StatusUnprocessableEntity,
	"query-failed":         http.StatusUnprocessableEntity,
	"query-refused":        http.StatusUnprocessableEntity,
	"query-panicked":       http.StatusUnprocessableEntity,
	"not-replayed":         http.StatusUnprocessableEntity,
	"no-node":              http.StatusServiceUnavailable,
	"unserved":             http.StatusServiceUnavailable,
	"closed":               http.StatusServiceUnavailable,
	"too-large":            http.StatusRequestEntityTooLarge,
	"inbox-full":           http.StatusTooManyRequests,
	"overloaded":           http.StatusTooManyRequests,
	"query-timeout":        http.StatusGatewayTimeout,
	"outcome-unknown":      http.StatusBadGateway,
	"unsupported":          http.StatusNotImplemented,
}

// classify returns the status and the code of an error. The code is that of client.Code, or one of this package for what only HTTP knows.
// The latter are no codes of client.Code.
func classify(err error) (status int, code string) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status, r.code
	}
	code = client.Code(err)
	if status := statuses[code]; status != 0 {
		return status, code
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "request-timeout"
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, "request-cancelled"
	default:
		return http.StatusInternalServerError, cmp.Or(code, "internal")
	}
}

// badInput is an error of the request's input.
func badInput(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "invalid", format, args...)
}
