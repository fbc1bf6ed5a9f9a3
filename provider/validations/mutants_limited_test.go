package validations

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// brokenLimited lists breaks of limits: they count what a call looks at, or each kind has a limit of its own.
func brokenLimited() []brokenRule {
	return []brokenRule{
		{name: "a fetch of one turn looks at one instance", caught: "classes/turns-behind-others", wide: true, breaks: fetchesFirstReady},
		{name: "a fetch of one task looks at one task", caught: "classes/tasks-behind-others", wide: true, breaks: fetchesFirstTask},
		{name: "a fetch of one question looks at one question", caught: "classes/questions-behind-others", wide: true, breaks: fetchesFirstAsk},
		{name: "a page of one instance looks at one instance", caught: "classes/instances-behind-others", wide: true, breaks: listsFirst},
		{name: "a count up to one looks at one instance", caught: "classes/instances-behind-others", wide: true, breaks: countsFirst},
		{name: "a prune of one looks at one instance", caught: "classes/ends-behind-others", wide: true, breaks: prunesFirst},
		{name: "a page of one letter looks at one letter", caught: "classes/letters-behind-others", wide: true, breaks: listsFirstLetter},
		{name: "a scan of one record looks at one record", caught: "classes/records-behind-others", wide: true, breaks: scansFirst},
		{name: "a trim of one looks at one instance", caught: "classes/executions-behind-others", wide: true, breaks: trimsFirst},
		{name: "each name of a fetch has its own limit", caught: "classes/turns-of-all-names", wide: true, breaks: fetchesEachName},
		{name: "tasks past their time have their own limit", caught: "classes/tasks-of-all-kinds", wide: true, breaks: fetchesLateApart},
		{name: "the questions to each name have their own limit", caught: "classes/questions-of-all-names", wide: true, breaks: fetchesEachAsk},
	}
}

func fetchesFirstReady(m *mutant) {
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		all, _ := m.Provider.List(context.Background(), provider.ListRequest{})
		if req.Max == 1 && len(res.Turns) == 1 && slices.ContainsFunc(all.Instances, func(i provider.Instance) bool {
			return i.ReadyAt != 0 && i.ReadyAt < res.Turns[0].Instance.ReadyAt
		}) {
			res.Turns = nil
		}
	})
}

func fetchesFirstTask(m *mutant) {
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		if req.Max != 1 || len(res.Tasks) == 0 || len(req.Queues) == 1 {
			return
		}
		all, _ := m.Provider.List(context.Background(), provider.ListRequest{})
		for _, i := range all.Instances {
			got, _ := m.Provider.Get(context.Background(), provider.GetRequest{Key: i.Key, WithTasks: true})
			if slices.ContainsFunc(got.Tasks, func(t provider.TaskInfo) bool { return t.ScheduledAt < res.Tasks[0].ScheduledAt }) {
				res.Tasks = nil
				return
			}
		}
	})
}

func fetchesFirstAsk(m *mutant) {
	var asked atomic.Int64
	m.ask.before(func(*provider.AskRequest) { asked.Add(1) })
	m.asks.after(func(req provider.FetchAsksRequest, res *provider.FetchAsksResult, _ *error) {
		if req.Max == 1 && asked.Load() > 1 {
			res.Asks = nil
		}
	})
}

func listsFirst(m *mutant) {
	m.list.after(func(req provider.ListRequest, res *provider.ListResult, _ *error) {
		newest, _ := m.Provider.List(context.Background(), provider.ListRequest{Max: 1})
		if req.Max == 1 && idsOf(newest.Instances) != idsOf(res.Instances) {
			res.Instances = nil
		}
	})
}

func countsFirst(m *mutant) {
	m.count.after(func(req provider.CountRequest, res *provider.CountResult, _ *error) {
		newest, _ := m.Provider.List(context.Background(), provider.ListRequest{Max: 1})
		chosen, _ := m.Provider.List(context.Background(), provider.ListRequest{Max: 1, Filter: req.Filter})
		if req.Max == 1 && idsOf(newest.Instances) != idsOf(chosen.Instances) {
			res.Count = 0
		}
	})
}

func prunesFirst(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune method[provider.PruneRequest, provider.PruneResult]) (provider.PruneResult, error) {
		ended, _ := m.Provider.List(ctx, provider.ListRequest{Filter: provider.Filter{EndedAfter: 1}})
		if req.Max == 1 && len(ended.Instances) > 1 {
			return provider.PruneResult{}, nil
		}
		return prune(ctx, req)
	})
}

func listsFirstLetter(m *mutant) {
	m.letters.after(func(req provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		first, _ := m.Provider.DeadLetters(context.Background(), provider.DeadLettersRequest{Max: 1, Cursor: req.Cursor})
		if req.Max == 1 && len(res.Letters) == 1 && len(first.Letters) == 1 && first.Letters[0].ID != res.Letters[0].ID {
			res.Letters = nil
		}
	})
}

func scansFirst(m *mutant) {
	m.record.after(func(req provider.RecordRequest, res *provider.RecordResult, _ *error) {
		if req.Action != provider.RecordScan || req.Max != 1 {
			return
		}
		all := req
		all.Prefix = ""
		first, _ := m.Provider.Record(context.Background(), all)
		if len(first.Records) == 1 && !strings.HasPrefix(first.Records[0].Key, req.Prefix) {
			res.Records = nil
		}
	})
}

func trimsFirst(m *mutant) {
	m.trim.around(func(ctx context.Context, req provider.TrimRequest, trim method[provider.TrimRequest, provider.TrimResult]) (provider.TrimResult, error) {
		all, _ := m.Provider.List(ctx, provider.ListRequest{})
		if req.Max == 1 && len(all.Instances) > 1 {
			return provider.TrimResult{}, nil
		}
		return trim(ctx, req)
	})
}

func fetchesEachName(m *mutant) {
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (res provider.FetchTurnsResult, err error) {
		for _, c := range req.Capabilities {
			each := req
			each.Capabilities = []provider.Capability{c}
			part, failed := turns(ctx, each)
			res.Now, err = part.Now, failed
			res.Turns = append(res.Turns, part.Turns...)
		}
		return res, err
	})
}

func fetchesLateApart(m *mutant) {
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if !req.Expired {
			return tasks(ctx, req)
		}
		late := req
		late.Queues, late.Wait = nil, 0
		first, err := tasks(ctx, late)
		if err != nil {
			return first, err
		}
		req.Expired = false
		rest, err := tasks(ctx, req)
		rest.Tasks = append(first.Tasks, rest.Tasks...)
		return rest, err
	})
}

func fetchesEachAsk(m *mutant) {
	m.asks.around(func(ctx context.Context, req provider.FetchAsksRequest, asks method[provider.FetchAsksRequest, provider.FetchAsksResult]) (res provider.FetchAsksResult, err error) {
		for n, c := range req.Capabilities {
			each := req
			each.Capabilities = []provider.Capability{c}
			if n > 0 {
				each.Wait = 0
			}
			part, failed := asks(ctx, each)
			res.Now, err = part.Now, failed
			res.Asks = append(res.Asks, part.Asks...)
		}
		return res, err
	})
}

// brokenDetours lists breaks of what an item keeps, and of what earlier calls leave behind.
func brokenDetours() []brokenRule {
	return []brokenRule{
		{name: "the message of a poisoned task answers no event", caught: "classes/fields-on-each-way", wide: true, breaks: reports(poisonsWithoutEvent)},
		{name: "an accepted reply concerns any execution", caught: "classes/fields-on-each-way", wide: true, breaks: commits(repliesToAny)},
		{name: "a notice to a child has no kind", caught: "classes/fields-on-each-way", wide: true, breaks: steers(tellsWithoutKind)},
		{name: "a released task has no deadline", caught: "classes/task-on-each-way", wide: true, breaks: losesDeadlines},
		{name: "a redrive counts a task that is pending", caught: "classes/redrive-of-a-pending-task", wide: true, breaks: redrivesPending},
		{name: "a release keeps the delay of an earlier one", caught: "classes/delay-of-an-earlier-release", wide: true, breaks: delaysForGood},
		{name: "a released task keeps its turn", caught: "classes/turns-after-a-release", wide: true, breaks: tells(func(t *provider.LeasedTask) {
			if string(t.Payload) == "a4" {
				t.Rank = t.Rank.Add(provider.FairnessStep)
			}
		})},
		{name: "the payload of a question is handed out again", caught: "classes/fetched-twice", wide: true, breaks: sharesQuestions},
		{name: "the payload of a message is handed out again", caught: "classes/fetched-twice", wide: true, breaks: sharesMessages},
		{name: "a timer of the moment of a claim comes before it", caught: "classes/exact-claim-ahead", wide: true, breaks: setsTimersEarly},
		{name: "a start that inserts nothing has begun nothing", caught: "classes/begun-without-a-request", wide: true, breaks: beginsInserted},
		{name: "a reset answers no notice to itself", caught: "classes/notices-of-a-reset-to-itself", wide: true, breaks: answersNoReset},
	}
}

func poisonsWithoutEvent(item *provider.TaskReport) {
	if item.Outcome == provider.TaskPoison {
		item.Message.EventID = 0
	}
}

func repliesToAny(req *provider.CommitTurnRequest) {
	req.Sends = slices.Clone(req.Sends)
	for n := range req.Sends {
		if r := req.Sends[n].Replies; r != nil {
			own := *r
			own.Accepted.Execution = 0
			req.Sends[n].Replies = &own
		}
	}
}

func tellsWithoutKind(req *provider.SteerRequest) {
	if req.ChildNotice != nil {
		own := *req.ChildNotice
		own.Kind = 0
		req.ChildNotice = &own
	}
}

func losesDeadlines(m *mutant) {
	var released sync.Map
	m.report.before(func(req *provider.ReportTasksRequest) {
		for _, item := range req.Items {
			if item.Outcome == provider.TaskRelease {
				released.Store(item.TaskRef, true)
			}
		}
	})
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for n := range res.Tasks {
			if _, is := released.Load(res.Tasks[n].TaskRef); is {
				res.Tasks[n].Deadline = 0
			}
		}
	})
}

func redrivesPending(m *mutant) {
	m.letters.after(func(req provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		if req.Action == provider.DeadLettersRedrive {
			res.Done = int64(len(req.IDs))
		}
	})
}

func delaysForGood(m *mutant) {
	var delays sync.Map // by key
	m.release.before(func(req *provider.ReleaseTurnsRequest) {
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			item := &req.Items[n]
			if item.Delay > 0 {
				delays.Store(item.Key, true)
			} else if _, is := delays.Load(item.Key); is {
				item.Delay = short
			}
		}
	})
}

func sharesQuestions(m *mutant) {
	shared := handsOutAnyway()
	m.asks.after(func(_ provider.FetchAsksRequest, res *provider.FetchAsksResult, _ *error) {
		for n := range res.Asks {
			res.Asks[n].Payload = shared(res.Asks[n].AskID, res.Asks[n].Payload)
		}
	})
}

func sharesMessages(m *mutant) {
	shared := handsOutAnyway()
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for _, u := range res.Turns {
			for n := range u.Messages {
				u.Messages[n].Payload = shared(u.Messages[n].ID, u.Messages[n].Payload)
			}
		}
	})
}

// handsOutAnyway returns the first result for a key, whatever the callers have made of it.
func handsOutAnyway() func(key any, list []byte) []byte {
	var given sync.Map
	return func(key any, list []byte) []byte {
		first, _ := given.LoadOrStore(key, list)
		list, _ = first.([]byte)
		return list
	}
}

func setsTimersEarly(m *mutant) {
	commits(func(req *provider.CommitTurnRequest) {
		req.Timers = slices.Clone(req.Timers)
		for n := range req.Timers {
			if req.Timers[n].Due == m.stored(context.Background(), req.Key).ReadyAt {
				req.Timers[n].Due--
			}
		}
	})(m)
}

func beginsInserted(m *mutant) {
	m.create.after(func(_ provider.CreateRequest, res *provider.CreateResult, _ *error) {
		res.Begun = res.Begun && res.Created
	})
}

func answersNoReset(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		req.Notices = slices.Clone(req.Notices)
		for n := range req.Notices {
			if req.Notices[n].Key == req.Key {
				req.Notices[n].Replies = nil
			}
		}
	})
}
