package validations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenEdges() []brokenRule {
	return []brokenRule{
		{name: "a refusal to a sender that ends is dropped", caught: "edges/refused-to-the-closing", breaks: dropsLastRefusals},
		{name: "a lost lease is returned before waiting messages", caught: "edges/first-reason", breaks: tellsLostLeasesFirst},
		{name: "a commit cancels timers before it makes them", caught: "edges/cancelled-as-it-is-made", breaks: cancelsTimersFirst},
		{name: "a commit makes tasks before it completes others", caught: "edges/task-after-its-completion", breaks: completesLast},
		{name: "a second timer of one event is ignored", caught: "edges/timer-after-its-message", breaks: skipsSecondTimers},
		{name: "the last turn raises no engine level", caught: "edges/level-of-the-last-turn", breaks: keepsLastLevel},
		{name: "a create returns the attributes as given", caught: "edges/attribute-twice", breaks: echoesAttributes},
		{name: "a reset waits for a message", caught: "edges/reset-is-ready", breaks: resetsSilently},
		{name: "a replaced instance counts as ended", caught: "edges/reset-replaced", breaks: answersReset(provider.ErrExists, provider.ErrEnded)},
		{
			name: "a replaced instance whose ID is free is not found", caught: "edges/reset-after-its-successor",
			breaks: answersReset(provider.ErrEnded, provider.ErrNotFound),
		},
		{name: "stickiness outlives a release", caught: "edges/released-stickiness", breaks: sticksLonger},
		{name: "an owner cannot end its stickiness", caught: "edges/unstick", breaks: keepsSticky},
		{name: "any owner ends the stickiness of another", caught: "edges/unstick", breaks: unsticksForAnybody},
		{name: "expired turn leases are released, too", caught: "edges/expired-turns-of-a-token", breaks: releasesExpiredTurns},
		{name: "expired task leases are released, too", caught: "edges/expired-tasks-of-a-token", breaks: releasesExpiredTasks},
		{name: "tasks of one instant come by name", caught: "edges/order-of-one-instant", breaks: ordersByName},
		{name: "late tasks come last", caught: "edges/late-come-first", breaks: putsLateLast},
		{name: "a failure outlives the next attempt", caught: "edges/retry-without-failure", breaks: keepsFailures},
		{name: "a parked task is never late", caught: "edges/parked-past-deadline", breaks: forgetsParked},
		{name: "parked tasks of a suspended instance are late", caught: "edges/parked-suspended", breaks: wakesParked},
		{name: "a handed-off task has no deadline", caught: "edges/handed-off-before-its-time", breaks: forgetsNotBefore},
		{name: "a renewed task of a suspended instance is fetched", caught: "edges/renewed-suspended", breaks: wakesRenewed},
		{name: "letters go back in the order of their IDs", caught: "edges/letters-in-order", breaks: sortsLetters},
		{name: "a redriven task goes on with its attempts", caught: "edges/redriven-task", breaks: countsOnRedriven},
		{name: "a letter that cannot go back is dropped", caught: "edges/letter-stays", breaks: dropsStuckLetters},
		{name: "instances that cannot be pruned count towards Max", caught: "edges/prune-passes-over", breaks: countsUnprunable},
		{name: "a deleted record is not returned", caught: "edges/deleted-record", breaks: hidesDeleted},
		{name: "an empty fetch has no Now", caught: "edges/now-of-nothing", breaks: losesTime},
		{name: "reports have no size limit", caught: "edges/large-batches", breaks: takesLargeReports},
	}
}

func dropsLastRefusals(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if !req.Status.Ended() {
			return
		}
		req.Sends = slices.Clone(req.Sends)
		for i := range req.Sends {
			req.Sends[i].Refused = nil
		}
	})
}

func tellsLostLeasesFirst(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if errors.Is(*err, provider.ErrInboxNotEmpty) && len(req.Completes) > 0 {
			*err = provider.ErrLeaseLost
		}
	})
}

func cancelsTimersFirst(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		req.CancelTimers = slices.DeleteFunc(slices.Clone(req.CancelTimers), func(event int64) bool {
			return slices.ContainsFunc(req.Timers, func(t provider.Timer) bool { return t.EventID == event })
		})
	})
}

func completesLast(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		for _, c := range req.Completes {
			if slices.ContainsFunc(req.Tasks, func(t provider.NewTask) bool { return t.EventID == c.EventID }) {
				return provider.CommitTurnResult{}, provider.ErrInvalid
			}
		}
		return commit(ctx, req)
	})
}

func skipsSecondTimers(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		res, err := commit(ctx, req)
		if errors.Is(err, provider.ErrInvalid) && len(req.Timers) == 1 {
			req.Timers = nil
			return commit(ctx, req)
		}
		return res, err
	})
}

func keepsLastLevel(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if req.Status.Ended() {
			req.EngineLevel = 0
		}
	})
}

func echoesAttributes(m *mutant) {
	m.create.after(func(req provider.CreateRequest, res *provider.CreateResult, err *error) {
		if *err == nil && res.Instance.Key == req.Key {
			res.Instance.Attributes = req.Attributes
		}
	})
}

func resetsSilently(m *mutant) {
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, fetch turnsMethod) (provider.FetchTurnsResult, error) {
		res, err := fetch(ctx, req)
		res.Turns = slices.DeleteFunc(res.Turns, func(turn provider.Turn) bool { return len(turn.Messages) == 0 })
		return res, err
	})
}

func answersReset(from, to error) func(*mutant) {
	return func(m *mutant) {
		m.steer.after(func(req provider.SteerRequest, _ *provider.SteerResult, err *error) {
			if req.Action == provider.SteerReset && errors.Is(*err, from) {
				*err = to
			}
		})
	}
}

// sticksLonger keeps an instance for its owner after the owner released it.
func sticksLonger(m *mutant) {
	type kept struct {
		owner string
		until time.Time
	}
	var mu sync.Mutex
	sticky, released := map[provider.UUID]kept{}, map[provider.UUID]kept{}
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		mu.Lock()
		defer mu.Unlock()
		if *err == nil {
			delete(released, req.Key)
			sticky[req.Key] = kept{req.Owner, time.Now().Add(req.Sticky)}
		}
	})
	m.release.after(func(req provider.ReleaseTurnsRequest, _ *provider.ReleaseTurnsResult, _ *error) {
		mu.Lock()
		defer mu.Unlock()
		for _, item := range req.Items {
			released[item.Key] = sticky[item.Key]
		}
	})
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, fetch turnsMethod) (provider.FetchTurnsResult, error) {
		res, err := fetch(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		res.Turns = slices.DeleteFunc(res.Turns, func(turn provider.Turn) bool {
			k := released[turn.Instance.Key]
			return k.owner != "" && k.owner != req.Owner && time.Now().Before(k.until)
		})
		return res, err
	})
}

func keepsSticky(m *mutant) {
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		if len(req.Items) == 1 && req.Items[0].Owner != "" {
			return provider.ReleaseTurnsResult{Errs: make([]error, 1)}, nil
		}
		return release(ctx, req)
	})
}

func unsticksForAnybody(m *mutant) {
	var owners sync.Map // by key
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
		owners.Store(req.Key, req.Owner)
	})
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		for i := range req.Items {
			if owner, ok := owners.Load(req.Items[i].Key); ok && req.Items[i].Owner != "" {
				req.Items[i].Owner, _ = owner.(string)
			}
		}
		return release(ctx, req)
	})
}

func releasesExpiredTurns(m *mutant) {
	holder := m.holders()
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		res, err := release(ctx, req)
		all, _ := m.Provider.List(ctx, provider.ListRequest{})
		for _, item := range req.Items {
			for _, i := range all.Instances {
				if item.Kind == provider.ReleaseToken && holder(i.Key) == item.Token {
					release := provider.TurnRelease{Key: i.Key, Token: item.Token, Delay: item.Delay}
					_, _ = m.Provider.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{release}})
				}
			}
		}
		return res, err
	})
}

func releasesExpiredTasks(m *mutant) {
	var mu sync.Mutex
	held := map[provider.UUID][]provider.LeasedTask{}
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		mu.Lock()
		defer mu.Unlock()
		held[req.Token] = append(held[req.Token], res.Tasks...)
	})
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		res, err := report(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		for _, item := range req.Items {
			for _, task := range held[item.Token] {
				if item.TaskRef == (provider.TaskRef{}) {
					item.Outcome = provider.TaskRelease
					item.TaskRef, item.Attempt, item.Token = task.TaskRef, task.Attempt, provider.TaskToken(item.Token, task.TaskRef)
					_, _ = m.Provider.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
				}
			}
		}
		return res, err
	})
}

func ordersByName(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		slices.SortStableFunc(res.Tasks, func(a, b provider.LeasedTask) int {
			if a.Priority != b.Priority || a.Key != b.Key || a.ScheduledAt != b.ScheduledAt || a.Name == b.Name {
				return 0
			}
			if a.Name > b.Name {
				return -1
			}
			return 1
		})
	})
}

func putsLateLast(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		slices.SortStableFunc(res.Tasks, func(a, b provider.LeasedTask) int {
			switch {
			case a.PastDeadline == b.PastDeadline:
				return 0
			case a.PastDeadline:
				return 1
			default:
				return -1
			}
		})
	})
}

func keepsFailures(m *mutant) {
	var failures sync.Map
	m.report.before(func(req *provider.ReportTasksRequest) {
		req.Items = slices.Clone(req.Items)
		for i := range req.Items {
			item := &req.Items[i]
			if old, ok := failures.Load(item.TaskRef); ok && item.Failure == nil {
				item.Failure, _ = old.([]byte)
			}
			failures.Store(item.TaskRef, item.Failure)
		}
	})
}

func forgetsParked(m *mutant) {
	var parked sync.Map
	m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, err *error) {
		for i, item := range req.Items {
			if *err == nil && res.Items[i].Err == nil && item.Outcome == provider.TaskPark {
				parked.Store(item.TaskRef, true)
			}
		}
	})
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		res.Tasks = slices.DeleteFunc(res.Tasks, func(t provider.LeasedTask) bool {
			_, was := parked.Load(t.TaskRef)
			return was && t.PastDeadline
		})
	})
}

// wakes lets a fetch of late tasks find those of suspended instances for which woken is true.
func wakes(m *mutant, woken func(provider.TaskInfo) bool) {
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, fetch tasksMethod) (provider.FetchTasksResult, error) {
		list, _ := m.Provider.List(ctx, provider.ListRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusSuspended}}})
		for _, i := range list.Instances {
			res, _ := m.Provider.Get(ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
			if !req.Expired || !slices.ContainsFunc(res.Tasks, woken) {
				continue
			}
			m.touch(ctx, i.Key)
			defer func() {
				_, _ = m.Provider.Steer(ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerSuspend, Commit: unique()})
			}()
		}
		return fetch(ctx, req)
	})
}

func wakesParked(m *mutant) {
	wakes(m, func(t provider.TaskInfo) bool { return t.State == provider.TaskParked })
}

func wakesRenewed(m *mutant) {
	var renewed sync.Map
	m.renew.after(func(req provider.RenewTasksRequest, _ *provider.RenewTasksResult, _ *error) {
		for _, item := range req.Items {
			renewed.Store(item.TaskRef, true)
		}
	})
	wakes(m, func(t provider.TaskInfo) bool {
		_, was := renewed.Load(t.TaskRef)
		return was
	})
}

func forgetsNotBefore(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		req.Tasks = slices.Clone(req.Tasks)
		for i := range req.Tasks {
			if req.Tasks[i].Lease != nil {
				req.Tasks[i].NotBefore = 0
			}
		}
	})
}

func sortsLetters(m *mutant) {
	m.letters.before(func(req *provider.DeadLettersRequest) {
		req.IDs = slices.Sorted(slices.Values(req.IDs))
	})
}

func countsOnRedriven(m *mutant) {
	var redriven sync.Map
	m.letters.around(func(ctx context.Context, req provider.DeadLettersRequest, act method[provider.DeadLettersRequest, provider.DeadLettersResult]) (provider.DeadLettersResult, error) {
		all, _ := m.Provider.DeadLetters(ctx, provider.DeadLettersRequest{})
		for _, l := range all.Letters {
			if req.Action == provider.DeadLettersRedrive && l.Task && slices.Contains(req.IDs, l.ID) {
				redriven.Store(provider.TaskRef{Key: l.Key, Execution: l.Execution, EventID: l.EventID}, true)
			}
		}
		return act(ctx, req)
	})
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for i := range res.Tasks {
			if _, was := redriven.Load(res.Tasks[i].TaskRef); was {
				res.Tasks[i].Attempt++
			}
		}
	})
}

func dropsStuckLetters(m *mutant) {
	m.letters.around(func(ctx context.Context, req provider.DeadLettersRequest, act method[provider.DeadLettersRequest, provider.DeadLettersResult]) (provider.DeadLettersResult, error) {
		res, err := act(ctx, req)
		if req.Action == provider.DeadLettersRedrive {
			req.Action = provider.DeadLettersDiscard
			_, _ = act(ctx, req)
		}
		return res, err
	})
}

func countsUnprunable(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune method[provider.PruneRequest, provider.PruneResult]) (provider.PruneResult, error) {
		all, _ := m.Provider.List(ctx, provider.ListRequest{})
		ended := map[provider.UUID]bool{}
		for _, i := range all.Instances {
			ended[i.Key] = i.Status.Ended()
		}
		for _, i := range all.Instances {
			if req.Max == 1 && ended[i.Parent.Key] && !i.Status.Ended() {
				return provider.PruneResult{}, nil
			}
		}
		return prune(ctx, req)
	})
}

func hidesDeleted(m *mutant) {
	m.record.after(func(req provider.RecordRequest, res *provider.RecordResult, _ *error) {
		if req.Action == provider.RecordDelete {
			res.Records = nil
		}
	})
}

func losesTime(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		if len(res.Tasks) == 0 {
			res.Now = 0
		}
	})
}

func takesLargeReports(m *mutant) {
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		res, err := report(ctx, req)
		if !errors.Is(err, provider.ErrTooLarge) || len(req.Items) == 1 || len(req.Items) > provider.MaxBatch {
			return res, err
		}
		for _, item := range req.Items {
			one, e := report(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
			if e != nil {
				return res, err
			}
			res.Items = append(res.Items, one.Items...)
		}
		return res, nil
	})
}
