package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// fetches are the calls that claim work, and wait until there is some.
type fetches struct{ *handle }

// FetchTurns implements [provider.Provider].
func (fs *fetches) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTurnsResult{}, err
	}
	if req.MaxMessages == 0 {
		req.MaxMessages = provider.MaxFetchMessages
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes
	}
	f := &turnFetch{req: req, caps: make(map[provider.Capability]struct{}, len(req.Capabilities))}
	for _, c := range req.Capabilities {
		f.caps[c] = struct{}{}
	}
	call := &waitingFetch{op: "fetch turns", wants: f.wants, find: f.find, take: f.take, undo: f.undo, lead: req.Ahead / 2}
	if err := fs.await(ctx, call, req.Wait); err != nil {
		return provider.FetchTurnsResult{}, err
	}
	if f.res.Now == 0 {
		f.res.Now = fs.store.clock.wall()
	}
	return f.res, nil
}

// FetchTasks implements [provider.Provider].
func (fs *fetches) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTasksResult{}, err
	}
	f := &taskFetch{req: req, filters: make(map[relational.TaskFilter]struct{})}
	for _, q := range req.Queues {
		for _, name := range q.Names {
			f.filters[relational.TaskFilter{Queue: q.Queue, Name: name}] = struct{}{}
		}
	}
	call := &waitingFetch{op: "fetch tasks", wants: f.wants, find: f.find, take: f.take, undo: f.undo}
	if relational.Gated(&req) {
		g := &gatedFetch{taskFetch: f, call: call}
		call.limited, call.wants, call.find, call.take = relational.Bounded(&req), g.wants, g.find, g.take
	}
	if err := fs.await(ctx, call, req.Wait); err != nil {
		return provider.FetchTasksResult{}, err
	}
	if f.res.Now == 0 {
		f.res.Now = fs.store.clock.wall()
	}
	return f.res, nil
}
