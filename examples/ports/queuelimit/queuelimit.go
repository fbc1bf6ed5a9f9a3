// Package queuelimit sends documents to a service that bears five at a time, and twenty in a minute. runtime.QueueLimit bounds the activities
// of a queue on all nodes together. A thousand instances may wait then: they cost a row each, and no goroutine.
package queuelimit

import (
	"context"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Queue is the queue of the service.
const Queue = "translate"

// Limits go to all nodes that serve the queue.
func Limits() map[string]runtime.QueueLimit {
	return map[string]runtime.QueueLimit{Queue: {MaxConcurrent: 5, PerSecond: 20.0 / 60}}
}

// Document translates one document.
func Document(ctx *orchestration.Context, text string) (string, error) {
	return orchestration.CallActivity(ctx, Translate, text, orchestration.WithQueue(Queue), orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Enqueue starts an instance for each document, in one commit for many of them. An ID that is in use is no error: it is queued already.
func Enqueue(ctx context.Context, c *client.Client, documents map[string]string) ([]client.Handle[string], error) {
	starts := make([]client.ManyStart[string], 0, len(documents))
	for id, text := range documents {
		starts = append(starts, client.ManyStart[string]{
			Input: text, Options: []client.StartOption{client.WithID("document/" + id), client.WithIDPolicy(client.UseExisting)},
		})
	}
	started, err := client.StartMany(ctx, c, Document, starts)
	handles := make([]client.Handle[string], 0, len(started))
	for _, s := range started {
		if err == nil {
			err = s.Err
		}
		handles = append(handles, s.Handle)
	}
	return handles, err
}

// Translate stands for the call of the service.
func Translate(_ context.Context, text string) (string, error) { return strings.ToUpper(text), nil }
