package validations

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/perdure/perdure/provider"
)

func brokenRead() []brokenRule {
	return []brokenRule{
		{name: "a history is read to its end", caught: "read/history-range", breaks: readsHistory(readsToTheEnd)},
		{name: "a page of a history never has More", caught: "read/history-bytes", breaks: saysNoMore},
		{name: "an unknown execution has an empty history", caught: "read/history-unknown", breaks: readsUnknown},
		{name: "instances are listed oldest first", caught: "read/list-order-and-pages", breaks: listed(turnsListRound)},
		{name: "a page begins at a number of rows", caught: "read/list-while-changing", breaks: pagesByNumber},
		{name: "an empty list of statuses hides the terminated", caught: "read/list-filters", wide: true, breaks: lists(hidesTerminated)},
		{name: "a filter by attributes is ignored", caught: "read/list-attributes", breaks: lists(ignoresAttributes)},
		{name: "replaced instances are never listed", caught: "read/list-replaced", breaks: lists(hidesReplacedRows)},
		{name: "a count ignores names", caught: "read/count", breaks: countsAnyName},
		{name: "leased tasks are not counted", caught: "read/stats", breaks: figures(hidesTaskLeases)},
		{name: "Get waits for an unknown instance", caught: "read/get-unknown", breaks: waitsForNobody},
		{name: "pending tasks come in no order", caught: "read/get-tasks", wide: true, breaks: turnsTasksRound},
		{name: "a lease counts as a change", caught: "read/updated-at", breaks: gets(movesWithLease)},
		{name: "waiting work is counted only with all figures", caught: "read/stats-waiting", breaks: hidesWhatWaits},
		{name: "running instances are counted once", caught: "read/stats-running", breaks: figures(forgetsRunning)},
		{name: "running instances are counted only with all figures", caught: "read/stats-only-running", breaks: hidesWhatRuns},
		{name: "the oldest running instance is another one", caught: "read/stats-oldest-running", breaks: figures(agesRunning)},
		{name: "a limit of running instances is ignored", caught: "read/stats-most-running", breaks: countsAllRunning},
		{name: "a limit of running instances hides that there are more", caught: "read/stats-more-running", breaks: figures(saysNoMoreRun)},
		{name: "only the first of several parents counts", caught: "read/list-of-parents", breaks: filters(keepsOneParent)},
		{name: "failed instances are not counted", caught: "read/stats-instances", breaks: figures(forgetsFailed)},
		{name: "transactions are counted once", caught: "read/stats-commits", breaks: counts(countsOneTransaction)},
		{name: "turn commits are counted twice", caught: "read/stats-turn-commits", breaks: counts(countsCommitsTwice)},
	}
}

// readsHistory changes the requests of ReadHistory.
func readsHistory(change func(*provider.ReadHistoryRequest)) func(*mutant) {
	return func(m *mutant) { m.history.before(change) }
}

// lists changes the requests of List.
func lists(change func(*provider.ListRequest)) func(*mutant) {
	return func(m *mutant) { m.list.before(change) }
}

// listed changes the results of List.
func listed(change func(*provider.ListResult)) func(*mutant) {
	return func(m *mutant) {
		m.list.after(func(_ provider.ListRequest, res *provider.ListResult, _ *error) { change(res) })
	}
}

// figures changes the results of Stats.
func figures(change func(*provider.StatsResult)) func(*mutant) {
	return func(m *mutant) {
		m.stats.after(func(_ provider.StatsRequest, res *provider.StatsResult, _ *error) { change(res) })
	}
}

func readsToTheEnd(req *provider.ReadHistoryRequest) { req.To = 0 }

func saysNoMore(m *mutant) {
	m.history.after(func(_ provider.ReadHistoryRequest, res *provider.ReadHistoryResult, _ *error) { res.More = false })
}

func readsUnknown(m *mutant) {
	m.history.after(func(req provider.ReadHistoryRequest, _ *provider.ReadHistoryResult, err *error) {
		if errors.Is(*err, provider.ErrNotFound) && !m.stored(context.Background(), req.Key).Key.IsZero() {
			*err = nil
		}
	})
}

func turnsListRound(res *provider.ListResult) { slices.Reverse(res.Instances) }

// pagesByNumber skips as many rows as earlier pages had, whatever was written since.
func pagesByNumber(m *mutant) {
	m.list.around(func(ctx context.Context, req provider.ListRequest,
		list method[provider.ListRequest, provider.ListResult],
	) (provider.ListResult, error) {
		skip, err := strconv.Atoi(req.Cursor)
		if req.Max == 0 || req.Max > provider.MaxPage || err != nil && req.Cursor != "" {
			return list(ctx, req)
		}
		size := req.Max
		req.Max, req.Cursor = 0, ""
		res, err := list(ctx, req)
		rest := res.Instances[min(skip, len(res.Instances)):]
		res.Instances = rest[:min(size, len(rest))]
		if len(rest) > size {
			res.Cursor = strconv.Itoa(skip + size)
		}
		return res, err
	})
}

func hidesTerminated(req *provider.ListRequest) {
	if len(req.Filter.Statuses) == 0 {
		req.Filter.Statuses = []provider.Status{
			provider.StatusRunning, provider.StatusSuspended, provider.StatusCompleted, provider.StatusFailed, provider.StatusCancelled,
		}
	}
}

func ignoresAttributes(req *provider.ListRequest) { req.Filter.Attributes = nil }

func hidesReplacedRows(req *provider.ListRequest) { req.Filter.Replaced = false }

func countsAnyName(m *mutant) {
	m.count.before(func(req *provider.CountRequest) { req.Filter.Name = "" })
}

func hidesTaskLeases(res *provider.StatsResult) { res.TaskLeases = 0 }

func hidesWhatWaits(m *mutant) {
	m.stats.after(func(req provider.StatsRequest, res *provider.StatsResult, _ *error) {
		if req.Waiting {
			res.Tasks = nil
		}
	})
}

func hidesWhatRuns(m *mutant) {
	m.stats.after(func(req provider.StatsRequest, res *provider.StatsResult, _ *error) {
		if req.Running {
			res.Running = nil
		}
	})
}

// forgetsRunning counts one of each kind.
func forgetsRunning(res *provider.StatsResult) {
	for i := range res.Running {
		res.Running[i].Count = 1
	}
}

// agesRunning makes the oldest one a little younger.
func agesRunning(res *provider.StatsResult) {
	for i := range res.Running {
		res.Running[i].Oldest++
	}
}

func countsAllRunning(m *mutant) {
	m.stats.before(func(req *provider.StatsRequest) { req.Most = 0 })
}

func saysNoMoreRun(res *provider.StatsResult) {
	for i := range res.Running {
		res.Running[i].More = false
	}
}

func keepsOneParent(f *provider.Filter) { f.ParentKeys = f.ParentKeys[:min(len(f.ParentKeys), 1)] }

func forgetsFailed(res *provider.StatsResult) { delete(res.Instances, provider.StatusFailed) }

// counts changes the counters.
func counts(change func(*provider.Counters)) func(*mutant) {
	return func(m *mutant) {
		inner := m.counted
		m.counted = func() provider.Counters {
			c := inner()
			change(&c)
			return c
		}
	}
}

func countsOneTransaction(res *provider.Counters) { res.Commits = min(res.Commits, 1) }

func countsCommitsTwice(res *provider.Counters) { res.CommitGroups *= 2 }

func waitsForNobody(m *mutant) {
	m.get.after(func(req provider.GetRequest, _ *provider.GetResult, err *error) {
		if req.WaitEnded && errors.Is(*err, provider.ErrNotFound) {
			*err = nil
		}
	})
}

func turnsTasksRound(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) { slices.Reverse(res.Tasks) })
}

func movesWithLease(i *provider.Instance) {
	if i.Deliveries > 0 {
		i.UpdatedAt++
	}
}
