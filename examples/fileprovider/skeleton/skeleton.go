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

func (unwritten) Ask(_ context.Context, r provider.AskRequest) (res provider.AskResult, err error) {
	return todo(r, res)
}

func (unwritten) FetchAsks(_ context.Context, r provider.FetchAsksRequest) (res provider.FetchAsksResult, err error) {
	return todo(r, res)
}

func (unwritten) Answer(_ context.Context, r provider.AnswerRequest) error {
	_, err := todo(r, 0)
	return err
}

func (unwritten) ReadHistory(_ context.Context, r provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	return todo(r, res)
}

func (unwritten) List(_ context.Context, r provider.ListRequest) (res provider.ListResult, err error) {
	return todo(r, res)
}

func (unwritten) Count(_ context.Context, r provider.CountRequest) (res provider.CountResult, err error) {
	return todo(r, res)
}

func (unwritten) Stats(_ context.Context, r provider.StatsRequest) (res provider.StatsResult, err error) {
	return todo(r, res)
}

func (unwritten) Delete(_ context.Context, r provider.DeleteRequest) (res provider.DeleteResult, err error) {
	return todo(r, res)
}

func (unwritten) Prune(_ context.Context, r provider.PruneRequest) (res provider.PruneResult, err error) {
	return todo(r, res)
}

func (unwritten) DeadLetters(_ context.Context, r provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	return todo(r, res)
}

func (unwritten) Lease(_ context.Context, r provider.LeaseRequest) (res provider.LeaseResult, err error) {
	return todo(r, res)
}

func (unwritten) Record(_ context.Context, r provider.RecordRequest) (res provider.RecordResult, err error) {
	return todo(r, res)
}

func (unwritten) Close() error { return nil }
