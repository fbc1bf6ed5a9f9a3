package validations

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenBegun() []brokenRule {
	return []brokenRule{
		{name: "StartBy is ignored", caught: "tasks/start-by", breaks: commits(forgetsStartBy)},
		{name: "a fetch to end a late task begins it", caught: "tasks/start-by", breaks: beginsLate},
		{name: "released code has not begun", caught: "tasks/released-begun", breaks: reports(forgetsBegun)},
		{name: "a second release takes the first one back", caught: "tasks/released-begun-and-released", breaks: forgetsEarlierBegun},
		{name: "a released task has begun", caught: "tasks/released-before-it-began", breaks: reports(alwaysBegun)},
		{name: "a task released by token has begun", caught: "edges/released-by-token-before-it-began", breaks: reports(allBegun)},
		{name: "a task that was lost has not begun", caught: "tasks/begun-and-lost", breaks: unbegins(lostDelivery)},
		{name: "each attempt begins anew", caught: "tasks/begun-and-tried-again", breaks: unbegins(laterAttempt)},
		{name: "a handed-off task has not begun", caught: "tasks/begun-by-hand-off", breaks: commits(queuesHandOffs)},
		{name: "a park has no limit", caught: "tasks/parked-with-a-limit", breaks: parksForEver},
		{name: "a parked task must begin in time", caught: "tasks/begun-by-parking", breaks: wakesLateParked},
	}
}

func brokenRank() []brokenRule {
	return []brokenRule{
		{name: "priorities of tasks do not count", caught: "tasks/order", breaks: commits(forgetsPriorities)},
		{name: "a higher priority goes first, however long others wait", caught: "tasks/aging", breaks: reordered(byPriority)},
		{name: "a resumed task has lost its turn", caught: "tasks/resumed-rank", breaks: reordered(inOrder("a1 a2 a3 -1"))},
		{name: "fairness keys do not count", caught: "tasks/fairness", breaks: commits(forgetsFairness)},
		{name: "each activity has its own turns", caught: "tasks/fairness-of-names", breaks: commits(fairByName)},
		{name: "each priority has its own turns", caught: "tasks/fairness-of-priorities", breaks: commits(fairByPriority)},
		{name: "queues share their turns", caught: "tasks/fairness-of-queues", breaks: reordered(inOrder("b1 a3"))},
		{name: "a newcomer goes before all waiting tasks", caught: "tasks/fairness-to-newcomers", breaks: reordered(inOrder("b1 -1 b2 a3 a4 a5"))},
		{name: "a delayed task takes a turn", caught: "tasks/fairness-without-delayed", breaks: reordered(inOrder("b1 a3"))},
		{name: "a suspended task takes a turn", caught: "tasks/fairness-without-suspended", breaks: reordered(inOrder("b1 a4"))},
		{name: "tasks of one commit go together", caught: "tasks/fairness-in-a-commit", breaks: commits(fairOnce)},
		{name: "a task that is tried again takes a turn", caught: "tasks/fairness-ends-with-a-lease", breaks: reordered(inOrder("a2 a3 a1"))},
		{name: "a task waits for its turn", caught: "tasks/rank-delays-nothing", breaks: commits(delaysTurns)},
		{name: "no rank is returned", caught: "tasks/rank-told", breaks: tells(func(t *provider.LeasedTask) { t.Rank = 0 })},
		{name: "the rank of a late task is its age", caught: "tasks/rank-told-of-late", breaks: tells(func(t *provider.LeasedTask) { t.Rank = t.ScheduledAt })},
		{name: "rank and session of a task are hidden", caught: "tasks/described", breaks: hidesRanks},
	}
}

func forgetsStartBy(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) { t.StartBy = 0 })
}

func beginsLate(m *mutant) {
	var late sync.Map
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for _, t := range res.Tasks {
			if t.PastDeadline && t.StartBy > 0 && t.StartBy < t.Deadline {
				late.Store(t.TaskRef, true)
			}
		}
	})
	m.report.before(func(req *provider.ReportTasksRequest) {
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			if _, ok := late.Load(req.Items[n].TaskRef); ok {
				req.Items[n].Begun = true
			}
		}
	})
}

func forgetsBegun(item *provider.TaskReport) { item.Begun = false }

// forgetsEarlierBegun lets a release without Begun undo an earlier one with it.
func forgetsEarlierBegun(m *mutant) {
	var begun, forgotten sync.Map
	m.report.before(func(req *provider.ReportTasksRequest) {
		for _, item := range req.Items {
			if item.Outcome != provider.TaskRelease {
				continue
			}
			if item.Begun {
				begun.Store(item.TaskRef, true)
			} else if _, ok := begun.Load(item.TaskRef); ok {
				forgotten.Store(item.TaskRef, true)
			}
		}
	})
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for n := range res.Tasks {
			if _, ok := forgotten.Load(res.Tasks[n].TaskRef); ok {
				res.Tasks[n].PastDeadline = true
			}
		}
	})
}

func alwaysBegun(item *provider.TaskReport) { item.Begun = item.TaskRef != (provider.TaskRef{}) }

func allBegun(item *provider.TaskReport) {
	item.Begun = item.Begun || item.TaskRef == (provider.TaskRef{})
}

// unbegins returns some tasks with a StartBy as past their time, whether or not they have begun.
func unbegins(of func(provider.LeasedTask) bool) func(*mutant) {
	return func(m *mutant) {
		m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
			for n, t := range res.Tasks {
				res.Tasks[n].PastDeadline = t.PastDeadline || t.StartBy > 0 && t.StartBy <= res.Now && of(t)
			}
		})
	}
}

func lostDelivery(t provider.LeasedTask) bool { return t.Deliveries > 1 }

func laterAttempt(t provider.LeasedTask) bool { return t.Attempt > 1 }

func queuesHandOffs(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) {
		if t.StartBy > 0 {
			t.Lease = nil
		}
	})
}

func parksForEver(m *mutant) {
	m.report.before(func(req *provider.ReportTasksRequest) {
		for i := range req.Items {
			req.Items[i].Limit = 0
		}
	})
}

// wakesLateParked releases a parked task before a fetch asks for late ones.
func wakesLateParked(m *mutant) {
	var parked sync.Map
	m.report.before(func(req *provider.ReportTasksRequest) {
		for _, item := range req.Items {
			if item.Outcome == provider.TaskPark {
				parked.Store(item.TaskRef, item)
			}
		}
	})
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		parked.Range(func(ref, _ any) bool {
			info, _ := m.pending(context.Background(), ref.(provider.TaskRef))
			if req.Expired && info.State == provider.TaskParked && info.StartBy > 0 && info.StartBy <= res.Now {
				res.Tasks = append(res.Tasks, provider.LeasedTask{TaskRef: info.TaskRef, PastDeadline: true})
			}
			return true
		})
	})
}

// reordered returns the tasks of both activities in a wrong order. It leases all of them and returns them one by one.
func reordered(compare func(a, b provider.LeasedTask) int) func(*mutant) {
	return func(m *mutant) {
		var pool []provider.LeasedTask
		m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, fetch tasksMethod) (provider.FetchTasksResult, error) {
			if len(req.Queues) != 1 || len(req.Queues[0].Names) != 2 {
				return fetch(ctx, req)
			}
			wanted := req.Max
			req.Max = provider.MaxBatch
			res, err := fetch(ctx, req)
			pool = append(pool, res.Tasks...)
			slices.SortStableFunc(pool, compare)
			wanted = min(wanted, len(pool))
			res.Tasks, pool = slices.Clone(pool[:wanted]), pool[wanted:]
			return res, err
		})
	}
}

func byPriority(a, b provider.LeasedTask) int { return cmp.Compare(a.Priority, b.Priority) }

// inOrder orders by payload, as listed.
func inOrder(names string) func(a, b provider.LeasedTask) int {
	list := strings.Fields(names)
	return func(a, b provider.LeasedTask) int {
		return cmp.Compare(slices.Index(list, string(a.Payload)), slices.Index(list, string(b.Payload)))
	}
}

func forgetsFairness(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) { t.FairnessKey = "" })
}

func fairByName(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) {
		if t.FairnessKey != "" && t.Name == "other" {
			t.FairnessKey += t.Name
		}
	})
}

func fairByPriority(req *provider.CommitTurnRequest) {
	scheduled(req, func(t *provider.NewTask) {
		if t.FairnessKey != "" && t.Priority == provider.PriorityHighest {
			t.FairnessKey += "1"
		}
	})
}

// fairOnce keeps the fairness key of only the first task of a commit.
func fairOnce(req *provider.CommitTurnRequest) {
	seen := map[string]bool{}
	scheduled(req, func(t *provider.NewTask) {
		if seen[t.FairnessKey] {
			t.FairnessKey = ""
		}
		seen[t.FairnessKey] = true
	})
}

// delaysTurns delays all but the first task of a commit until its turn.
func delaysTurns(req *provider.CommitTurnRequest) {
	var delay time.Duration
	scheduled(req, func(t *provider.NewTask) {
		if t.FairnessKey != "" {
			t.NotBefore += delay
			delay += provider.FairnessStep
		}
	})
}

func hidesRanks(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n := range res.Tasks {
			res.Tasks[n].Priority, res.Tasks[n].FairnessKey = 0, ""
		}
	})
}

// tells changes what fetches return of each task.
func tells(change func(*provider.LeasedTask)) func(*mutant) {
	return func(m *mutant) {
		m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
			for n := range res.Tasks {
				change(&res.Tasks[n])
			}
		})
	}
}
