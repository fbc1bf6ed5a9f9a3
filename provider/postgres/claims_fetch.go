package postgres

import (
	"context"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// fetchTurns claims turns, or waits for some.
func (c *claims) fetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTurnsResult{}, err
	}
	if req.MaxMessages == 0 {
		req.MaxMessages = provider.MaxFetchMessages
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes
	}
	f := &turnFetch{c: c, req: req}
	call := &waitingFetch{op: "fetch turns", wants: f.wants, poll: f.poll, undo: f.undo, due: f.due, lead: req.Ahead / 2, turns: f}
	call.piggyback.queue, call.piggyback.claimed, call.piggyback.settle = f.queueAttached, func() []provider.Turn { return f.res.Turns }, f.settleAttached
	err := c.awaitWork(ctx, call, req.Wait)
	if len(f.res.Turns) > 0 {
		c.presence.serve(req.Owner, req.Lease)
	}
	res := f.res
	f.reset() // the call may continue to listen
	return res, err
}

// fetchTasks claims tasks, or waits for some.
func (c *claims) fetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTasksResult{}, err
	}
	f := &taskFetch{c: c, req: req}
	call := &waitingFetch{op: "fetch tasks", wants: f.wants, poll: f.poll, undo: f.undo, due: f.due}
	if relational.Gated(&req) {
		g := &gatedFetch{taskFetch: f}
		call.wants, call.poll, call.due = g.wants, g.poll, g.due
	}
	err := c.awaitWork(ctx, call, req.Wait)
	if len(f.res.Tasks) > 0 || f.res.Sessions > 0 {
		c.presence.serve(req.Owner, max(req.Lease, req.Sessions.Lease))
	}
	return f.res, err
}
