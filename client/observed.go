package client

import (
	"context"
	"time"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// sending begins the span of a message and returns its header as it is stored, nil for none. The caller calls end with the outcome.
func (c *Client) sending(ctx context.Context, s observe.Sending, given header.Map, inTx bool) (stored []byte, end func(error)) {
	traced, end := c.watch.Send(ctx, s)
	return c.header(ctx, given, traced, inTx), end
}

// terminated tells the Observer that a termination is stored.
func (c *Client) terminated(i *provider.Instance, now provider.Time) {
	if !c.watch.On() {
		return
	}
	c.watch.Report(observe.Event{
		Kind: observe.Ended, Instance: i.ID, Key: i.Key, Execution: i.Execution, Orchestration: i.Name, Version: i.CodeVersion,
		Outcome: observe.Terminated, Took: max(0, now.Sub(i.CreatedAt)), Count: i.HistoryLength + 1,
	})
}

// flushTime bounds how long Flush waits.
const flushTime = 5 * time.Second

// Flush waits until the Observer of the client has what it is still to get, at most 5 seconds. It reports whether it has. Call it
// before the process ends; Shutdown of a runtime does so for the observer of its node.
func (c *Client) Flush() bool { return c == nil || c.watch.Flush(flushTime) }
