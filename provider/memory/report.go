package memory

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// ReportTasks implements provider.Provider.
func (ts *tasks) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (res provider.ReportTasksResult, err error) {
	err = ts.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		for n := range req.Items {
			item := &req.Items[n]
			if item.Outcome == provider.TaskReleaseAll {
				ts.releaseAll(item, now)
				res.Items = append(res.Items, provider.TaskReportResult{})
				continue
			}
			state := ts.state(item.TaskRef)
			res.Items = append(res.Items, provider.TaskReportResult{Err: ts.report(item, state, now), State: state})
		}
		return nil
	})
	return res, err
}

func (ts *tasks) report(item *provider.TaskReport, state provider.ExecutionState, now provider.Time) error {
	t := ts.byRef[item.TaskRef]
	if t == nil || !provider.SameToken(t.token, item.Token) || t.attempt != item.Attempt || (t.state == provider.TaskParked && !goesByToken(item.Outcome)) {
		return provider.ErrLeaseLost
	}
	if err := ts.moved(t); err != nil {
		return err
	}
	ts.write()
	ts.useSession(t, now)
	t.keepDetails(item.Details)
	switch item.Outcome {
	case provider.TaskComplete:
		ts.complete(t, item, state, now)
	case provider.TaskPoison:
		ts.complete(t, item, state, now)
		l := &deadLetter{task: t.requeued()}
		l.Task, l.Key, l.InstanceID, l.Execution, l.EventID = true, t.Key, t.instanceID, t.Execution, t.EventID
		l.Queue, l.Name, l.Payload = t.queue, t.name, t.payload
		ts.deadLetters.add(l, item.Reason, now)
	case provider.TaskRetry:
		t.attempt++
		t.deliveries, t.begun = 0, true
		t.failure = slices.Clone(item.Failure)
		t.queueAt(t.again(item, now))
	case provider.TaskPark:
		t.state, t.owner, t.leaseUntil, t.begun = provider.TaskParked, "", 0, item.Limit == 0
		if item.Limit > 0 {
			t.startBy = now.Add(item.Limit)
		}
	case provider.TaskDiscard:
		if state.Kind != provider.ExecutionRunning {
			delete(ts.byRef, t.TaskRef)
			break
		}
		t.release(t.again(item, now), item.Begun)
	case provider.TaskRelease:
		t.release(t.again(item, now), item.Begun)
	case provider.TaskReleaseAll: // it names no task: see releaseAll
	}
	return nil
}

// releaseTasks ends the unexpired leases that a token holds.
func (ts *tasks) releaseAll(item *provider.TaskReport, now provider.Time) {
	for _, t := range ts.byRef {
		if t.state == provider.TaskLeased && t.heldBy(item.Token) && t.leaseUntil > now {
			ts.useSession(t, now)
			t.keepDetails(item.Details)
			t.release(t.again(item, now), item.Begun)
			ts.write()
		}
	}
}

// heldBy reports whether the token leases the task. It may be the task's own or that of its fetch.
func (t *task) heldBy(token provider.UUID) bool {
	return t.token == token || t.token == provider.TaskToken(token, t.TaskRef)
}

// goesByToken reports whether a parked task accepts a report with this outcome.
func goesByToken(o provider.TaskOutcome) bool {
	return o == provider.TaskComplete || o == provider.TaskRetry || o == provider.TaskPoison
}

// keepDetails stores heartbeat details; nil keeps the stored ones.
func (t *task) keepDetails(details []byte) {
	if details != nil {
		t.details = slices.Clone(details)
	}
}

// again is when a task is fetchable again. A cancelled task has no delay, since its call waits for its end.
func (t *task) again(item *provider.TaskReport, now provider.Time) provider.Time {
	if t.cancel {
		return now
	}
	return now.Add(item.Delay)
}

// release lowers the deliveries again. If it was the first delivery and no code ran, the task has not begun. After code ran the
// task loses its StartBy, so that no later release restores it.
func (t *task) release(at provider.Time, begun bool) {
	t.deliveries = max(0, t.deliveries-1)
	t.begun = begun || t.begun && (t.attempt > 1 || t.deliveries > 0)
	if begun {
		t.startBy = 0
	}
	t.queueAt(at)
}

func (ts *tasks) complete(t *task, item *provider.TaskReport, state provider.ExecutionState, now provider.Time) {
	delete(ts.byRef, t.TaskRef)
	if state.Kind == provider.ExecutionRunning {
		ts.inboxes.put(ts.instances.byKey[t.Key], item.Message, now)
	}
}

// RenewTasks implements provider.Provider.
func (ts *tasks) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (res provider.RenewTasksResult, err error) {
	err = ts.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		for _, item := range req.Items {
			res.Items = append(res.Items, ts.renew(item, req.Lease, now))
		}
		if req.Owner != "" {
			res.Sessions = ts.extendSessions(req.Owner, req.SessionLease, now)
		}
		return nil
	})
	return res, err
}

func (ts *tasks) renew(item provider.TaskRenewal, lease time.Duration, now provider.Time) provider.TaskRenewalResult {
	res := provider.TaskRenewalResult{State: ts.state(item.TaskRef)}
	if res.State.Kind != provider.ExecutionRunning {
		return res
	}
	t := ts.byRef[item.TaskRef]
	if t == nil || !provider.SameToken(t.token, item.Token) {
		res.Err = provider.ErrLeaseLost
		return res
	}
	ts.write()
	ts.useSession(t, now)
	if t.state == provider.TaskLeased {
		t.leaseUntil = now.Add(lease)
	}
	t.keepDetails(item.Details)
	res.CancelRequested, res.LeaseUntil = t.cancel, t.leaseUntil
	res.Paused = ts.instances.byKey[item.Key].row.Status == provider.StatusSuspended
	return res
}
