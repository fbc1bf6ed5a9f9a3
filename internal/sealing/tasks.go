package sealing

import (
	"context"
	"iter"

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
	if err := req.Validate(); err != nil { // the parts of what is too large would fit
		return provider.ReportTasksResult{}, err
	}
	out, s := provider.ReportTasksRequest{Items: append([]provider.TaskReport(nil), req.Items...)}, new(sealer)
	for i := range out.Items {
		item := &out.Items[i]
		if item.Details == nil {
			item.Details = st.late.get(item.Token)
		}
		s.report(item)
	}
	if err := st.seal(ctx, "report tasks", false, s); err != nil {
		return provider.ReportTasksResult{}, err
	}
	var res provider.ReportTasksResult
	for from, to := range parts(len(out.Items), func(i int) int {
		item := &out.Items[i]
		return len(item.Message.Payload) + len(item.Failure) + len(item.Details)
	}) {
		part, err := st.Full.ReportTasks(ctx, provider.ReportTasksRequest{Items: out.Items[from:to]})
		switch {
		case err == nil:
			st.notLate(req.Items[from:to])
		case from == 0 && to == len(out.Items):
			return part, err
		case provider.Retryable(err) || provider.OutcomeOf(err) != provider.OutcomeNothing: // a repeat finds that the leases of the parts before are over
			return res, &provider.Error{Op: "report tasks", Outcome: provider.OutcomeUnknown, Retryable: true, Err: err}
		default: // it fails again, and concerns only this part
			part.Now, part.Items = res.Now, make([]provider.TaskReportResult, to-from)
			for i := range part.Items {
				part.Items[i].Err = err
			}
		}
		res.Items, res.Now = append(res.Items, part.Items...), part.Now
	}
	return res, nil
}

// parts returns where the parts of a list begin and end that fit into one request each. Sealed, the list may have grown too large for one.
func parts(n int, size func(i int) int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from, bytes := 0, 0
		for i := range n {
			one := size(i)
			if bytes += one; bytes > provider.MaxCommitBytes && i > from {
				if !yield(from, i) {
					return
				}
				from, bytes = i, one
			}
		}
		yield(from, n)
	}
}

// RenewTasks implements provider.Provider. A lease does not wait for the codec: details that cannot be sealed go with a later renewal, or with
// the report.
func (st *Store) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	if err := req.Validate(); err != nil { // the parts of what is too large would fit
		return provider.RenewTasksResult{}, err
	}
	out, s := req, new(sealer)
	out.Items = append([]provider.TaskRenewal(nil), req.Items...)
	plain := make(map[provider.UUID][]byte)
	for i := range out.Items {
		item := &out.Items[i]
		if item.Details == nil {
			item.Details = st.late.get(item.Token)
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
	withheld := st.seal(sealing, "renew tasks", false, s) != nil
	cancel()
	if withheld {
		for i := range out.Items {
			out.Items[i].Details = nil
		}
	}
	var (
		res    provider.RenewTasksResult
		failed error
	)
	for from, to := range parts(len(out.Items), func(i int) int { return len(out.Items[i].Details) }) {
		one := out
		one.Items = out.Items[from:to]
		part, err := st.Full.RenewTasks(ctx, one)
		if failed == nil {
			failed = err // the other leases are renewed all the same
		}
		st.keepLate(one.Items, part.Items, plain, withheld, err)
		res.Items, res.Sessions, res.Now = append(res.Items, part.Items...), part.Sessions, part.Now
	}
	return res, failed
}

// keepLate keeps the details that a renewal has not stored, unless the lease is lost.
func (st *Store) keepLate(
	items []provider.TaskRenewal, res []provider.TaskRenewalResult, plain map[provider.UUID][]byte, withheld bool, failed error,
) {
	for i := range items {
		token := items[i].Token
		switch details := plain[token]; {
		case details == nil:
		case failed != nil, withheld && i < len(res) && res[i].Err == nil:
			st.late.put(token, details, len(details))
		default:
			st.late.remove(token)
		}
	}
}

// notLate forgets the details of tasks whose leases are over.
func (st *Store) notLate(items []provider.TaskReport) {
	for i := range items {
		st.late.remove(items[i].Token)
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
