package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func doFetchTasks(d *driver) {
	req := provider.FetchTasksRequest{
		Owner: d.owner(), Token: d.token(), Lease: d.lease(), Expired: d.odds(2), Max: pick(d, 100, 2, 1),
		Queues: []provider.QueueFilter{{Queue: "q", Names: []string{"f", "g"}}, {Queue: "r", Names: []string{"g", "f"}}},
	}
	if d.odds(3) {
		req.Queues = req.Queues[d.n(2):]
		req.Queues[0].Names = req.Queues[0].Names[d.n(2):]
	}
	req.Sessions = d.claim()
	d.brief = d.brief || d.idles
	for n := range req.Queues {
		req.Queues[n].MaxLeased = pick(d, 0, 0, 0, 1, 2, 4)
	}
	open := d.openTasks()
	if open { // nor may it be open which tasks are too many
		req.Max = 100
		req.Sessions.Max = min(req.Sessions.Max, 1) * sessions
		for n := range req.Queues {
			req.Queues[n].MaxLeased = 0
		}
	}
	res, err := call(d, "fetch tasks", provider.Provider.FetchTasks, always(req), func(_ *side, res *provider.FetchTasksResult) {
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

// sessions is how many there are.
const sessions = 3

func (d *driver) session() string { return pick(d, "", "", "", "s1", "s2", "s3") }

// claim draws on what terms a fetch takes sessions.
func (d *driver) claim() provider.SessionClaim {
	most := pick(d, 0, 0, sessions, 1, 2)
	if most == 0 {
		return provider.SessionClaim{}
	}
	claim := provider.SessionClaim{Max: most, Lease: d.lease(), Idle: d.lease()}
	d.idles = d.idles || claim.Idle == short
	return claim
}

// openTasks tells whether the contract leaves open which of the pending tasks is fetched first: if two are of the
// same instant, of which one may have been leased before, or the lease of one has lapsed.
func (d *driver) openTasks() bool {
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

// seen draws a task that was leased, likely a late one, rarely what is none.
func (d *driver) seen() seenTask {
	if len(d.tasks) == 0 || d.odds(12) {
		ref := provider.TaskRef{Key: d.key(), Execution: int64(1 + d.n(3)), EventID: d.event()}
		return seenTask{ref, d.token(), int64(1 + d.n(2))}
	}
	back := min(pick(d, 0, 0, 0, 1, 2, 5), len(d.tasks)-1)
	task := d.tasks[len(d.tasks)-1-back]
	switch d.n(16) {
	case 14:
		task.token = d.token()
	case 15:
		task.attempt++
	}
	return task
}

func doReport(d *driver) {
	req := provider.ReportTasksRequest{Items: some(d, 1, d.report)}
	req.Items = append(req.Items, d.report())
	d.brief = d.brief || d.idles
	_, _ = call(d, "report tasks", provider.Provider.ReportTasks, always(req), nil)
}

func (d *driver) report() provider.TaskReport {
	task := d.seen()
	item := provider.TaskReport{TaskRef: task.TaskRef, Token: task.token, Attempt: task.attempt}
	item.Outcome = pick(d, provider.TaskComplete, provider.TaskRetry, provider.TaskPark, provider.TaskRelease, provider.TaskDiscard, provider.TaskPoison)
	item.Delay = d.delay()
	if d.odds(3) {
		item.Details = d.payload("details")
	}
	switch item.Outcome {
	case provider.TaskComplete:
		item.Message = d.message()
	case provider.TaskPoison:
		item.Message, item.Reason = d.message(), "poison"
	case provider.TaskRetry:
		if !d.odds(3) {
			item.Failure = d.payload("failure")
		}
	case provider.TaskRelease:
		item.Begun = d.odds(2)
		if d.odds(4) { // all that the token holds, of a task or of a fetch
			item.TaskRef, item.Attempt = provider.TaskRef{}, 0
			item.Token = pick(d, task.token, d.token())
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
		task := d.seen()
		item := provider.TaskRenewal{TaskRef: task.TaskRef, Token: task.token}
		if d.odds(3) {
			item.Details = d.payload("details")
		}
		req.Items = append(req.Items, item)
	}
	d.brief = d.brief || d.idles
	_, _ = call(d, "renew tasks", provider.Provider.RenewTasks, always(req), nil)
}
