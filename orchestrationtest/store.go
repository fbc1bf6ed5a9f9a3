package orchestrationtest

import (
	"context"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/provider"
)

// observer gets to know what is stored.
type observer interface {
	// beforeCreate is called before an instance is stored.
	beforeCreate() error
	// changed is called after each change of instances.
	changed()
	// needs is called for code that has been asked for.
	needs(of provider.Capability)
	needsActivity(name bubble.Name)
	// committed is called when a node has stored a turn. The execution has that many events then.
	committed(ctx context.Context, by *node, key provider.UUID, execution, length int64, over bool)
	blocked(key provider.UUID, failure *provider.TurnFailure)
	// asked is called for a question that a node has taken, and answered before its answer is stored.
	asked(ctx context.Context, ask *provider.OpenAsk)
	answered(ctx context.Context, by *node, answer *provider.AnswerRequest)
	// retried is called when an attempt of an activity is to be repeated.
	retried(report *provider.TaskReport)
	// late is called when the test has little time left, and abandoned when the outer test has ended without it.
	late()
	abandoned()
	// owners returns the names of the nodes that run.
	owners() map[string]bool
}

// store is a store that tells what is stored.
type store struct {
	*provider.Full

	observer observer
	changes  *bubble.Changes // of records
	young    bool            // the records of nodes that run do not age
	alarm    *alarm
}

// newStore returns a store that is stored in another one. The caller sets its observer.
func newStore(in provider.Provider, young bool, a *alarm) *store {
	return &store{Full: provider.FullOf(in), changes: &bubble.Changes{}, young: young, alarm: a}
}

// Unwrap returns the decorated store.
func (s *store) Unwrap() provider.Provider { return s.Full.Provider }

// step counts the begin or the end of a call.
func (s *store) step() {
	s.alarm.step()
	if s.alarm.told() {
		s.observer.late()
	}
	if s.alarm.abandoned() {
		s.observer.abandoned()
	}
}

// Create implements provider.Provider.
func (s *store) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return s.create(ctx, nil, req)
}

// create creates an instance for a node; nil: for a client that has none.
func (s *store) create(ctx context.Context, by *node, req provider.CreateRequest) (provider.CreateResult, error) {
	s.step()
	if by == nil { // a node that starts may create instances of perdure itself
		if err := s.observer.beforeCreate(); err != nil {
			return provider.CreateResult{}, err
		}
	}
	res, err := s.Full.Create(ctx, req)
	if err != nil {
		return res, err
	}
	s.observer.changed()
	s.observer.needs(provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion})
	if res.Begun {
		s.turn(ctx, by, req.Key, 1, req.First)
	}
	return res, nil
}

// commitTurn stores a turn of a node.
func (s *store) commitTurn(ctx context.Context, by *node, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	s.step()
	res, err := s.Full.CommitTurn(ctx, req)
	if err == nil {
		s.observer.changed()
		s.turn(ctx, by, req.Key, req.Execution, &req)
	}
	return res, err
}

// turn tells of a turn that was stored.
func (s *store) turn(ctx context.Context, by *node, key provider.UUID, execution int64, req *provider.CommitTurnRequest) {
	for i := range req.Tasks {
		s.observer.needsActivity(bubble.Name{Queue: req.Tasks[i].Queue, Name: req.Tasks[i].Name})
	}
	for i := range req.Starts {
		create := &req.Starts[i].Create
		s.observer.needs(provider.Capability{Name: create.Name, CodeVersion: create.CodeVersion})
	}
	over := req.Status.Ended() || req.Next != nil
	s.observer.committed(ctx, by, key, execution, req.Length+int64(len(req.Events)), over)
}

// ReleaseTurns implements provider.Provider.
func (s *store) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	s.step()
	res, err := s.Full.ReleaseTurns(ctx, req)
	if err != nil {
		return res, err
	}
	for i := range req.Items {
		if item := &req.Items[i]; item.Kind == provider.ReleaseFailed && item.Failure != nil && res.Errs[i] == nil {
			s.observer.blocked(item.Key, item.Failure)
		}
	}
	return res, nil
}

// FetchTurns implements provider.Provider.
func (s *store) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	defer s.step()
	return s.Full.FetchTurns(ctx, req)
}

// ReportTasks implements provider.Provider.
func (s *store) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	s.step()
	res, err := s.Full.ReportTasks(ctx, req)
	if err != nil {
		return res, err
	}
	s.observer.changed()
	for i := range req.Items {
		if req.Items[i].Outcome == provider.TaskRetry && res.Items[i].Err == nil {
			s.observer.retried(&req.Items[i])
		}
	}
	return res, err
}

// RenewTasks implements provider.Provider.
func (s *store) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	s.step()
	return s.Full.RenewTasks(ctx, req)
}

// Send implements provider.Provider.
func (s *store) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	s.step()
	res, err := s.Full.Send(ctx, req)
	if err == nil {
		s.observer.changed()
	}
	return res, err
}

// Steer implements provider.Provider.
func (s *store) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	s.step()
	res, err := s.Full.Steer(ctx, req)
	if err == nil {
		s.observer.changed()
	}
	return res, err
}

// Record implements provider.Keeper. Without timers, no node renews its record while it has nothing to do.
func (s *store) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	s.step()
	res, err := s.Full.Record(ctx, req)
	if err != nil {
		return res, err
	}
	switch req.Action {
	case provider.RecordPut, provider.RecordDelete:
		s.changes.Notify()
	default:
		if !s.young {
			break
		}
		owners := s.observer.owners()
		for i := range res.Records {
			if owners[res.Records[i].Key] {
				res.Records[i].UpdatedAt = res.Now
			}
		}
	}
	return res, nil
}
