package engine

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

// A freezer is the view that one node has of the store. While it is frozen the node's calls reach
// nobody and no responses reach the node, as when its machine stands still. When it thaws they all
// continue where they were, late.
type freezer struct {
	provider.Provider

	answered *gate // a commit that was held up has its response

	mu      sync.Mutex
	thawed  *gate
	refused int // commits that were held up and then refused
}

func newFreezer(store provider.Provider) *freezer {
	f := &freezer{Provider: store, answered: newGate(), thawed: newGate()}
	f.thawed.open()
	return f
}

func (f *freezer) Unwrap() provider.Provider { return f.Provider }

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thawed = newGate()
}

func (f *freezer) thaw() { f.way().open() }

func (f *freezer) way() *gate {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.thawed
}

func (f *freezer) isFrozen() bool {
	select {
	case <-f.way().way:
		return false
	default:
		return true
	}
}

func (f *freezer) tooLate() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// late makes one call of the node.
func late[Req, Res any](ctx context.Context, f *freezer, req Req, call func(context.Context, Req) (Res, error)) (res Res, err error) {
	if err := f.way().wait(ctx); err != nil {
		return res, err
	}
	res, err = call(ctx, req)
	if lost := f.way().wait(ctx); lost != nil {
		return res, lost
	}
	return res, err
}

// CommitTurn implements provider.Provider.
func (f *freezer) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	held := f.isFrozen()
	res, err := late(ctx, f, req, f.Provider.CommitTurn)
	if !held {
		return res, err
	}
	if provider.OutcomeOf(err) == provider.OutcomeNothing {
		f.mu.Lock()
		f.refused++
		f.mu.Unlock()
	}
	f.answered.open()
	return res, err
}

// FetchTurns implements provider.Provider.
func (f *freezer) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return late(ctx, f, req, f.Provider.FetchTurns)
}

// ReleaseTurns implements provider.Provider.
func (f *freezer) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return late(ctx, f, req, f.Provider.ReleaseTurns)
}

// FetchTasks implements provider.Provider.
func (f *freezer) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return late(ctx, f, req, f.Provider.FetchTasks)
}

// ReportTasks implements provider.Provider.
func (f *freezer) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return late(ctx, f, req, f.Provider.ReportTasks)
}

// RenewTasks implements provider.Provider.
func (f *freezer) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return late(ctx, f, req, f.Provider.RenewTasks)
}

// ReadHistory implements provider.Provider.
func (f *freezer) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return late(ctx, f, req, f.Provider.ReadHistory)
}
