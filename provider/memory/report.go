package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// ReportTasks implements provider.Provider.
func (p *Provider) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (res provider.ReportTasksResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		for n := range req.Items {
			item := &req.Items[n]
			if item.TaskRef == (provider.TaskRef{}) {
				p.releaseTasks(item, now)
				res.Items = append(res.Items, provider.TaskReportResult{})
				continue
			}
			state := p.state(item.TaskRef)
			res.Items = append(res.Items, provider.TaskReportResult{Err: p.report(item, state, now), State: state})
		}
		return nil
	})
	return res, err
}

func (p *Provider) report(item *provider.TaskReport, state provider.ExecutionState, now provider.Time) error {
	t := p.tasks[item.TaskRef]
	if t == nil || t.token != item.Token || t.attempt != item.Attempt || (t.state == provider.TaskParked && !goesByToken(item.Outcome)) {
		return provider.ErrLeaseLost
	}
	p.write()
	t.keepDetails(item.Details)
	switch item.Outcome {
	case provider.TaskComplete:
		p.complete(t, item, state, now)
	case provider.TaskPoison:
		p.complete(t, item, state, now)
		l := &letter{priority: t.priority}
		l.Task, l.Key, l.InstanceID, l.Execution, l.EventID = true, t.Key, t.instanceID, t.Execution, t.EventID
		l.Queue, l.Name, l.Payload = t.queue, t.name, t.payload
		p.bury(l, item.Reason, now)
	case provider.TaskRetry:
		t.attempt++
		t.deliveries = 0
		t.failure = slices.Clone(item.Failure)
		t.queueAt(now.Add(item.Delay))
	case provider.TaskPark:
		t.state, t.owner, t.leaseUntil = provider.TaskParked, "", 0
	case provider.TaskDiscard:
		if state.Kind != provider.ExecutionRunning {
			delete(p.tasks, t.TaskRef)
			break
		}
		t.release(now.Add(item.Delay))
	case provider.TaskRelease:
		t.release(now.Add(item.Delay))
	}
	return nil
}

// releaseTasks ends the unexpired leases that a token holds.
func (p *Provider) releaseTasks(item *provider.TaskReport, now provider.Time) {
	for _, t := range p.tasks {
		if t.state == provider.TaskLeased && t.token == item.Token && t.leaseUntil > now {
			t.keepDetails(item.Details)
			t.release(now.Add(item.Delay))
			p.write()
		}
	}
}

// goesByToken tells which reports a parked task takes.
func goesByToken(o provider.TaskOutcome) bool {
	return o == provider.TaskComplete || o == provider.TaskRetry || o == provider.TaskPoison
}

// keepDetails stores heartbeat details; nil keeps the stored ones.
func (t *task) keepDetails(details []byte) {
	if details != nil {
		t.details = slices.Clone(details)
	}
}

func (t *task) release(at provider.Time) {
	t.deliveries = max(0, t.deliveries-1)
	t.queueAt(at)
}

func (p *Provider) complete(t *task, item *provider.TaskReport, state provider.ExecutionState, now provider.Time) {
	delete(p.tasks, t.TaskRef)
	if state.Kind == provider.ExecutionRunning {
		p.put(p.instances[t.Key], item.Message, now)
	}
}

// RenewTasks implements provider.Provider.
func (p *Provider) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (res provider.RenewTasksResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		for _, item := range req.Items {
			res.Items = append(res.Items, p.renew(item, now.Add(req.Lease)))
		}
		return nil
	})
	return res, err
}

func (p *Provider) renew(item provider.TaskRenewal, until provider.Time) provider.TaskRenewalResult {
	res := provider.TaskRenewalResult{State: p.state(item.TaskRef)}
	if res.State.Kind != provider.ExecutionRunning {
		return res
	}
	t := p.tasks[item.TaskRef]
	if t == nil || t.token != item.Token {
		res.Err = provider.ErrLeaseLost
		return res
	}
	p.write()
	if t.state == provider.TaskLeased {
		t.leaseUntil = until
	}
	t.keepDetails(item.Details)
	res.CancelRequested, res.LeaseUntil = t.cancel, t.leaseUntil
	res.Paused = p.instances[item.Key].row.Status == provider.StatusSuspended
	return res
}
