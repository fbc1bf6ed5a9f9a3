package validations

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenSessions() []brokenRule {
	return []brokenRule{
		{name: "sessions have no owner", caught: "sessions/claimed", breaks: schedules(func(t *provider.NewTask) { t.Session = "" })},
		{name: "an owner holds any number of sessions", caught: "sessions/max", breaks: claims(func(c *provider.SessionClaim) { c.Max = provider.MaxBatch })},
		{name: "an owner holds one session only", caught: "sessions/max", breaks: claims(func(c *provider.SessionClaim) { c.Max = 1 })},
		{name: "a fetch without sessions gets some", caught: "sessions/not-asked-for", breaks: fetchesTasks(claimsAlways)},
		{name: "each queue has its own sessions", caught: "sessions/one-name-space", breaks: schedules(namesSessionsByQueue)},
		{name: "a fetch counts one session at most", caught: "sessions/counted", breaks: countsOneSession},
		{name: "a renewal counts one session at most", caught: "sessions/counted-by-renewals", breaks: renewsOneSession},
		{name: "concurrent owners share a session", caught: "sessions/racing-for-one", racing: true, breaks: sharesSessions},
		{name: "tasks show no holder of their session", caught: "sessions/holder-shown", breaks: showsNoHolder},
		{name: "a holder is shown only while it runs the task", caught: "sessions/holder-shown", breaks: showsRunners},
		{name: "waiting tasks of sessions are not counted apart", caught: "sessions/waiting", breaks: countsNoSessions},
		{name: "a session is never over", caught: "sessions/lease-over", breaks: claims(func(c *provider.SessionClaim) { c.Lease = long })},
		{name: "a fetch does not extend sessions", caught: "sessions/fetch-extends", breaks: fetchExtendsNothing},
		{name: "a renewal does not extend sessions", caught: "sessions/renewal-extends", breaks: renewsNoSessions},
		{name: "a session is never idle", caught: "sessions/idle", breaks: claims(func(c *provider.SessionClaim) { c.Idle = long })},
		{name: "a report does not count as a use of a session", caught: "sessions/in-use", breaks: reportsEndSessions},
		{name: "a session is over while a task of it runs", caught: "sessions/leased-task-keeps-it", breaks: takesBusySessions},
		{name: "a session outlives its instance", caught: "sessions/ends-with-its-instance", breaks: outlivesInstance},
		{name: "a session ends with its instance although others have tasks in it", caught: "sessions/passes-to-another-instance", breaks: endsSessionsAt(closes)},
		{name: "a session ends with its instance although others have used it", caught: "sessions/shared", breaks: endsSessionsAt(closes)},
		{name: "a session ends with its execution", caught: "sessions/next-execution", breaks: endsSessionsAt(opensNext)},
		{name: "a commit ends no session", caught: "sessions/ended-by-name", breaks: commits(func(r *provider.CommitTurnRequest) { r.EndSessions = nil })},
		{name: "a late renewal brings an ended session back", caught: "sessions/late-renewal", breaks: regainsByRenewal},
		{name: "a hand-off brings an ended session back", caught: "sessions/hand-off-to-its-last-owner", breaks: regainsByHandOff},
		{name: "a task past its time brings an ended session back", caught: "sessions/late-task-for-its-last-owner", breaks: regainsByLateTask},
		{name: "a free session wakes no fetch", caught: "sessions/expiry-wakes", breaks: oversleeps(claimsSome)},
	}
}

// endsSessionsAt makes some commits end all sessions of which the store has ever had a task.
func endsSessionsAt(when func(*provider.CommitTurnRequest) bool) func(*mutant) {
	return func(m *mutant) {
		var mu sync.Mutex
		var all []string
		m.commit.before(func(req *provider.CommitTurnRequest) {
			mu.Lock()
			defer mu.Unlock()
			for i := range req.Tasks {
				if id := req.Tasks[i].Session; id != "" && !slices.Contains(all, id) {
					all = append(all, id)
				}
			}
			if when(req) {
				req.EndSessions = slices.Clone(all)
			}
		})
	}
}

// outlivesInstance gives the sessions of the first owner to nobody else once an instance has ended.
func outlivesInstance(m *mutant) {
	var mu sync.Mutex
	first, closed := "", false
	m.commit.before(func(req *provider.CommitTurnRequest) {
		mu.Lock()
		defer mu.Unlock()
		closed = closed || closes(req)
	})
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		mu.Lock()
		defer mu.Unlock()
		if first == "" && claimsSome(req) {
			first = req.Owner
		}
		if closed && req.Owner != first {
			req.Sessions = provider.SessionClaim{}
		}
	})
}

// letsOnlyA returns a function after whose call only owner "a" gets tasks of sessions, as if it held them all.
func letsOnlyA(m *mutant) (back func()) {
	var called atomic.Bool
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		if called.Load() && req.Owner != "a" {
			req.Sessions = provider.SessionClaim{}
		}
	})
	return func() { called.Store(true) }
}

func regainsByRenewal(m *mutant) {
	back := letsOnlyA(m)
	m.renew.after(func(req provider.RenewTasksRequest, res *provider.RenewTasksResult, _ *error) {
		if len(req.Items) > 0 && req.Owner == "a" && res.Sessions == 0 {
			back()
		}
	})
}

func regainsByHandOff(m *mutant) {
	back := letsOnlyA(m)
	m.commit.before(func(req *provider.CommitTurnRequest) {
		for i := range req.Tasks {
			if task := &req.Tasks[i]; task.Session != "" && task.Lease != nil && task.Lease.Owner == "a" {
				back()
			}
		}
	})
}

func regainsByLateTask(m *mutant) {
	back := letsOnlyA(m)
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		if req.Owner == "a" && slices.ContainsFunc(res.Tasks, func(task provider.LeasedTask) bool { return task.PastDeadline }) {
			back()
		}
	})
}

func closes(req *provider.CommitTurnRequest) bool { return req.Status.Ended() }

func opensNext(req *provider.CommitTurnRequest) bool { return req.Next != nil }

func claimsSome(req *provider.FetchTasksRequest) bool { return req.Sessions.Max > 0 }

// claims changes the terms of fetches with sessions.
func claims(change func(*provider.SessionClaim)) func(*mutant) {
	return fetchesTasks(func(req *provider.FetchTasksRequest) {
		if claimsSome(req) {
			change(&req.Sessions)
		}
	})
}

// schedules changes the tasks of commits.
func schedules(change func(*provider.NewTask)) func(*mutant) {
	return commits(func(req *provider.CommitTurnRequest) { scheduled(req, change) })
}

func claimsAlways(req *provider.FetchTasksRequest) {
	if !claimsSome(req) {
		req.Sessions = claim(1)
	}
}

func namesSessionsByQueue(t *provider.NewTask) {
	if t.Session != "" {
		t.Session += t.Queue
	}
}

func showsNoHolder(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for i := range res.Tasks {
			res.Tasks[i].SessionOwner = ""
		}
	})
}

func showsRunners(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for i := range res.Tasks {
			res.Tasks[i].SessionOwner = res.Tasks[i].Owner
		}
	})
}

func countsNoSessions(m *mutant) {
	m.stats.after(func(_ provider.StatsRequest, res *provider.StatsResult, _ *error) {
		for i := range res.Tasks {
			res.Tasks[i].InSession = 0
		}
	})
}

func countsOneSession(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		res.Sessions = min(res.Sessions, 1)
	})
}

func renewsOneSession(m *mutant) {
	m.renew.after(func(_ provider.RenewTasksRequest, res *provider.RenewTasksResult, _ *error) {
		res.Sessions = min(res.Sessions, 1)
	})
}

func sharesSessions(m *mutant) {
	var meeting crowd[string]
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if claimsSome(&req) && req.Wait == 0 {
			leave := meeting.enter(queue)
			defer leave()
			window()
			if meeting.size(queue) > 1 {
				req.Owner = "all of them"
			}
		}
		return tasks(ctx, req)
	})
}

func renewsNoSessions(m *mutant) {
	m.renew.before(func(req *provider.RenewTasksRequest) { req.Owner = "" })
}

// relet makes the sessions of an owner end after d.
func (m *mutant) relet(owner string, d time.Duration) {
	_, _ = m.Provider.RenewTasks(context.Background(), provider.RenewTasksRequest{Lease: long, Owner: owner, SessionLease: max(d, 1)})
}

// ledger notes until when the first fetch of each owner made its sessions last.
type ledger struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (l *ledger) first(req *provider.FetchTasksRequest) (until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	if _, known := l.until[req.Owner]; !known {
		l.until[req.Owner] = time.Now().Add(min(req.Sessions.Lease, req.Sessions.Idle))
	}
	return l.until[req.Owner]
}

// over returns an owner whose sessions are over, "" for none.
func (l *ledger) over(but string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for owner, until := range l.until {
		if owner != but && until.Before(time.Now()) {
			return owner
		}
	}
	return ""
}

func fetchExtendsNothing(m *mutant) {
	var held ledger
	m.tasks.after(func(req provider.FetchTasksRequest, _ *provider.FetchTasksResult, _ *error) {
		if claimsSome(&req) {
			m.relet(req.Owner, time.Until(held.first(&req)))
		}
	})
}

func reportsEndSessions(m *mutant) {
	m.report.after(func(provider.ReportTasksRequest, *provider.ReportTasksResult, *error) { m.relet("a", 1) })
}

// takesBusySessions takes over sessions that should have ended, in the name of their holder.
func takesBusySessions(m *mutant) {
	var held ledger
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if !claimsSome(&req) {
			return tasks(ctx, req)
		}
		held.first(&req)
		if owner := held.over(req.Owner); owner != "" {
			req.Owner = owner
		}
		return tasks(ctx, req)
	})
}
