// Package requestbyupdate answers requests while the caller waits: client.Update. No address and no polling is needed. The ID of the request
// makes it repeatable, so a caller that has lost its connection asks again and gets the same answer. See also requestbyevent.
package requestbyupdate

import (
	"context"
	"errors"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// page is how many requests one execution answers. It keeps the history short.
const page = 500

// Serve answers requests, several at a time, and returns the number of them when the event "stop" comes.
func Serve(ctx *orchestration.Context, answered int) (int, error) {
	begun, stopped := 0, false
	orchestration.HandleUpdate(ctx, "request", func(ctx *orchestration.Context, text string) (string, error) {
		begun++
		answer, err := orchestration.CallActivity(ctx, Upper, text, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 10}))
		answered++
		return answer, err
	}, orchestration.Validate(func(text string) error {
		if text == "" {
			return errors.New("there is nothing to do")
		}
		return nil
	}))
	orchestration.HandleEvent(ctx, "stop", func(*orchestration.Context, orchestration.None) error {
		stopped = true
		return nil
	})
	if err := ctx.Await(func() bool { return stopped || begun >= page }); err != nil {
		return answered, err
	}
	if stopped {
		err := ctx.AwaitHandlers()
		return answered, err
	}
	return answered, orchestration.ContinueAsNewAfterHandlers(ctx, func() int { return answered })
}

// Ask returns the answer to a request. A repeat with the same ID does nothing again.
func Ask(ctx context.Context, h client.Handle[int], id, text string) (string, error) {
	return client.Update[string](ctx, h, "request", text, client.WithUpdateID(id))
}

// Upper stands for the work.
func Upper(_ context.Context, text string) (string, error) { return strings.ToUpper(text), nil }
