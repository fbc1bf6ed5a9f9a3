package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// The outermost sentinel decides: what a handler of a query has met is not what the call has met.
func TestErrorsInHTTP(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{client.ErrMoved, http.StatusGone, "moved"},
		{fmt.Errorf("%w: %w", client.ErrQueryFailed, client.ErrNotFound), http.StatusUnprocessableEntity, "query-failed"},
		{fmt.Errorf("%w: %w", client.ErrInvalid, orchestration.ErrPayload), http.StatusBadRequest, "invalid"},
		{fmt.Errorf("%w: %w", client.ErrOutcomeUnknown, context.DeadlineExceeded), http.StatusBadGateway, "outcome-unknown"},
		{access.Doubt(provider.ErrClosed, true, "repeat it"), http.StatusBadGateway, "outcome-unknown"},
		{access.Doubt(client.ErrUnserved, true, "repeat it"), http.StatusBadGateway, "outcome-unknown"},
		{access.Doubt(client.ErrUnserved, false, "repeat it"), http.StatusServiceUnavailable, "unserved"},
		{client.ErrBadPoint, http.StatusBadRequest, "bad-point"},
		{client.ErrNoPoint, http.StatusUnprocessableEntity, "no-point"},
		{&provider.Error{Op: "list", Err: errors.ErrUnsupported}, http.StatusNotImplemented, "unsupported"},
		{&provider.Error{Op: "list", Err: errors.New("disk")}, http.StatusInternalServerError, "storage"},
		{&provider.Error{Op: "list", Err: context.DeadlineExceeded}, http.StatusGatewayTimeout, "request-timeout"},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, "request-timeout"},
		{context.Canceled, http.StatusServiceUnavailable, "request-cancelled"},
		{errors.New("anything"), http.StatusInternalServerError, "internal"},
		{badInput("no"), http.StatusBadRequest, "invalid"},
	} {
		if status, code := classify(fmt.Errorf("doing: %w", c.err)); status != c.status || code != c.code {
			t.Errorf("%v: %d, %q, want %d, %q", c.err, status, code, c.status, c.code)
		}
	}
}
