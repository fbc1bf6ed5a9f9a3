package validations

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func brokenPlaces() []brokenRule {
	return []brokenRule{
		{name: "limits of queues do not count", caught: "max-leased/places", breaks: withLimits(func(q *provider.QueueFilter) { q.MaxLeased = 0 })},
		{name: "a limit applies to fetches without one", caught: "max-leased/unlimited", breaks: limitsAll},
		{name: "the last of two limits counts", caught: "max-leased/lowest", breaks: takesLastLimit},
		{name: "an expired lease counts towards the limit", caught: "max-leased/lease-expires", breaks: countsExpiredLeases},
		{name: "a parked task counts towards the limit", caught: "max-leased/parked", breaks: keepsParkedPlaces},
		{name: "a hand-off is limited", caught: "max-leased/hand-off", breaks: refusesHandOffs},
		{name: "tasks past their time are limited", caught: "max-leased/expired", breaks: fetchesTasks(wantsNoExpired)},
		{name: "concurrent fetches exceed the limit", caught: "max-leased/racing-fetchers", racing: true, breaks: givesPlacesToTheCrowd},
		{name: "a freed limit wakes no fetch", caught: "max-leased/report-wakes", breaks: oversleeps(isLimited)},
	}
}

func isLimited(req *provider.FetchTasksRequest) bool {
	return slices.ContainsFunc(req.Queues, func(q provider.QueueFilter) bool { return q.MaxLeased > 0 })
}

// withLimits changes the limits of fetches that have some.
func withLimits(change func(*provider.QueueFilter)) func(*mutant) {
	return fetchesTasks(func(req *provider.FetchTasksRequest) {
		req.Queues = slices.Clone(req.Queues)
		for n := range req.Queues {
			if req.Queues[n].MaxLeased > 0 {
				change(&req.Queues[n])
			}
		}
	})
}

func limitsAll(m *mutant) {
	var last atomic.Int64
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		req.Queues = slices.Clone(req.Queues)
		for n := range req.Queues {
			q := &req.Queues[n]
			if q.MaxLeased == 0 {
				q.MaxLeased = int(last.Load())
			}
			last.Store(int64(q.MaxLeased))
		}
	})
}

func takesLastLimit(m *mutant) {
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		limits := map[string]int{}
		for _, q := range req.Queues {
			limits[q.Queue] = q.MaxLeased
		}
		req.Queues = slices.Clone(req.Queues)
		for n, q := range req.Queues {
			req.Queues[n].MaxLeased = limits[q.Queue]
		}
	})
}

// takingPlaces lowers the limits of fetches by a number of leases.
func takingPlaces(m *mutant, taken *atomic.Int64) {
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		req.Queues = slices.DeleteFunc(slices.Clone(req.Queues), func(q provider.QueueFilter) bool {
			return q.MaxLeased > 0 && int64(q.MaxLeased) <= taken.Load()
		})
	})
}

func countsExpiredLeases(m *mutant) {
	var leased atomic.Int64
	takingPlaces(m, &leased)
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		if isLimited(&req) && req.Lease == short {
			leased.Add(int64(len(res.Tasks)))
		}
	})
}

func keepsParkedPlaces(m *mutant) {
	var kept atomic.Int64
	takingPlaces(m, &kept)
	m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, _ *error) {
		for n, item := range res.Items {
			if item.Err == nil && req.Items[n].Outcome == provider.TaskPark {
				kept.Add(1)
			}
		}
	})
}

func refusesHandOffs(m *mutant) {
	var limited atomic.Bool
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		if isLimited(req) {
			limited.Store(true)
		}
	})
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if limited.Load() {
			scheduled(req, func(t *provider.NewTask) { t.Lease = nil })
		}
	})
}

func wantsNoExpired(req *provider.FetchTasksRequest) {
	req.Expired = req.Expired && !isLimited(req)
}

func givesPlacesToTheCrowd(m *mutant) {
	var meeting crowd[string]
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if isLimited(&req) && req.Wait == 0 {
			leave := meeting.enter(queue)
			defer leave()
			window()
			req.Queues = slices.Clone(req.Queues)
			req.Queues[0].MaxLeased += 2 * (meeting.size(queue) - 1)
		}
		return tasks(ctx, req)
	})
}

// oversleeps makes fetches that find nothing look again only when their Wait is over.
func oversleeps(which func(*provider.FetchTasksRequest) bool) func(*mutant) {
	return func(m *mutant) {
		m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
			if !which(&req) || req.Wait == 0 || req.Expired {
				return tasks(ctx, req)
			}
			wait := req.Wait
			req.Wait = 0
			if res, err := tasks(ctx, req); err != nil || len(res.Tasks) > 0 {
				return res, err
			}
			_, _ = m.Provider.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: wait})
			return tasks(ctx, req)
		})
	}
}
