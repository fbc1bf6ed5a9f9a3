package validations

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

// brokenKept lists breaks of deletions, of what stays, of the second item and of the last page.
func brokenKept() []brokenRule {
	return []brokenRule{
		{name: "a deletion leaves dead letters", caught: "classes/deleted-letters", wide: true, breaks: leavesLetters},
		{name: "a deletion leaves values", caught: "classes/deleted-rows", wide: true, breaks: leavesRows(provider.InspectValues)},
		{name: "a deletion leaves old executions", caught: "classes/deleted-rows", wide: true, breaks: leavesRows(provider.InspectExecutions)},
		{name: "a parent has the child that was deleted", caught: "classes/deleted-child", wide: true, breaks: leavesChildren},
		{name: "the requests of a deleted key are remembered", caught: "classes/deleted-key-again", wide: true, breaks: remembersRequests},
		{name: "the acts of a deleted key are remembered", caught: "classes/deleted-key-again", wide: true, breaks: remembersActs},
		{name: "a park without details drops them", caught: "classes/details-and-failure", wide: true, breaks: reports(parksWithoutDetails)},
		{name: "a release drops the failure", caught: "classes/details-and-failure", wide: true, breaks: dropsFailures},
		{name: "empty details of a renewal keep the stored ones", caught: "classes/renewed-details", wide: true, breaks: keepsForEmpty},
		{name: "a commit checks the first completion only", caught: "classes/second-completion", wide: true, breaks: checksFirstCompletion},
		{name: "the release of a fetch releases one task", caught: "classes/all-tasks-of-a-token", wide: true, breaks: releasesOneTask},
		{name: "a task past its time takes no place within its fetch", caught: "classes/limit-within-one-fetch", wide: true, breaks: fetchesLateFirst},
		{name: "released tasks of one rank come by key", caught: "classes/released-ranks-against-keys", wide: true, breaks: ordersTasksByKey},
		{name: "a full last page has a cursor", caught: "classes/last-page", wide: true, breaks: pointsBehindTheLast},
		{name: "a full last page of rows has a cursor", caught: "classes/last-page-of-rows", wide: true, breaks: pointsBehindTheLastRow},
		{name: "a renewal is no use of a session", caught: "sessions/in-use", wide: true, breaks: renewalsUseNothing},
		{name: "a completion in a commit is no use of a session", caught: "sessions/in-use", wide: true, breaks: completionsUseNothing},
		{name: "a release by token is no use of a session", caught: "sessions/in-use", wide: true, breaks: releasesUseNothing},
		{name: "any lease keeps an idle session", caught: "sessions/lease-of-another-owner", wide: true, breaks: keepsForAnyOwner},
	}
}

// leavesLetters lists the letters of a key again that it has listed before.
func leavesLetters(m *mutant) {
	var mu sync.Mutex
	left := map[provider.UUID][]provider.DeadLetter{}
	m.letters.after(func(req provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range res.Letters {
			left[l.Key] = append(left[l.Key], l)
		}
		if len(res.Letters) == 0 && !req.Key.IsZero() {
			res.Letters = slices.Clone(left[req.Key])
		}
	})
}

// leavesRows returns the first rows of a kind that it has returned for a key whenever there are none.
func leavesRows(kind provider.InspectKind) func(*mutant) {
	return func(m *mutant) {
		var left sync.Map // pages by key
		m.inspect.after(func(req provider.InspectRequest, res *provider.InspectResult, _ *error) {
			if req.Kind != kind || req.Key.IsZero() {
				return
			}
			if countRows(*res) > 0 {
				left.Store(req.Key, *res)
			} else if old, ok := left.Load(req.Key); ok {
				*res, _ = old.(provider.InspectResult)
			}
		})
	}
}

// leavesChildren does not find a deleted child when its parent is terminated.
func leavesChildren(m *mutant) {
	var parents sync.Map
	m.remove.before(func(req *provider.DeleteRequest) {
		parents.Store(m.stored(context.Background(), req.Key).Parent.Key, true)
	})
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		if _, lost := parents.Load(req.Key); lost && req.ChildNotice != nil {
			return provider.SteerResult{}, provider.ErrNotFound
		}
		return steer(ctx, req)
	})
}

// once returns a function that reports whether a key has had the request before.
func once() func(key provider.UUID, request string) bool {
	type id struct {
		key     provider.UUID
		request string
	}
	var known sync.Map
	return func(key provider.UUID, request string) bool {
		_, had := known.LoadOrStore(id{key, request}, true)
		return had && request != ""
	}
}

func remembersRequests(m *mutant) {
	had := once()
	m.create.before(func(req *provider.CreateRequest) {
		found, err := m.Provider.Get(context.Background(), provider.GetRequest{ID: req.ID})
		if err == nil && len(req.Messages) > 0 && had(found.Instance.Key, req.RequestID) {
			req.Messages = nil
		}
	})
}

func remembersActs(m *mutant) {
	had := once()
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		if had(req.Key, req.RequestID) {
			return provider.SteerResult{Instance: m.stored(ctx, req.Key)}, nil
		}
		return steer(ctx, req)
	})
}

func parksWithoutDetails(item *provider.TaskReport) {
	if item.Outcome == provider.TaskPark && item.Details == nil {
		item.Details = []byte{}
	}
}

func dropsFailures(m *mutant) {
	var released sync.Map
	m.report.after(func(req provider.ReportTasksRequest, _ *provider.ReportTasksResult, _ *error) {
		for _, item := range req.Items {
			if item.Outcome == provider.TaskRelease {
				released.Store(item.TaskRef, true)
			}
		}
	})
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n := range res.Tasks {
			if _, ok := released.Load(res.Tasks[n].TaskRef); ok {
				res.Tasks[n].Failure = nil
			}
		}
	})
}

func keepsForEmpty(m *mutant) {
	m.renew.before(func(req *provider.RenewTasksRequest) {
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			if len(req.Items[n].Details) == 0 {
				req.Items[n].Details = nil
			}
		}
	})
}

// handOffs returns a function that returns the token with which a commit handed off a task.
func (m *mutant) handOffs() func(ref provider.TaskRef) (token provider.UUID) {
	var tokens sync.Map
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
		for _, task := range req.Tasks {
			if task.Lease != nil {
				tokens.Store(provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: task.EventID}, task.Lease.Token)
			}
		}
	})
	return func(ref provider.TaskRef) (token provider.UUID) {
		if held, ok := tokens.Load(ref); ok {
			token, _ = held.(provider.UUID)
		}
		return token
	}
}

func checksFirstCompletion(m *mutant) {
	tokens := m.handOffs()
	commits(func(req *provider.CommitTurnRequest) {
		req.Completes = slices.Clone(req.Completes)
		for n := range req.Completes {
			token := tokens(provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: req.Completes[n].EventID})
			if n > 0 && !token.IsZero() {
				req.Completes[n].Token = token
			}
		}
	})(m)
}

func releasesOneTask(m *mutant) {
	var fetched sync.Map // the first task by token of the fetch
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		if len(res.Tasks) > 0 {
			fetched.Store(req.Token, res.Tasks[0])
		}
	})
	reports(func(item *provider.TaskReport) {
		first, _ := fetched.Load(item.Token)
		if task, ok := first.(provider.LeasedTask); ok && item.Outcome == provider.TaskReleaseAll {
			item.TaskRef, item.Attempt, item.Outcome = task.TaskRef, task.Attempt, provider.TaskRelease
			item.Token = provider.TaskToken(item.Token, task.TaskRef)
		}
	})(m)
}

func fetchesLateFirst(m *mutant) {
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if !req.Expired || len(req.Queues) == 0 || req.Queues[0].MaxLeased == 0 {
			return tasks(ctx, req)
		}
		late := req
		late.Queues, late.Wait = nil, 0
		first, err := tasks(ctx, late)
		if err != nil {
			return first, err
		}
		req.Expired, req.Token = false, provider.TaskToken(req.Token, provider.TaskRef{})
		req.Queues = slices.Clone(req.Queues)
		req.Queues[0].MaxLeased += len(first.Tasks)
		rest, err := tasks(ctx, req)
		rest.Tasks = append(first.Tasks, rest.Tasks...)
		return rest, err
	})
}

func pointsBehindTheLast(m *mutant) {
	m.list.after(func(req provider.ListRequest, res *provider.ListResult, _ *error) {
		if res.Cursor == "" && len(res.Instances) == req.Max {
			res.Cursor = "behind"
		}
	})
}

func pointsBehindTheLastRow(m *mutant) {
	m.inspect.after(func(req provider.InspectRequest, res *provider.InspectResult, _ *error) {
		if res.Cursor == "" && countRows(*res) == req.Max {
			res.Cursor = "behind"
		}
	})
}

func renewalsUseNothing(m *mutant) {
	m.renew.after(func(req provider.RenewTasksRequest, _ *provider.RenewTasksResult, _ *error) {
		if len(req.Items) > 0 {
			m.relet("a", 1)
		}
	})
}

func completionsUseNothing(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
		if len(req.Completes) > 0 {
			m.relet("a", 1)
		}
	})
}

func releasesUseNothing(m *mutant) {
	m.report.after(func(req provider.ReportTasksRequest, _ *provider.ReportTasksResult, _ *error) {
		if len(req.Items) == 1 && req.Items[0].Outcome == provider.TaskReleaseAll {
			m.relet("a", 1)
		}
	})
}

// keepsForAnyOwner gives no session to another owner once a task of a session was handed off.
func keepsForAnyOwner(m *mutant) {
	var handed sync.Map
	schedules(func(task *provider.NewTask) {
		if task.Session != "" && task.Lease != nil {
			handed.Store(task.Session, true)
		}
	})(m)
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		if _, kept := handed.Load("s"); kept {
			req.Sessions.Max = 0
		}
	})
}
