// Package contextpropagation carries the user of a request from the context of a caller to all activities that run for it, in children and
// after continue-as-new too. An interceptor refuses what has no user.
package contextpropagation

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/orchestration"
)

type userKey struct{}

// WithUser returns a context in the name of a user.
func WithUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// User returns the user of a context, "" for none.
func User(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// Propagators carry the user. They are for the options of nodes and clients.
func Propagators() []header.Propagator { return []header.Propagator{header.Value("user", userKey{})} }

// ErrNobody is the error of a start without a user.
var ErrNobody = errors.New("nobody has asked for it")

// Asked is an interceptor of clients that lets nobody start something without a user.
type Asked struct{ client.InterceptorBase }

// Act is called around each act of a client.
func (Asked) Act(ctx context.Context, call *client.Call, next func(context.Context) error) error {
	if call.Act == client.ActStart && User(ctx) == "" {
		return ErrNobody
	}
	return next(ctx)
}

// Checked is an interceptor of activities that lets none run without a user.
type Checked struct{ activity.InterceptorBase }

// Attempt is called around each attempt of an activity.
func (Checked) Attempt(
	ctx context.Context, input json.RawMessage, next func(context.Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	if User(ctx) == "" {
		return nil, ErrNobody
	}
	return next(ctx, input)
}

// Report writes the chapters of a report, each in a child, and goes on with the rest of them in its next execution.
func Report(ctx *orchestration.Context, chapters []string) (string, error) {
	if len(chapters) == 0 {
		return orchestration.CallActivity(ctx, Sign, "report")
	}
	if _, err := orchestration.CallOrchestration(ctx, Chapter, chapters[0]); err != nil {
		return "", err
	}
	return "", orchestration.ContinueAsNew(ctx, chapters[1:])
}

// Chapter writes a chapter.
func Chapter(ctx *orchestration.Context, title string) (string, error) {
	return orchestration.CallActivity(ctx, Sign, title)
}

// Sign signs a text in the name of the user.
func Sign(ctx context.Context, text string) (string, error) { return text + ", by " + User(ctx), nil }
