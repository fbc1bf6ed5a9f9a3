package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/provider"
)

// tasksOf returns the tasks of an instance that the act of a step is about, with their attempts; none if the instance is gone.
func (s *bulkStep) tasksOf(ctx context.Context, key provider.UUID) (tasks []bulk.PlannedTask, err error) {
	op := fmt.Sprintf("bulk job %q", s.req.Job.ID)
	res, err := access.Read(ctx, s.o.caller.Store, op, s.o.caller.Store.Get, provider.GetRequest{Key: key, WithTasks: true})
	if err != nil {
		if err = access.Explain(op, 0, err); errors.Is(err, client.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	for n := range res.Tasks {
		if t := &res.Tasks[n]; s.act.Tasks.Wants(t, res.Now) {
			tasks = append(tasks, bulk.PlannedTask{Execution: t.Execution, Event: t.EventID, Attempt: t.Attempt})
		}
	}
	return tasks, nil
}

// queuesOf returns the queues of activities of instances that are tried again.
func (o *Operator) queuesOf(ctx context.Context, op string, of []client.Description) (queues []string, err error) {
	for n := range of {
		res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Get, provider.GetRequest{Key: of[n].Key, WithTasks: true})
		if err != nil {
			if err = access.Explain(op, 0, err); errors.Is(err, client.ErrNotFound) {
				continue
			}
			return nil, err
		}
		for _, t := range res.Tasks {
			if bulk.Retrying(t) {
				queues = append(queues, t.Queue)
			}
		}
	}
	slices.Sort(queues)
	return slices.Compact(queues), nil
}

// actOnTasks acts on the planned attempts of an instance that still wait. access.ErrNoEffect means that none did. An error of one task does not
// keep the act from the others, unless it ends the step.
func (s *bulkStep) actOnTasks(ctx context.Context, a *access.Act, p bulk.Planned, now *provider.GetResult) error {
	did, failed := false, []error(nil)
	for _, planned := range p.Tasks {
		at := slices.IndexFunc(now.Tasks, func(t provider.TaskInfo) bool { return planned.Names(&t) })
		if at < 0 || !s.act.Tasks.Wants(&now.Tasks[at], now.Now) {
			continue
		}
		still, err := s.stillWanted(ctx, p.Key, planned)
		if err != nil {
			return err
		}
		if !still {
			continue
		}
		switch err := s.act.Tasks.Do(ctx, a, planned, &s.req.Job.Args); {
		case err == nil:
			did = true
		case errors.Is(err, access.ErrNoEffect):
		case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, client.ErrOutcomeUnknown), provider.Retryable(err):
			return err
		default:
			failed = append(failed, fmt.Errorf("event %d: %w", planned.Event, err))
		}
	}
	if len(failed) == 0 && !did {
		return access.ErrNoEffect
	}
	return errors.Join(failed...)
}

// stillWanted waits as long as the rate demands before a task, and reports whether the act is still about it: somebody may have paused it meanwhile.
func (s *bulkStep) stillWanted(ctx context.Context, key provider.UUID, planned bulk.PlannedTask) (still bool, err error) {
	if err := s.pace(ctx); err != nil {
		return false, err
	}
	tasks, err := s.tasksOf(ctx, key)
	return slices.Contains(tasks, planned), err
}

// pace waits as long as the rate demands between two tasks. The orchestration waits between steps.
func (s *bulkStep) pace(ctx context.Context) error {
	s.done.Tasks++
	if !s.paced || s.req.Job.Rate <= 0 {
		s.paced = true
		return nil
	}
	timer := time.NewTimer(time.Duration(min(float64(time.Second)/s.req.Job.Rate, float64(stepPause))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return access.Why(ctx)
	}
}

// stepPause bounds the pause between two tasks. A step does not last that long: the attempt after it goes on with its plan.
const stepPause = 24 * time.Hour
