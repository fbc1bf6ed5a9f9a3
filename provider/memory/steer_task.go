package memory

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// SteerTask implements provider.TaskSteerer.
func (ts *tasks) SteerTask(ctx context.Context, req provider.SteerTaskRequest) (res provider.SteerTaskResult, err error) {
	err = ts.do(ctx, req, func(now provider.Time) error {
		t := ts.byRef[req.TaskRef]
		if err := ts.moved(t); err != nil {
			return err
		}
		if t == nil || ts.state(req.TaskRef).Kind != provider.ExecutionRunning {
			return provider.ErrNotFound
		}
		shown := t.shown(now)
		if t.attempt != req.Attempt || req.State != 0 && req.State != shown {
			return provider.ErrConflict
		}
		ts.steer(t, &req, shown, now)
		res.Now = now
		if req.Action != provider.SteerTaskComplete {
			res.Attempt = t.attempt
		}
		return nil
	})
	return res, err
}

// shown is the state that observers see.
func (t *task) shown(now provider.Time) provider.TaskState {
	if t.state == provider.TaskLeased && t.leaseUntil <= now {
		return provider.TaskQueued
	}
	return t.state
}

func (ts *tasks) steer(t *task, req *provider.SteerTaskRequest, shown provider.TaskState, now provider.Time) {
	queued := shown == provider.TaskQueued
	if req.Action == provider.SteerTaskRelease && (!queued || t.notBefore < provider.HeldUntil) {
		return
	}
	ts.write()
	if !queued {
		ts.notice(t.Key, t.Execution, t.EventID)
	}
	if req.Action == provider.SteerTaskComplete {
		delete(ts.byRef, t.TaskRef)
		ts.inboxes.put(ts.instances.byKey[t.Key], req.Message, now)
		return
	}
	at := now
	if queued {
		at = min(t.notBefore, now)
	} else {
		t.attempt, t.deliveries, t.begun = t.attempt+1, 0, true
	}
	if req.Action == provider.SteerTaskHold && !t.cancel {
		at, t.turn = provider.HeldUntil, 0
	}
	t.queueAt(at)
}
