// Package debounce rebuilds an index when its document has not changed for five minutes, and after an hour at the latest. Each change starts
// an instance or reaches the one that waits: client.WithEvent sends it with the start, in one commit.
package debounce

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

const (
	quiet = 5 * time.Minute
	most  = time.Hour
)

// Rebuild takes changes until there is a pause, and indexes the last one. It ends when no other change has come meanwhile.
func Rebuild(ctx *orchestration.Context, _ string) (orchestration.None, error) {
	changes := orchestration.Events[string](ctx, "change")
	text, err := changes.Receive(ctx)
	for err == nil {
		for until := ctx.Now().Add(most); err == nil; {
			var later string
			if later, err = changes.Receive(ctx, orchestration.Within(min(quiet, until.Sub(ctx.Now())))); err == nil {
				text = later
			}
		}
		if !errors.Is(err, orchestration.ErrTimeout) {
			break
		}
		if _, err = orchestration.CallActivity(ctx, Index, text, orchestration.WithRetry(orchestration.RetryPolicy{})); err != nil {
			break
		}
		later, more, err := changes.TryReceive()
		if err != nil || !more {
			return orchestration.None{}, err
		}
		text = later
	}
	return orchestration.None{}, err
}

// Change tells of a change of a document: the instance that waits gets it, or a new one begins with it.
func Change(ctx context.Context, c *client.Client, document, text string) error {
	_, err := client.Start(ctx, c, Rebuild, document, client.WithID("index/"+document), client.WithEvent("change", text),
		client.WithIDPolicy(client.UseRunning))
	return err
}

// Index stands for the expensive work.
func Index(ctx context.Context, text string) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "index", "bytes", len(text))
	return activity.None{}, nil
}
