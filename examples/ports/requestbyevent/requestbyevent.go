// Package requestbyevent answers requests that come as events, for callers that cannot wait on a connection. An answer goes back by an
// activity, to the address in the request. A caller without an address asks for it with client.Query. See also requestbyupdate.
package requestbyevent

import (
	"context"
	"errors"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Request is what a caller wants.
type Request struct {
	ID      string
	Text    string
	ReplyTo string // where the answer goes; empty: it is asked for
}

// Answer is an answer on its way to a caller.
type Answer struct{ ID, Text, ReplyTo string }

// State is what one execution leaves to the next: the last answers, oldest first.
type State struct{ Kept []Answer }

const (
	page = 500 // requests of one execution
	keep = 100 // answers that can be asked for
)

// ErrUnknown says that there is no such answer: not yet, or no more.
var ErrUnknown = errors.New("there is no answer with this ID")

// Serve answers requests, one after the other, until it is cancelled.
func Serve(ctx *orchestration.Context, s State) (orchestration.None, error) {
	orchestration.HandleQuery(ctx, "answer", func(id string) (string, error) {
		for _, a := range s.Kept {
			if a.ID == id {
				return a.Text, nil
			}
		}
		return "", ErrUnknown
	})
	ctx = ctx.WithActivityOptions(orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 10}))
	requests := orchestration.Events[Request](ctx, "request")
	for range page {
		r, err := requests.Receive(ctx)
		if err != nil {
			return orchestration.None{}, err
		}
		text, err := orchestration.CallActivity(ctx, Upper, r.Text)
		if err != nil {
			text = "sorry: " + err.Error()
		}
		answer := Answer{ID: r.ID, Text: text, ReplyTo: r.ReplyTo}
		if answer.ReplyTo == "" {
			s.Kept = append(s.Kept, answer)
			s.Kept = s.Kept[max(0, len(s.Kept)-keep):]
			continue
		}
		if _, err := orchestration.CallActivity(ctx, Reply, answer); err != nil {
			ctx.Logger().Warn("a caller is out of reach", "request", r.ID, "err", err)
		}
	}
	return orchestration.None{}, orchestration.ContinueAsNew(ctx, s)
}

// Upper stands for the work.
func Upper(_ context.Context, text string) (string, error) { return strings.ToUpper(text), nil }

// Reply sends an answer to its caller, who drops repeats by the ID.
func Reply(ctx context.Context, a Answer) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "reply", "to", a.ReplyTo, "request", a.ID)
	return activity.None{}, nil
}
