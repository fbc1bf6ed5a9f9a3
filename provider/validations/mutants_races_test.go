package validations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenRaces lists mutants that show only under concurrent callers.
func brokenRaces() []brokenRule {
	list := []brokenRule{
		{name: "two waiting nodes get one instance", caught: "fetch-turns/racing-parked-fetchers", breaks: leasesToTheCrowd(func(r *provider.FetchTurnsRequest, _ int64) bool { return r.Wait > 0 })},
		{name: "two nodes get one instance without waiting", caught: "fetch-turns/racing-for-one", breaks: leasesToTheCrowd(func(r *provider.FetchTurnsRequest, _ int64) bool { return r.Wait == 0 })},
		{name: "all fetches take over an expired lease", caught: "fetch-turns/racing-for-an-expired-lease", breaks: leasesToTheCrowd(func(_ *provider.FetchTurnsRequest, n int64) bool { return n > 1 })},
		{name: "concurrent fetches share their capabilities", caught: "fetch-turns/racing-capabilities", breaks: mixesCapabilities},
		{name: "concurrent turns are both stored", caught: "send/race-with-turns", breaks: consumesTwice},
		{name: "a commit computes the ready time before it locks", caught: "send/race-with-a-commit", breaks: computesReadyTooEarly},
		{name: "commits that send to each other fail", caught: "deliver/crossed-sends", breaks: failsCrossing},
		{name: "a task is visible before its instance", caught: "tasks/racing-with-creation", breaks: showsTasksTooEarly},
		{name: "two concurrent reports are both accepted", caught: "report/racing-with-renewals", breaks: takesBothReports},
		{name: "a commit writes back what was deleted meanwhile", caught: "clean/races-at-one-id", breaks: writesBack},
	}
	for i := range list {
		list[i].racing = true
	}
	return list
}

// A crowd counts calls in flight that share a key.
type crowd[K comparable] struct {
	mu sync.Mutex
	in map[K]int
}

// enter counts a call until leave.
func (c *crowd[K]) enter(key K) (leave func()) {
	c.add(key, 1)
	return func() { c.add(key, -1) }
}

func (c *crowd[K]) add(key K, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in == nil {
		c.in = map[K]int{}
	}
	c.in[key] += n
}

func (c *crowd[K]) size(key K) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.in[key]
}

type (
	fetchTurns  = method[provider.FetchTurnsRequest, provider.FetchTurnsResult]
	commitTurn  = method[provider.CommitTurnRequest, provider.CommitTurnResult]
	reportTasks = method[provider.ReportTasksRequest, provider.ReportTasksResult]
)

// leasesToTheCrowd releases the lease of a turn while other fetches are in flight.
func leasesToTheCrowd(concerns func(r *provider.FetchTurnsRequest, deliveries int64) bool) func(*mutant) {
	return func(m *mutant) {
		var fetching crowd[bool]
		m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, fetch fetchTurns) (provider.FetchTurnsResult, error) {
			defer fetching.enter(true)()
			window()
			res, err := fetch(ctx, req)
			for _, u := range res.Turns {
				if fetching.size(true) > 1 && concerns(&req, u.Instance.Deliveries) {
					item := provider.TurnRelease{Key: u.Instance.Key, Token: req.Token}
					_, _ = m.Provider.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
				}
			}
			return res, err
		})
	}
}

func mixesCapabilities(m *mutant) {
	var fetching crowd[provider.Capability]
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, fetch fetchTurns) (provider.FetchTurnsResult, error) {
		for _, c := range req.Capabilities {
			defer fetching.enter(c)()
		}
		window()
		fetching.mu.Lock()
		for c, n := range fetching.in {
			if n > 0 && !slices.Contains(req.Capabilities, c) {
				req.Capabilities = append(slices.Clip(req.Capabilities), c)
			}
		}
		fetching.mu.Unlock()
		return fetch(ctx, req)
	})
}

// consumesTwice also stores the second of two turns and ignores its messages. It leaves the first turn of an instance alone.
func consumesTwice(m *mutant) {
	var committing crowd[provider.UUID]
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		defer committing.enter(req.Key)()
		meets := committing.size(req.Key) > 1 && req.Length > 0 && len(req.Consumed) == len(req.Events)
		time.Sleep(time.Millisecond) //nolint:forbidigo // of a bubble's clock
		res, err := commit(ctx, req)
		if now := m.stored(ctx, req.Key); meets && errors.Is(err, provider.ErrConflict) {
			req.Expected, req.Length, req.Consumed = now.Version, now.HistoryLength, nil
			return commit(ctx, req)
		}
		return res, err
	})
}

func computesReadyTooEarly(m *mutant) {
	var hidden sync.Map
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		seen := m.stored(ctx, req.Key)
		window()
		if now := m.stored(ctx, req.Key); now.InboxMessages > seen.InboxMessages {
			hidden.Store(req.Key, true)
		} else {
			hidden.Delete(req.Key)
		}
		return commit(ctx, req)
	})
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		if _, yes := hidden.Load(res.Instance.Key); yes {
			res.Instance.ReadyAt = 0
		}
	})
}

func failsCrossing(m *mutant) {
	var sending crowd[[2]provider.UUID]
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		for _, s := range req.Sends {
			defer sending.enter([2]provider.UUID{req.Key, s.Key})()
		}
		window()
		for _, s := range req.Sends {
			if s.Key != req.Key && sending.size([2]provider.UUID{s.Key, req.Key}) > 0 {
				return provider.CommitTurnResult{}, &provider.Error{
					Op: "commit turn", Outcome: provider.OutcomeNothing, Retryable: true, Err: errors.New("deadlock"),
				}
			}
		}
		return commit(ctx, req)
	})
}

func showsTasksTooEarly(m *mutant) {
	var committing crowd[provider.UUID]
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		defer committing.enter(req.Key)()
		res, err := commit(ctx, req)
		window()
		return res, err
	})
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for i := range res.Tasks {
			if committing.size(res.Tasks[i].Key) > 0 {
				res.Tasks[i].State.Kind = provider.ExecutionMissing
			}
		}
	})
}

func takesBothReports(m *mutant) {
	var reporting crowd[provider.TaskRef]
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportTasks) (provider.ReportTasksResult, error) {
		for i := range req.Items {
			defer reporting.enter(req.Items[i].TaskRef)()
		}
		window()
		meets := make([]bool, len(req.Items))
		for i := range req.Items {
			meets[i] = reporting.size(req.Items[i].TaskRef) > 1
		}
		window()
		res, err := report(ctx, req)
		for i := range res.Items {
			if meets[i] {
				res.Items[i].Err = nil
			}
		}
		return res, err
	})
}

func writesBack(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		seen := m.stored(ctx, req.Key)
		window()
		res, err := commit(ctx, req)
		if errors.Is(err, provider.ErrConflict) && !seen.Key.IsZero() && m.stored(ctx, req.Key).Key.IsZero() {
			_, _ = m.Provider.Create(ctx, provider.CreateRequest{ID: seen.ID + " again", Key: seen.Key, Commit: unique(), Name: seen.Name})
		}
		return res, err
	})
}
