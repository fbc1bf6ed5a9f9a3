// Package fork tries a failed instance again from its failed step, after the cause was mended. The steps before keep their results.
// client.Fork makes another instance from a point of the history. client.Reset would do the same in place.
package fork

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Report gathers data for hours and renders it.
func Report(ctx *orchestration.Context, month string) (string, error) {
	data, err := orchestration.CallActivity(ctx, Gather, month)
	if err != nil {
		return "", err
	}
	return orchestration.CallActivity(ctx, Render, data)
}

// Again starts a copy of a failed report that goes on with its last failed activity.
func Again(ctx context.Context, c *client.Client, id, copyID string) (client.Handle[string], error) {
	h, err := client.Lookup[string](ctx, c, id)
	if err != nil {
		return h, err
	}
	at := int64(0)
	for event, err := range h.History(ctx, 0) { // 0: the current execution
		if err != nil {
			return h, err
		}
		if event.Kind == "ActivityFailed" {
			at = event.ID // the copy stands directly before it, so the activity runs there
		}
	}
	if at == 0 {
		return h, fmt.Errorf("report %s: no activity has failed", id)
	}
	return client.Fork(ctx, h, at, copyID, client.WithReason("the template was mended"))
}

// ErrTemplate says that the template of the report is broken.
var ErrTemplate = errors.New("the template is broken")

// Gather stands for hours of work.
func Gather(_ context.Context, month string) (string, error) { return "data of " + month, nil }

// Render makes a page of the data.
func Render(_ context.Context, data string) (string, error) { return "<h1>" + data + "</h1>", nil }
