package validations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// lifeRest is the pause between two lives. Disks and processors are slower after a rest.
const lifeRest = 5 * time.Millisecond

// liver stores whole instances with one activity.
type liver struct {
	p    provider.Provider
	name string
	last provider.Instance
	n    int64
}

func newLiver(_ context.Context, p provider.Provider, n int) (caller, error) {
	return &liver{p: p, name: fmt.Sprint("liver-", n)}, nil
}

// do rests, stores an instance with its first turn, which hands off the task, and then the turn that has the result and ends it.
func (l *liver) do(ctx context.Context) (time.Time, error) {
	<-time.After(lifeRest)
	began := time.Now()
	req := sampleCreate(l.name)
	token := unique()
	first := firstTurn(req, func(r *provider.CommitTurnRequest) { handToSelf(r, token) })
	req.First = first
	res, err := l.p.Create(ctx, req)
	if err == nil && !res.Begun { // a provider may ignore the first turn
		first, err = l.begin(ctx, token)
	}
	if err != nil {
		return began, err
	}
	end := next(provider.Instance{Key: req.Key, Execution: 1, Version: first.Commit, HistoryLength: 2})
	end.Events, end.Status, end.Result = [][]byte{sample, sample}, provider.StatusCompleted, sample
	end.Completes = []provider.TaskCompletion{{EventID: 2, Token: token}}
	_, err = l.p.CommitTurn(ctx, end)
	l.last, l.n = provider.Instance{Key: req.Key, Version: end.Commit}, l.n+1
	return began, err
}

func handToSelf(r *provider.CommitTurnRequest, token provider.UUID) {
	r.Events = [][]byte{sample, sample}
	r.Tasks = []provider.NewTask{{
		EventID: 2, Queue: queue, Name: activity, Payload: sample, Lease: &provider.TaskLease{Token: token, Owner: node, Duration: long},
	}}
}

// begin commits the first turn of an instance that was stored without it.
func (l *liver) begin(ctx context.Context, token provider.UUID) (*provider.CommitTurnRequest, error) {
	u, err := fetchFor(ctx, l.p, l.name)
	if err != nil {
		return nil, err
	}
	req := commitOf(u)
	handToSelf(&req, token)
	_, err = l.p.CommitTurn(ctx, req)
	return &req, err
}

func (l *liver) verify(ctx context.Context) error {
	ended := provider.CountRequest{Filter: provider.Filter{Name: l.name, Statuses: []provider.Status{provider.StatusCompleted}}}
	count, err := provider.FullOf(l.p).Count(ctx, ended)
	if err == nil && count.Count != l.n {
		err = fmt.Errorf("%d instances have completed, want %d", count.Count, l.n)
	}
	res, found := l.p.Get(ctx, provider.GetRequest{Key: l.last.Key, WithTasks: true})
	if found == nil && (res.Instance.Version != l.last.Version || len(res.Tasks) > 0) {
		found = fmt.Errorf("the last instance is at version %s with %d tasks, want %s and none", res.Instance.Version, len(res.Tasks), l.last.Version)
	}
	return errors.Join(err, found)
}
