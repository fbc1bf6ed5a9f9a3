package validations

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenReport() []brokenRule {
	return []brokenRule{
		{name: "a result forgets which event it answers", caught: "report/complete", breaks: reports(forgetsEvent)},
		{name: "the result of a suspended instance is lost", caught: "report/complete-suspended", breaks: losesSuspended},
		{name: "a completion of an ended instance returns Running", caught: "report/complete-after-end", breaks: reported(saysRunning)},
		{name: "a retry keeps the deliveries", caught: "report/retry", breaks: keepsTaskDeliveries},
		{name: "a retry comes at once", caught: "report/retry-delay", breaks: reports(retriesAtOnce)},
		{name: "a parked task is shown as leased", caught: "report/park", breaks: showsParkedAsLeased},
		{name: "a parked task cannot be retried", caught: "report/park-then-retry", breaks: parksForGood},
		{name: "a released task keeps its delivery", caught: "report/release", breaks: countsReleases},
		{name: "a release without a task releases nothing", caught: "report/release-all", breaks: releasesNoTask},
		{name: "a discarded task is removed although its execution runs", caught: "report/discard-running", breaks: reports(completesDiscarded)},
		{name: "a dead letter has no reason", caught: "report/poison", breaks: reports(forgetsReason)},
		{name: "a report by a wrong token succeeds", caught: "report/wrong-token", breaks: parksForAnyone},
		{name: "a release by the token of a fetch releases nothing", caught: "report/release-fetch", breaks: releasesNoFetch},
		{name: "the tasks of one fetch accept each other's tokens", caught: "report/token-of-each", breaks: sharesTokens},
		{name: "a task accepts the token of its fetch", caught: "report/token-of-the-fetch", breaks: goesByFetch},
		{name: "a report of another attempt counts", caught: "report/wrong-attempt", breaks: ignoresAttempts},
		{name: "a repeated retry succeeds", caught: "report/repeat", breaks: repeatsRetries},
		{name: "a refused report keeps those after it", caught: "report/each-for-itself", breaks: stopsAtBadReport},
		{name: "a deleted instance counts as running", caught: "report/missing", breaks: remembersDeleted},
		{name: "a completion reported twice at once counts twice", caught: "report/racing-reports", racing: true, breaks: completesEarly},
		{name: "a report finds its instance by ID", caught: "report/after-replacement", breaks: reportsToSuccessor},
	}
}

// reports changes each item of ReportTasks.
func reports(change func(*provider.TaskReport)) func(*mutant) {
	return func(m *mutant) {
		m.report.before(func(req *provider.ReportTasksRequest) {
			items := make([]provider.TaskReport, len(req.Items))
			copy(items, req.Items)
			for n := range items {
				change(&items[n])
			}
			req.Items = items
		})
	}
}

// reported changes the result of each item of ReportTasks.
func reported(change func(item provider.TaskReport, res *provider.TaskReportResult)) func(*mutant) {
	return func(m *mutant) {
		m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, _ *error) {
			for n := range res.Items {
				change(req.Items[n], &res.Items[n])
			}
		})
	}
}

func forgetsEvent(item *provider.TaskReport) {
	if item.Outcome == provider.TaskComplete {
		item.Message.EventID = 0
	}
}

func losesSuspended(m *mutant) {
	reports(func(item *provider.TaskReport) {
		if m.stored(context.Background(), item.Key).Status == provider.StatusSuspended {
			item.Outcome = provider.TaskDiscard
		}
	})(m)
}

func saysRunning(_ provider.TaskReport, res *provider.TaskReportResult) {
	if res.State.Kind == provider.ExecutionTerminal {
		res.State = provider.ExecutionState{Kind: provider.ExecutionRunning}
	}
}

func keepsTaskDeliveries(m *mutant) {
	var before sync.Map
	reports(func(item *provider.TaskReport) {
		if task, ok := m.pending(context.Background(), item.TaskRef); ok && item.Outcome == provider.TaskRetry {
			before.Store(item.TaskRef, task.Deliveries-1)
		}
	})(m)
	tasksFetched(func(t *provider.LeasedTask) {
		if kept, ok := before.Load(t.TaskRef); ok {
			t.Deliveries += kept.(int64)
		}
	})(m)
}

func retriesAtOnce(item *provider.TaskReport) {
	if item.Outcome == provider.TaskRetry && item.Delay == long {
		item.Delay = 0
	}
}

func showsParkedAsLeased(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n := range res.Tasks {
			if res.Tasks[n].State == provider.TaskParked {
				res.Tasks[n].State = provider.TaskLeased
			}
		}
	})
}

func parksForGood(m *mutant) {
	reports(func(item *provider.TaskReport) {
		task, ok := m.pending(context.Background(), item.TaskRef)
		if ok && task.State == provider.TaskParked && item.Outcome == provider.TaskRetry {
			item.Token = unique()
		}
	})(m)
}

func countsReleases(m *mutant) {
	var released sync.Map
	reported(func(item provider.TaskReport, res *provider.TaskReportResult) {
		if item.Outcome == provider.TaskRelease && res.Err == nil {
			released.Store(item.TaskRef, true)
		}
	})(m)
	tasksFetched(func(t *provider.LeasedTask) {
		if _, ok := released.Load(t.TaskRef); ok {
			t.Deliveries++
		}
	})(m)
}

func releasesNoTask(m *mutant) {
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		if len(req.Items) == 1 && req.Items[0].Key.IsZero() && !req.Items[0].Token.IsZero() {
			return provider.ReportTasksResult{Items: make([]provider.TaskReportResult, 1)}, nil
		}
		return report(ctx, req)
	})
}

func completesDiscarded(item *provider.TaskReport) {
	if item.Outcome == provider.TaskDiscard {
		item.Outcome = provider.TaskComplete
	}
}

func forgetsReason(item *provider.TaskReport) { item.Reason = "" }

func parksForAnyone(m *mutant) {
	reported(func(item provider.TaskReport, res *provider.TaskReportResult) {
		if item.Outcome == provider.TaskPark {
			res.Err = nil
		}
	})(m)
}

// A fetched task is one task with the token of the fetch that leased it.
type fetchedTask struct {
	provider.TaskRef

	fetch provider.UUID
}

// fetched notes the tasks that a mutant leases, by their lease tokens.
func (m *mutant) fetched() *sync.Map {
	var all sync.Map
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for _, task := range res.Tasks {
			all.Store(provider.TaskToken(req.Token, task.TaskRef), fetchedTask{task.TaskRef, req.Token})
		}
	})
	return &all
}

// takesToken changes the tokens of reports and renewals.
func (m *mutant) takesToken(change func(provider.TaskRef, provider.UUID) provider.UUID) {
	reports(func(item *provider.TaskReport) { item.Token = change(item.TaskRef, item.Token) })(m)
	m.renew.before(func(req *provider.RenewTasksRequest) {
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			req.Items[n].Token = change(req.Items[n].TaskRef, req.Items[n].Token)
		}
	})
}

func sharesTokens(m *mutant) {
	all := m.fetched()
	m.takesToken(func(ref provider.TaskRef, token provider.UUID) provider.UUID {
		if of, ok := all.Load(token); ok && ref != (provider.TaskRef{}) {
			return provider.TaskToken(of.(fetchedTask).fetch, ref)
		}
		return token
	})
}

func goesByFetch(m *mutant) {
	all := m.fetched()
	m.takesToken(func(ref provider.TaskRef, token provider.UUID) provider.UUID {
		if own := provider.TaskToken(token, ref); ref != (provider.TaskRef{}) {
			if _, ok := all.Load(own); ok {
				return own
			}
		}
		return token
	})
}

func releasesNoFetch(m *mutant) {
	all := m.fetched()
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		named := false
		for _, of := range all.Range {
			named = named || of.(fetchedTask).fetch == req.Items[0].Token
		}
		if len(req.Items) == 1 && req.Items[0].Key.IsZero() && named {
			return provider.ReportTasksResult{Items: make([]provider.TaskReportResult, 1)}, nil
		}
		return report(ctx, req)
	})
}

func ignoresAttempts(m *mutant) {
	reports(func(item *provider.TaskReport) {
		if task, ok := m.pending(context.Background(), item.TaskRef); ok {
			item.Attempt = task.Attempt
		}
	})(m)
}

func repeatsRetries(m *mutant) {
	var done sync.Map
	reported(func(item provider.TaskReport, res *provider.TaskReportResult) {
		if item.Outcome != provider.TaskRetry {
			return
		}
		if _, again := done.LoadOrStore(item.Token, true); again && errors.Is(res.Err, provider.ErrLeaseLost) {
			res.Err = nil
		}
	})(m)
}

func stopsAtBadReport(m *mutant) {
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		if len(req.Items) < 2 || len(req.Items) > provider.MaxBatch {
			return report(ctx, req)
		}
		var all provider.ReportTasksResult
		for _, item := range req.Items {
			res, err := report(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
			if err != nil {
				return all, err
			}
			all.Now, all.Items = res.Now, append(all.Items, res.Items...)
			if res.Items[0].Err != nil {
				break
			}
		}
		for len(all.Items) < len(req.Items) {
			all.Items = append(all.Items, provider.TaskReportResult{Err: provider.ErrLeaseLost})
		}
		return all, nil
	})
}

// remembersDeleted reads from a copy of the store without a delete until the ID is used again.
func remembersDeleted(m *mutant) {
	var ids sync.Map
	m.create.after(func(req provider.CreateRequest, _ *provider.CreateResult, _ *error) { ids.Store(req.Key, req.ID) })
	reported(func(item provider.TaskReport, res *provider.TaskReportResult) {
		id, known := ids.Load(item.Key)
		name, _ := id.(string)
		if known && res.State.Kind == provider.ExecutionMissing && m.byID(context.Background(), name).Key.IsZero() {
			res.State = provider.ExecutionState{Kind: provider.ExecutionRunning}
		}
	})(m)
}

// completesEarly checks that the task exists before it locks it.
func completesEarly(m *mutant) {
	var mu sync.Mutex
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		if len(req.Items) != 1 || req.Items[0].Outcome != provider.TaskComplete {
			return report(ctx, req)
		}
		item := req.Items[0]
		_, there := m.pending(ctx, item.TaskRef)
		window()
		mu.Lock()
		defer mu.Unlock()
		res, err := report(ctx, req)
		if there && err == nil && res.Items[0].Err != nil {
			if _, still := m.pending(ctx, item.TaskRef); !still {
				_, _ = m.Provider.Send(ctx, provider.SendRequest{Key: item.Key, Message: item.Message})
				res.Items[0].Err = nil
			}
		}
		return res, err
	})
}

// reportsToSuccessor looks up the instance of a replaced one by ID.
func reportsToSuccessor(m *mutant) {
	reported(func(item provider.TaskReport, res *provider.TaskReportResult) {
		old := m.stored(context.Background(), item.Key)
		now := m.byID(context.Background(), old.ID)
		if !old.Key.IsZero() && now.Key != old.Key && !now.Status.Ended() {
			res.State = provider.ExecutionState{Kind: provider.ExecutionRunning}
		}
	})(m)
}
