package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func doFetchTasks(d *driver) {
	req := provider.FetchTasksRequest{
		Owner: d.owner(), Token: d.token(), Lease: d.lease(), Expired: d.odds(2), Max: pick(&d.source, 100, 2, 1),
		Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"f", "g"}}, {Queue: "r", Names: []string{"g", "f"}}},
	}
	if d.odds(3) {
		req.Queues = req.Queues[d.n(2):]
		req.Queues[0].Names = req.Queues[0].Names[d.n(2):]
	}
	req.Sessions = d.claim()
	d.brief = d.brief || d.idles
	for n := range req.Queues {
		req.Queues[n].MaxLeased = pick(&d.source, 0, 0, 0, 1, 2, 4)
	}
	open := openTasks(d)
	if open { // nor may the limits choose among the tasks
		req.Max = 100
		req.Sessions.Max = min(req.Sessions.Max, 1) * sessions
		for n := range req.Queues {
			req.Queues[n].MaxLeased = 0
		}
	}
	d.fetching = true
	res, err := call(d, "fetch tasks", (*provider.Full).FetchTasks, always(req), func(_ *side, res *provider.FetchTasksResult) {
		for n := range res.Tasks {
			res.Tasks[n].Rank = 0 // no instant of a step: priorities and fairness move it; cases of the suite check it
		}
		if open {
			slices.SortFunc(res.Tasks, func(a, b provider.LeasedTask) int {
				return strings.Compare(fmt.Sprint(a.TaskRef), fmt.Sprint(b.TaskRef))
			})
		}
	})
	if err != nil {
		return
	}
	for _, t := range res.Tasks {
		d.tasks = append(d.tasks, seenTask{t.TaskRef, provider.TaskToken(req.Token, t.TaskRef), t.Attempt})
	}
}

// openTasks reports whether the contract leaves open which pending task is fetched first. It does if two have the same
// instant, since one may have been leased before, or if the lease of one has expired.
func openTasks(d *driver) bool {
	seen := map[provider.Time]bool{}
	for _, row := range d.rows {
		res, err := d.model.Get(d.ctx, provider.GetRequest{Key: row.Key, WithTasks: true})
		if err != nil {
			d.differf("reading the model: %v", err)
		}
		for _, t := range res.Tasks {
			for _, instant := range []provider.Time{t.NotBefore, t.StartBy, t.Deadline} {
				if instant != 0 && seen[instant] {
					return true
				}
				seen[instant] = true
			}
		}
	}
	inspector, _ := provider.As[provider.Inspector](d.model.Provider)
	stored, err := inspector.Inspect(d.ctx, provider.InspectRequest{Kind: provider.InspectTasks})
	if err != nil {
		d.differf("reading the model: %v", err)
	}
	return slices.ContainsFunc(stored.Tasks, func(t provider.TaskRow) bool { return t.State == provider.TaskLeased && t.Lease.Over })
}

func doReport(d *driver) {
	req := provider.ReportTasksRequest{Items: some(&d.source, 1, d.drawReport)}
	req.Items = append(req.Items, d.drawReport())
	d.brief = d.brief || d.idles
	_, _ = call(d, "report tasks", (*provider.Full).ReportTasks, always(req), nil)
}

func (w *world) drawReport() provider.TaskReport {
	task := w.recentTask()
	item := provider.TaskReport{TaskRef: task.TaskRef, Token: task.token, Attempt: task.attempt}
	item.Outcome = pick(&w.source, provider.TaskComplete, provider.TaskRetry, provider.TaskPark, provider.TaskRelease, provider.TaskDiscard, provider.TaskPoison)
	item.Delay = w.delay()
	if w.odds(3) {
		item.Details = w.payload("details")
	}
	switch item.Outcome {
	case provider.TaskComplete:
		item.Message = w.message()
	case provider.TaskPoison:
		item.Message, item.Reason = w.message(), "poison"
	case provider.TaskRetry:
		if !w.odds(3) {
			item.Failure = w.payload("failure")
		}
	case provider.TaskRelease:
		item.Begun = w.odds(2)
		if w.odds(4) { // every task that the token holds
			item.Outcome, item.TaskRef, item.Attempt = provider.TaskReleaseAll, provider.TaskRef{}, 0
			item.Token = pick(&w.source, task.token, w.token())
		}
	default:
	}
	return item
}

func doRenew(d *driver) {
	req := provider.RenewTasksRequest{Lease: d.lease()}
	if d.odds(3) {
		req.Owner, req.SessionLease = d.owner(), d.lease()
	}
	for range d.n(3) {
		task := d.recentTask()
		item := provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token}
		if d.odds(3) {
			item.Details = d.payload("details")
		}
		req.Items = append(req.Items, item)
	}
	d.brief = d.brief || d.idles
	_, _ = call(d, "renew tasks", (*provider.Full).RenewTasks, always(req), nil)
}
