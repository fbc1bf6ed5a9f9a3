package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// rankCases checks the order in which tasks are fetched.
func rankCases() []testCase {
	const rank = "The rank is the moment from which the task may be fetched. It is [PriorityStep] earlier for each step of Priority " +
		"above the default, and later for each step below. So a task that has waited long enough goes before any new one."
	const turns = "Fairness keys take turns. A new task with a FairnessKey and no NotBefore ranks as if it were due [FairnessStep] after the " +
		"last task of its key and queue that waits for its first lease. The names and priorities of these tasks do not matter."
	const uncounted = "Tasks without a FairnessKey, tasks with a NotBefore and tasks of Suspended instances do not count."
	return []testCase{
		{name: "order", run: taskOrder, rule: rank},
		{name: "aging", run: rankAging, rule: rank},
		{name: "resumed-rank", run: rankResumed, rule: "Suspend and Resume leave a task its rank."},
		{name: "fairness", run: rankTurns, rule: turns},
		{name: "fairness-of-names", run: rankNames, rule: turns},
		{name: "fairness-of-priorities", run: rankPriorities, rule: turns},
		{name: "fairness-of-queues", run: rankQueues, rule: turns},
		{
			name: "fairness-to-newcomers", run: rankNewcomer,
			rule: "Without such a task, it is due no earlier than the first task in its queue, with any FairnessKey, that waits for its first lease.",
		},
		{name: "fairness-without-delayed", run: rankDelayed, rule: uncounted},
		{name: "fairness-without-suspended", run: rankSuspended, rule: uncounted},
		{name: "fairness-without-keyless", run: rankKeyless, rule: uncounted},
		{name: "fairness-in-a-commit", run: rankCommit, rule: "The tasks of one commit follow each other in the same way."},
		{name: "fairness-ends-with-a-lease", run: rankLeased, rule: "A task that was leased once takes no more turns."},
		{
			name: "rank-delays-nothing", run: rankNothing,
			rule: "A rank delays nothing: a task with nothing before it is fetched at once.",
		},
		{name: "rank-told", run: rankReturned, rule: returnedRanks},
		{name: "rank-told-of-late", run: rankReturnedLate, rule: "LeasedTask.Rank: its place among fetchable tasks, or among those past their time"},
		{name: "described", run: taskDescribed, broad: true, rule: "TaskInfo describes a pending task to an observer."},
	}
}

func anyName(r *provider.FetchTasksRequest) {
	r.Queues = []provider.QueueFilter{{Queue: queue, Names: []string{activity, "other"}}}
}

// checkRanks checks the names of the queue's tasks in the order in which they are fetched.
func checkRanks(t *trial, want string) {
	var got []string
	for {
		list := t.fetchTasks(anyName, func(r *provider.FetchTasksRequest) { r.Max = 2 })
		if len(list) == 0 {
			break
		}
		for _, task := range list {
			got = append(got, string(task.Payload))
		}
	}
	if order := strings.Join(got, " "); order != want {
		t.errorf("got tasks in the order %s, want %s", order, want)
	}
}

// numbered lists names from a first to a last number.
func numbered(format string, first, last int) (list []string) {
	for n := first; n <= last; n++ {
		list = append(list, fmt.Sprintf(format, n))
	}
	return list
}

// rankAging uses fairness to show that ranks of age and priority add up, since no case can wait for hours.
func rankAging(t *trial) {
	const early = int((provider.PriorityDefault - provider.PriorityHighest) * provider.PriorityStep / provider.FairnessStep)
	stockQueue(t, "i", numbered("a%d urgent", 0, early+2)...)
	stockQueue(t, "i", "-1")
	first := strings.Join(numbered("a%d", 0, early), " ")
	checkRanks(t, first+" -1 "+strings.Join(numbered("a%d", early+1, early+2), " "))
}

func rankResumed(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3")
	i := t.byID("i")
	t.steer(i.Key, provider.SteerSuspend)
	stockQueue(t, "j", "-1")
	t.steer(i.Key, provider.SteerResume)
	checkRanks(t, "a1 -1 a2 a3")
}

func rankTurns(t *trial) {
	stockQueue(t, "i", "a1")
	stockQueue(t, "i", "a2")
	stockQueue(t, "i", "a3")
	stockQueue(t, "j", "b1")
	stockQueue(t, "j", "b2")
	checkRanks(t, "a1 b1 a2 b2 a3")
}

func rankNames(t *trial) {
	stockQueue(t, "i", "a1 other")
	stockQueue(t, "i", "a2")
	stockQueue(t, "j", "b1")
	checkRanks(t, "a1 b1 a2")
}

func rankPriorities(t *trial) {
	stockQueue(t, "i", "a1 urgent")
	stockQueue(t, "i", "a2")
	stockQueue(t, "j", "b1")
	checkRanks(t, "a1 b1 a2")
}

func rankQueues(t *trial) {
	stockQueue(t, "i", "a1 elsewhere", "a2 elsewhere")
	stockQueue(t, "i", "a3")
	stockQueue(t, "j", "b1")
	checkRanks(t, "a3 b1")
}

func rankNewcomer(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3", "a4", "a5")
	is(t, "tasks under a Max of 2", len(t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 2 })), 2)
	stockQueue(t, "i", "b1", "b2", "-1")
	checkRanks(t, "-1 a3 b1 a4 b2 a5")
}

func rankDelayed(t *trial) {
	stockQueue(t, "i", "a1 later", "a2 later")
	stockQueue(t, "i", "a3")
	stockQueue(t, "j", "b1")
	checkRanks(t, "a3 b1")
}

func rankSuspended(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3")
	t.steer(t.byID("i").Key, provider.SteerSuspend)
	stockQueue(t, "j", "a4")
	stockQueue(t, "j", "b1")
	checkRanks(t, "a4 b1")
}

func rankCommit(t *trial) {
	stockQueue(t, "i", "a1", "a2", "b1", "a3", "b2")
	stockQueue(t, "j", "-1")
	checkRanks(t, "a1 b1 -1 a2 b2 a3")
}

func rankLeased(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3")
	first := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	t.ok(t.report(first, provider.TaskRetry).Err)
	checkRanks(t, "a1 a2 a3")
	stockQueue(t, "i", "a4")
	stockQueue(t, "j", "b1")
	checkRanks(t, "a4 b1")
}

func rankNothing(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3")
	for range 3 {
		t.fetchTask(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	}
}

// onlyTask returns the only task of an instance.
func onlyTask(t *trial, i provider.Instance) provider.TaskInfo {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
	t.ok(err)
	t.mustf(len(res.Tasks) == 1, "%d tasks, want 1", len(res.Tasks))
	return res.Tasks[0]
}

func taskDescribed(t *trial) {
	task := newTask(1)
	task.Priority, task.FairnessKey, task.Session, task.StartBy = provider.PriorityLowest, "key", "session", long
	got := onlyTask(t, t.beginTasks(task))
	t.checkf(got.Priority == provider.PriorityLowest && got.FairnessKey == "key" && got.Session == "session",
		"got %+v, want the lowest priority and the key and session as given", got)
	t.checkf(got.StartBy == got.ScheduledAt.Add(long),
		"the task has StartBy %d, scheduled at %d, want %d", got.StartBy, got.ScheduledAt, got.ScheduledAt.Add(long))
	plain := onlyTask(t, t.begin("j", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} }))
	t.checkf(plain.Priority == provider.PriorityDefault && plain.FairnessKey == "" && plain.Session == "" && plain.StartBy == 0,
		"got %+v, want the default priority and no key, session or StartBy", plain)
}

// rankKeyless has a task without a key that waits since before the first task of a key.
func rankKeyless(t *trial) {
	stockQueue(t, "i", "a1", "a2", "a3", "a4")
	is(t, "tasks under a Max of 2", len(t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 2 })), 2)
	stockQueue(t, "i", "-1 elsewhere", "-2 later", "-3")
	stockQueue(t, "i", "b1")
	checkRanks(t, "-3 a3 b1 a4")
}
