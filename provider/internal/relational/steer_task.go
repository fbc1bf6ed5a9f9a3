package relational

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// SteerTask implements [provider.TaskSteerer].
func (c Calls) SteerTask(ctx context.Context, req provider.SteerTaskRequest) (provider.SteerTaskResult, error) {
	m := &Member{
		Op: "steer task", Bytes: len(req.Message.Payload),
		Needs: Needs{Keys: []provider.UUID{req.Key}, Tasks: []provider.TaskRef{req.TaskRef}},
	}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.SteerTaskResult) error { return t.SteerTask(&req, res) })
}

// SteerTask acts on a pending task without its token.
func (t *Tx) SteerTask(req *provider.SteerTaskRequest, res *provider.SteerTaskResult) error {
	state, h, err := t.State(req.Key, req.Execution)
	if err != nil {
		return err
	}
	task, err := t.Rows.Task(req.TaskRef)
	if err != nil {
		return err
	}
	if task != nil && state.Kind == provider.ExecutionMissing {
		if err := t.checkMoved(req.Key); err != nil {
			return err
		}
	}
	if task == nil || state.Kind != provider.ExecutionRunning {
		return fmt.Errorf("task %d of execution %d of %s: %w", req.EventID, req.Execution, req.Key, provider.ErrNotFound)
	}
	shown := task.State
	if shown == provider.TaskLeased && task.LeaseUntil <= t.Elapsed {
		shown = provider.TaskQueued
	}
	if task.Attempt != req.Attempt || req.State != 0 && req.State != shown {
		return fmt.Errorf("task %d of %q: attempt %d is pending, in state %d: %w", req.EventID, h.ID, task.Attempt, shown, provider.ErrConflict)
	}
	if err := (taskSteering{t, h, task, req}).apply(shown); err != nil {
		return err
	}
	res.Now = t.Now
	if req.Action != provider.SteerTaskComplete {
		res.Attempt = task.Attempt
	}
	return nil
}

// taskSteering is an action of SteerTask on its task.
type taskSteering struct {
	t    *Tx
	h    *Head
	task *Task
	req  *provider.SteerTaskRequest
}

// apply carries out the action on a task that observers see in the given state.
func (s taskSteering) apply(shown provider.TaskState) error {
	t, task := s.t, s.task
	if s.req.Action == provider.SteerTaskRelease && (shown != provider.TaskQueued || task.NotBefore < provider.HeldUntil) {
		return nil
	}
	t.Changes++
	t.Touch(task.Key)
	if task.State == provider.TaskLeased {
		t.Free(task.Kind)
	}
	if shown != provider.TaskQueued {
		t.notice(task.Key, task.Execution, task.EventID)
	}
	if s.req.Action == provider.SteerTaskComplete {
		if err := t.Rows.RemoveTask(task.TaskRef); err != nil {
			return err
		}
		_, err := inbox{t, s.h}.deliver(&s.req.Message)
		return err
	}
	if shown != provider.TaskQueued { // its attempt is given up
		task.Attempt, task.Deliveries, task.Begun, task.NotBefore = task.Attempt+1, 0, true, t.Now
	}
	task.State, task.Token, task.Owner, task.LeaseUntil = provider.TaskQueued, provider.UUID{}, "", 0
	return s.requeue()
}

// requeue queues the task without a delay, or held.
func (s taskSteering) requeue() error {
	t, task := s.t, s.task
	if s.req.Action == provider.SteerTaskHold && !task.Cancel {
		task.NotBefore = provider.HeldUntil
		if task.Rank != 0 {
			if err := t.Rows.DropRank(task); err != nil {
				return err
			}
			task.Rank = 0
		}
	} else {
		task.NotBefore = min(task.NotBefore, t.Now)
	}
	t.Schedule(task, s.h)
	return t.Rows.StoreTask(task, nil)
}
