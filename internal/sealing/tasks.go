package sealing

import (
	"context"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/provider"
)

// FetchTasks implements provider.Provider. What cannot be opened stays sealed: its task is released.
func (st *Store) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := st.Full.FetchTasks(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Tasks {
		t := &res.Tasks[i]
		o.event(&t.Payload)
		o.whole(codec.Heartbeat, &t.Details)
		o.whole(codec.Failure, &t.Failure)
	}
	_ = st.open(context.WithoutCancel(ctx), fetchTimeout, o)
	return res, nil
}

// ReportTasks implements provider.Provider.
func (st *Store) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	out, s := provider.ReportTasksRequest{Items: append([]provider.TaskReport(nil), req.Items...)}, new(sealer)
	for i := range out.Items {
		item := &out.Items[i]
		if item.Details == nil {
			item.Details = st.lateOf(item.Token)
		}
		s.report(item)
	}
	if err := st.seal(ctx, "report tasks", false, s); err != nil {
		return provider.ReportTasksResult{}, err
	}
	res, err := st.Full.ReportTasks(ctx, out)
	if err == nil {
		st.notLate(req.Items)
	}
	return res, err
}

// RenewTasks implements provider.Provider. A lease does not wait for the codec: details that cannot be sealed go with a later renewal, or with
// the report.
func (st *Store) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	out, s := req, new(sealer)
	out.Items = append([]provider.TaskRenewal(nil), req.Items...)
	plain := make(map[provider.UUID][]byte)
	for i := range out.Items {
		item := &out.Items[i]
		if item.Details == nil {
			item.Details = st.lateOf(item.Token)
		}
		if len(item.Details) > 0 {
			plain[item.Token] = item.Details
			s.whole(codec.Heartbeat, &item.Details)
		}
	}
	if len(s.items) == 0 {
		return st.Full.RenewTasks(ctx, out)
	}
	sealing, cancel := context.WithTimeout(ctx, renewTimeout)
	err := st.seal(sealing, "renew tasks", false, s)
	cancel()
	if err != nil {
		for i := range out.Items {
			out.Items[i].Details = nil
		}
	}
	res, failed := st.Full.RenewTasks(ctx, out)
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range out.Items {
		token := out.Items[i].Token
		delete(st.late, token)
		if details, ok := plain[token]; ok && err != nil && (failed != nil || i < len(res.Items) && res.Items[i].Err == nil) {
			st.late[token] = details
		}
	}
	return res, failed
}

// lateOf returns the details of a task that could not be sealed yet; nil: none.
func (st *Store) lateOf(token provider.UUID) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.late[token]
}

// notLate forgets the details of tasks whose leases are over.
func (st *Store) notLate(items []provider.TaskReport) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range items {
		delete(st.late, items[i].Token)
	}
}

// SteerTask implements provider.TaskSteerer.
func (st *Store) SteerTask(ctx context.Context, req provider.SteerTaskRequest) (provider.SteerTaskResult, error) {
	out, s := new(req), new(sealer)
	s.message(&out.Message)
	if err := st.seal(ctx, "steer task", false, s); err != nil {
		return provider.SteerTaskResult{}, err
	}
	return st.Full.SteerTask(ctx, *out)
}
