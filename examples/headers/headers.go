// Package headers shows how a request ID travels from the caller of a client to the activities of an orchestration, of its
// children and of its next execution.
package headers

import (
	"context"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/orchestration"
)

// requestKey is the key of the request ID in a context.
type requestKey struct{}

// WithRequest returns a context of a request. A web service calls it once for each request.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request returns the request ID of a context, "" for none.
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Propagators are for the options of clients and nodes.
func Propagators() []header.Propagator {
	return []header.Propagator{header.Value("request-id", requestKey{})}
}

// Order reserves and ships. Then it continues as new, as orchestrations do that run for long, to send the bill. Its code does
// not know of the request ID.
func Order(ctx *orchestration.Context, done []string) ([]string, error) {
	if len(done) > 0 {
		bill, err := orchestration.CallActivity(ctx, Work, "bill")
		return append(done, bill), err
	}
	reserved, err := orchestration.CallActivity(ctx, Work, "reserve")
	if err != nil {
		return nil, err
	}
	if _, err := orchestration.Events[string](ctx, "packed").Receive(ctx); err != nil {
		return nil, err
	}
	shipped, err := orchestration.CallOrchestration(ctx, Ship, orchestration.None{})
	if err != nil {
		return nil, err
	}
	return nil, orchestration.ContinueAsNew(ctx, []string{reserved, shipped})
}

// Ship is a child of Order.
func Ship(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return orchestration.CallActivity(ctx, Work, "ship")
}

// Work is an activity of all of them. It would log the request ID, or pass it to the services that it calls.
func Work(ctx context.Context, step string) (string, error) {
	return step + " for " + Request(ctx), nil
}
