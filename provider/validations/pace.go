package validations

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// Pace tells the suite how long a call of the store may take, such as 50 ms for a store far away. Every short wait, lease and
// delay of the suite becomes longer in proportion. Without it a call should take less than 10 ms.
func Pace(d time.Duration) Option {
	return func(o *options) { o.pace = max(1, int(d/usual)) }
}

// usual is how long a call may take while nothing is scaled.
const usual = 10 * time.Millisecond

// brief is the limit of the durations that are scaled. Longer ones are either limits of the contract or longer than any case.
const brief = time.Second

// paced is a provider with longer short durations in all requests. Cases need not know of it: they compare what comes back with
// the lower bounds that they asked for.
type paced struct {
	*provider.Full

	times int
}

// atPace returns p with durations that are longer by a factor.
func atPace(p provider.Provider, times int) provider.Provider {
	if times <= 1 {
		return p
	}
	return &paced{provider.FullOf(p), times}
}

// Unwrap makes the optional features of the provider reachable.
func (p *paced) Unwrap() provider.Provider { return p.Full }

// scale returns a duration as the store gets it.
func (p *paced) scale(d time.Duration) time.Duration {
	if d <= 0 || d >= brief {
		return d
	}
	return d * time.Duration(p.times)
}

func (p *paced) message(m *provider.NewMessage) { m.Delay = p.scale(m.Delay) }

// copied changes a message that the request points to in a copy of its own.
func (p *paced) copied(m *provider.NewMessage) *provider.NewMessage {
	if m == nil {
		return nil
	}
	own := *m
	p.message(&own)
	return &own
}

// Create implements [provider.Provider].
func (p *paced) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return p.Full.Create(ctx, p.creation(req))
}

func (p *paced) creation(req provider.CreateRequest) provider.CreateRequest {
	p.message(&req.Message)
	if req.First != nil {
		first := p.turn(*req.First)
		req.First = &first
	}
	return req
}

// Get implements [provider.Provider].
func (p *paced) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	req.Wait = p.scale(req.Wait)
	return p.Full.Get(ctx, req)
}

// Steer implements [provider.Provider].
func (p *paced) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	req.ParentNotice, req.ChildNotice = p.copied(req.ParentNotice), p.copied(req.ChildNotice)
	return p.Full.Steer(ctx, req)
}

// FetchTurns implements [provider.Provider].
func (p *paced) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	req.Lease, req.Wait = p.scale(req.Lease), p.scale(req.Wait)
	return p.Full.FetchTurns(ctx, req)
}

// CommitTurn implements [provider.Provider].
func (p *paced) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return p.Full.CommitTurn(ctx, p.turn(req))
}

// turn returns the turn with its own lists.
func (p *paced) turn(req provider.CommitTurnRequest) provider.CommitTurnRequest {
	req.Sticky = p.scale(req.Sticky)
	req.Tasks = stretched(req.Tasks, p.task)
	req.Sends = stretched(req.Sends, func(s *provider.OutMessage) {
		p.message(&s.Message)
		s.Refused = p.copied(s.Refused)
	})
	req.Starts = stretched(req.Starts, func(s *provider.Start) {
		s.Create = p.creation(s.Create)
		p.message(&s.Refused)
	})
	if req.Next != nil {
		next := *req.Next
		next.Message = p.copied(next.Message)
		req.Next = &next
	}
	return req
}

func (p *paced) task(n *provider.NewTask) {
	n.NotBefore, n.StartBy, n.Deadline = p.scale(n.NotBefore), p.scale(n.StartBy), p.scale(n.Deadline)
	if n.Lease != nil {
		lease := *n.Lease
		lease.Duration = p.scale(lease.Duration)
		n.Lease = &lease
	}
}

// stretched returns a copy of a list whose items change has changed.
func stretched[T any](list []T, change func(*T)) []T {
	if list == nil {
		return nil
	}
	own := append([]T{}, list...)
	for n := range own {
		change(&own[n])
	}
	return own
}

// ReleaseTurns implements [provider.Provider].
func (p *paced) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	req.Items = stretched(req.Items, func(r *provider.TurnRelease) { r.Delay = p.scale(r.Delay) })
	return p.Full.ReleaseTurns(ctx, req)
}

// FetchTasks implements [provider.Provider].
func (p *paced) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	req.Lease, req.Wait = p.scale(req.Lease), p.scale(req.Wait)
	req.Sessions.Lease, req.Sessions.Idle = p.scale(req.Sessions.Lease), p.scale(req.Sessions.Idle)
	return p.Full.FetchTasks(ctx, req)
}

// ReportTasks implements [provider.Provider].
func (p *paced) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	req.Items = stretched(req.Items, p.outcome)
	return p.Full.ReportTasks(ctx, req)
}

func (p *paced) outcome(r *provider.TaskReport) {
	r.Delay, r.Limit = p.scale(r.Delay), p.scale(r.Limit)
	p.message(&r.Message)
}

// RenewTasks implements [provider.Provider].
func (p *paced) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	req.Lease, req.SessionLease = p.scale(req.Lease), p.scale(req.SessionLease)
	return p.Full.RenewTasks(ctx, req)
}

// Send implements [provider.Provider].
func (p *paced) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	p.message(&req.Message)
	return p.Full.Send(ctx, req)
}

// Ask implements [provider.Provider].
func (p *paced) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	req.Wait = p.scale(req.Wait)
	return p.Full.Ask(ctx, req)
}

// FetchAsks implements [provider.Provider].
func (p *paced) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	req.Lease, req.Wait = p.scale(req.Lease), p.scale(req.Wait)
	return p.Full.FetchAsks(ctx, req)
}

// Prune implements [provider.Provider].
func (p *paced) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	req.Age = p.scale(req.Age)
	return p.Full.Prune(ctx, req)
}

// Lease implements [provider.Provider].
func (p *paced) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	req.Duration = p.scale(req.Duration)
	return p.Full.Lease(ctx, req)
}
