// Package skeleton is a starting point for a provider: all methods exist, and none is implemented.
package skeleton

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Provider is the future storage. Its own methods replace those of unwritten one by one.
type Provider struct {
	unwritten
}

// Open returns an empty store.
func Open() (*Provider, error) { return &Provider{}, nil }

var _ provider.Provider = (*Provider)(nil)

// unwritten returns an error from each method that names the call.
type unwritten struct{}

func todo[Req, Res any](_ Req, _ Res) (res Res, err error) {
	return res, fmt.Errorf("%T: not written yet", *new(Req))
}

func (unwritten) Create(_ context.Context, r provider.CreateRequest) (res provider.CreateResult, err error) {
	return todo(r, res)
}

func (unwritten) Get(_ context.Context, r provider.GetRequest) (res provider.GetResult, err error) {
	return todo(r, res)
}

func (unwritten) Steer(_ context.Context, r provider.SteerRequest) (res provider.SteerResult, err error) {
	return todo(r, res)
}

func (unwritten) FetchTurns(_ context.Context, r provider.FetchTurnsRequest) (res provider.FetchTurnsResult, err error) {
	return todo(r, res)
}

func (unwritten) CommitTurn(_ context.Context, r provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	return todo(r, res)
}

func (unwritten) ReleaseTurns(_ context.Context, r provider.ReleaseTurnsRequest) (res provider.ReleaseTurnsResult, err error) {
	return todo(r, res)
}

func (unwritten) FetchTasks(_ context.Context, r provider.FetchTasksRequest) (res provider.FetchTasksResult, err error) {
	return todo(r, res)
}

func (unwritten) ReportTasks(_ context.Context, r provider.ReportTasksRequest) (res provider.ReportTasksResult, err error) {
	return todo(r, res)
}

func (unwritten) RenewTasks(_ context.Context, r provider.RenewTasksRequest) (res provider.RenewTasksResult, err error) {
	return todo(r, res)
}

func (unwritten) Send(_ context.Context, r provider.SendRequest) (res provider.SendResult, err error) {
	return todo(r, res)
}

func (unwritten) ReadHistory(_ context.Context, r provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	return todo(r, res)
}

func (unwritten) Close() error { return nil }
