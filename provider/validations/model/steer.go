package model

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// fence makes a Reset or Move name a Version: mostly the one that it would find, sometimes that of another instance.
func (d *driver) fence(req *provider.SteerRequest) {
	if req.Action != provider.SteerReset && req.Action != provider.SteerMove || len(d.rows) == 0 || d.odds(2) {
		return
	}
	row := d.row()
	req.Expected = row.Version
	if !d.odds(4) {
		req.ID, req.Key = "", row.Key
	}
}

// doSteerTask acts on a task that is pending or was leased. The call changes nothing if the provider cannot steer tasks.
func doSteerTask(d *driver) {
	task := d.recentTask()
	if len(d.rows) > 0 && !d.odds(3) {
		if res, err := d.model.Get(d.ctx, provider.GetRequest{Key: d.row().Key, WithTasks: true}); err == nil && len(res.Tasks) > 0 {
			info := res.Tasks[d.n(len(res.Tasks))]
			task.TaskRef, task.attempt = info.TaskRef, info.Attempt
		}
	}
	if _, can := provider.As[provider.TaskSteerer](d.subject.Provider); !can {
		return
	}
	req := provider.SteerTaskRequest{TaskRef: task.TaskRef, Attempt: task.attempt, Message: d.message()}
	req.Action = pick(&d.source, provider.SteerTaskRetry, provider.SteerTaskHold, provider.SteerTaskRelease, provider.SteerTaskComplete)
	if d.odds(4) {
		req.State = provider.TaskState(1 + d.n(3))
	}
	d.brief = d.brief || d.idles
	_, _ = call(d, "steer task", steerTask, always(req), nil)
}

//nolint:revive // in the form of a method expression
func steerTask(p *provider.Full, ctx context.Context, req provider.SteerTaskRequest) (provider.SteerTaskResult, error) {
	steerer, _ := provider.As[provider.TaskSteerer](p)
	return steerer.SteerTask(ctx, req)
}

// doDrop drops a message, mostly one that was seen.
func doDrop(d *driver, req provider.SteerRequest) {
	if req.Key.IsZero() {
		req.ID, req.Key = "", d.key()
	}
	req.Reason = "dropped"
	d.keepsPlace("", req.Key, req.Commit)
	number := int64(1 + d.n(len(d.model.inbox(req.Key).ids)+1))
	_, _ = call(d, "steer", (*provider.Full).Steer, func(s *side) provider.SteerRequest {
		named := req
		named.MessageID = s.inbox(req.Key).id(number)
		return named
	}, nil)
}

// notices draws what a termination sends to others.
func (w *world) notices() []provider.OutMessage {
	return some(&w.source, 1, func() provider.OutMessage {
		m := provider.OutMessage{Message: w.message(), Refused: w.maybeMessage()}
		m.ID, m.Key = w.target()
		return m
	})
}
