package relational

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// Calls are the methods of a provider that change instances. Each validates its request and waits for the group that
// carries it out. A store embeds them.
type Calls struct {
	// Enqueue queues a member and waits for its commit; urgent ones go first.
	Enqueue func(ctx context.Context, m *Member, urgent bool) error
}

// Do runs fn as a member of a group and returns its result once the group is durable. Until then only the member
// writes the result: a caller that gave up must not share it.
func Do[T any](
	ctx context.Context, enqueue func(context.Context, *Member, bool) error, m *Member, urgent bool, fn func(*Tx, *T) error,
) (T, error) {
	var zero T
	out := new(T)
	m.Done = make(chan struct{})
	m.Run = func(t *Tx) error {
		*out = zero // it may run again
		return fn(t, out)
	}
	if err := enqueue(ctx, m, urgent); err != nil {
		return zero, err
	}
	return *out, nil
}

// call runs rule as a member of a group, unless the request is invalid.
func call[Res any](
	ctx context.Context, c Calls, invalid error, m *Member, rule func(*Tx, *Res) error,
) (Res, error) {
	if invalid != nil {
		var zero Res
		return zero, invalid
	}
	return Do(ctx, c.Enqueue, m, false, rule)
}

// Create implements [provider.Provider].
func (c Calls) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	m := &Member{Op: "create", Bytes: createBytes(&req), Needs: CreateNeeds(&req), Step: req.First != nil}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.CreateResult) error { return t.Create(&req, res) })
}

// Steer implements [provider.Provider].
func (c Calls) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	m := &Member{Op: "steer", Bytes: len(req.Event) + len(req.Result), Needs: steerNeeds(&req)}
	for _, e := range req.Events {
		m.Bytes += len(e)
	}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.SteerResult) error { return t.Steer(&req, res) })
}

// CommitTurn implements [provider.Provider].
func (c Calls) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	m := &Member{Op: "commit turn", Bytes: commitBytes(&req), Needs: CommitNeeds(&req), Step: true}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.CommitTurnResult) error { return t.CommitTurn(&req, res) })
}

// ReleaseTurns implements [provider.Provider].
func (c Calls) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	m := &Member{Op: "release turns", Needs: ReleaseNeeds(&req)}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.ReleaseTurnsResult) error { return t.ReleaseTurns(&req, res) })
}

// ReportTasks implements [provider.Provider].
func (c Calls) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	m := &Member{Op: "report tasks", Needs: ReportNeeds(&req)}
	for i := range req.Items {
		m.Bytes += len(req.Items[i].Message.Payload) + len(req.Items[i].Details) + len(req.Items[i].Failure)
	}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.ReportTasksResult) error { return t.ReportTasks(&req, res) })
}

// RenewTasks implements [provider.Provider]. Renewals go to the front of the queue.
func (c Calls) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.RenewTasksResult{}, err
	}
	m := &Member{Op: "renew tasks", Needs: RenewNeeds(&req)}
	for i := range req.Items {
		m.Bytes += len(req.Items[i].Details)
	}
	return Do(ctx, c.Enqueue, m, true, func(t *Tx, res *provider.RenewTasksResult) error { return t.RenewTasks(&req, res) })
}

// Send implements [provider.Provider].
func (c Calls) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	m := &Member{Op: "send", Bytes: len(req.Message.Payload), Needs: NamedNeeds(req.ID, req.Key)}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.SendResult) error { return t.Send(&req, res) })
}

// commitBytes estimates how much a commit adds to its group.
func commitBytes(req *provider.CommitTurnRequest) int {
	n := len(req.Result) + len(req.CustomStatus) + len(req.Excerpt)
	for _, e := range req.Events {
		n += len(e)
	}
	for i := range req.Tasks {
		n += len(req.Tasks[i].Payload)
	}
	for i := range req.Sends {
		n += len(req.Sends[i].Message.Payload)
	}
	for i := range req.Starts {
		n += len(req.Starts[i].Create.Message.Payload)
	}
	return n
}

// createBytes estimates how much a new instance adds to its group.
func createBytes(req *provider.CreateRequest) int {
	n := len(req.Message.Payload)
	for i := range req.Messages {
		n += len(req.Messages[i].Payload)
	}
	if req.Listener != nil {
		n += len(req.Listener.Message.Payload)
	}
	if req.First != nil {
		n += commitBytes(req.First)
	}
	return n
}
