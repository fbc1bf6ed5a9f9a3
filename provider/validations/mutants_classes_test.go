package validations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenClasses lists breaks by class. Those that are wide break rules of other groups, too.
func brokenClasses() []brokenRule {
	return []brokenRule{
		{name: "a close over waiting messages keeps what it consumed", caught: "classes/refused-commit", wide: true, breaks: keepsConsumed},
		{name: "a commit with a used event keeps what it completed", caught: "classes/refused-commit", wide: true, breaks: keepsCompleted},
		{name: "messages of a turn come by ID", caught: "classes/messages-against-their-ids", wide: true, breaks: ordersByID},
		{name: "a close looks in a transaction of its own", caught: "classes/race-of-closes-and-sends", wide: true, racing: true, breaks: looksThenCloses},
		{name: "a record is looked up in a transaction of its own", caught: "classes/race-of-records", wide: true, racing: true, breaks: looksThenPuts},
		{name: "a fetch of turns looks before it listens", caught: "classes/awaited-turns-at-once", wide: true, racing: true, breaks: looksThenWaitsForTurns},
		{name: "a fetch of tasks looks before it listens", caught: "classes/awaited-tasks-at-once", wide: true, racing: true, breaks: looksThenWaitsForTasks},
		{name: "a wait for the end looks before it listens", caught: "classes/awaited-ends-at-once", wide: true, racing: true, breaks: looksThenWaitsForEnds},
		{name: "a wait for the end ends for the blocked", caught: "classes/awaited-end-of-the-blocked", wide: true, breaks: endsForBlocked},
		{name: "a wait goes on with the successor", caught: "classes/awaited-end-of-the-replaced", wide: true, breaks: waitsForSuccessor},
		{name: "a fetch of questions looks before it listens", caught: "classes/awaited-questions-at-once", wide: true, racing: true, breaks: looksThenWaitsForAsks},
		{name: "a termination tells the first child only", caught: "classes/every-child-is-told", wide: true, breaks: tellsChildren(isFirst)},
		{name: "a termination tells no suspended child", caught: "classes/every-child-is-told", wide: true, breaks: tellsChildren(isRunning)},
		{name: "heartbeat details are lost with the lease", caught: "classes/details-outlive-a-lease", wide: true, breaks: losesDetails},
		{name: "a prune looks at children only", caught: "classes/grandchild-keeps-the-tree", wide: true, breaks: prunesOverGrandchildren},
		{name: "Close waits for nobody", caught: "classes/close-waits", wide: true, breaks: closesAtOnce},
		{name: "one fetch takes a session too many", caught: "classes/sessions-within-one-fetch", wide: true, breaks: takesSessionTooMany},
		{name: "the release of one turn releases all of its token", caught: "classes/one-release-of-a-token", wide: true, breaks: releasesAllOfToken},
		{name: "the release of a token releases one turn", caught: "classes/all-releases-of-a-token", wide: true, breaks: releasesOneOfToken},
		{name: "the release of one task releases all of its fetch", caught: "classes/one-report-of-a-token", wide: true, breaks: releasesAllOfFetch},
		{name: "only the first queue is looked at", caught: "classes/other-queue", wide: true, breaks: fetchesFirstQueue},
		{name: "only the first item of a batch is stored", caught: "classes/second-of-each-batch", wide: true, breaks: reportsFirst},
		{name: "only the first task is cancelled", caught: "classes/second-of-each-part", wide: true, breaks: commits(cancelsFirst)},
		{name: "turns come by key", caught: "classes/turns-against-keys", wide: true, breaks: ordersTurnsByKey},
		{name: "tasks come by key", caught: "classes/tasks-against-keys", wide: true, breaks: ordersTasksByKey},
		{name: "tasks of one rank come by key", caught: "classes/equal-ranks-against-keys", wide: true, breaks: reordered(inOrder("a f e d c b"))},
		{name: "letters come by key", caught: "classes/letters-against-keys", wide: true, breaks: ordersLettersByKey},
		{name: "a full page of messages reports more", caught: "classes/exact-messages", wide: true, breaks: reportsMore},
		{name: "a limit admits one more", caught: "classes/exact-limits", wide: true, breaks: admitsOneMore},
		{name: "a lost report stores its details", caught: "classes/refused-report", wide: true, breaks: storesLostDetails},
		{name: "a refused create leaves attributes", caught: "classes/refused-create", wide: true, breaks: leavesAttributes},
		{name: "a lost release holds the instance", caught: "classes/refused-release", wide: true, breaks: holdsThoughLost},
		{name: "a delete of a tree looks at the root", caught: "classes/refused-delete", wide: true, breaks: deletesOverGrandchildren},
	}
}

func keepsConsumed(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if errors.Is(*err, provider.ErrInboxNotEmpty) && len(req.Consumed) > 0 {
			own := next(m.stored(context.Background(), req.Key))
			own.Consumed = req.Consumed
			_, _ = m.Provider.CommitTurn(context.Background(), own)
		}
	})
}

func ordersByID(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for _, u := range res.Turns {
			slices.SortFunc(u.Messages, func(a, b provider.Message) int { return int(a.ID - b.ID) })
		}
	})
}

func looksThenCloses(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		empty := m.stored(ctx, req.Key).InboxMessages == 0
		if !req.Status.Ended() || req.CloseInbox != "" || !empty {
			return commit(ctx, req)
		}
		window()
		for _, message := range m.inbox(ctx, req.Key) {
			req.Consumed = append(req.Consumed, message.ID)
		}
		return commit(ctx, req)
	})
}

func looksThenPuts(m *mutant) {
	var writing sync.Mutex
	m.record.around(func(ctx context.Context, req provider.RecordRequest, record recordMethod) (provider.RecordResult, error) {
		if req.Action != provider.RecordPut && req.Action != provider.RecordDelete {
			return record(ctx, req)
		}
		read := provider.RecordRequest{Action: provider.RecordGet, Namespace: req.Namespace, Key: req.Key}
		if res, err := record(ctx, read); err != nil || res.Records[0].Version != req.Expect {
			return record(ctx, req)
		}
		window()
		writing.Lock()
		defer writing.Unlock()
		req.Expect = 0
		if res, err := record(ctx, read); err == nil {
			req.Expect = res.Records[0].Version
		}
		return record(ctx, req)
	})
}

// looksThenWaits looks, and begins to wait for a change later. A change in between does not end the wait.
func looksThenWaits[Req, Res any](m *method[Req, Res], wait func(*Req) *time.Duration, found func(Res) bool) {
	m.around(func(ctx context.Context, req Req, call method[Req, Res]) (Res, error) {
		look, whole := req, *wait(&req)
		*wait(&look) = 0
		if whole == 0 {
			return call(ctx, req)
		}
		if res, err := call(ctx, look); err != nil || found(res) {
			return res, err
		}
		began := time.Now()
		window()
		res, err := call(ctx, look)
		if err == nil && found(res) {
			time.Sleep(whole - time.Since(began)) //nolint:forbidigo // of a bubble's clock
			return res, nil
		}
		if err != nil {
			return res, err
		}
		return call(ctx, req)
	})
}

func looksThenWaitsForTurns(m *mutant) {
	looksThenWaits(&m.turns, func(r *provider.FetchTurnsRequest) *time.Duration { return &r.Wait },
		func(res provider.FetchTurnsResult) bool { return len(res.Turns) > 0 })
}

func looksThenWaitsForTasks(m *mutant) {
	looksThenWaits(&m.tasks, func(r *provider.FetchTasksRequest) *time.Duration { return &r.Wait },
		func(res provider.FetchTasksResult) bool { return len(res.Tasks) > 0 })
}

func looksThenWaitsForEnds(m *mutant) {
	looksThenWaits(&m.get, func(r *provider.GetRequest) *time.Duration { return &r.Wait },
		func(res provider.GetResult) bool { return res.Instance.Status.Ended() })
}

func endsForBlocked(m *mutant) {
	m.get.before(func(req *provider.GetRequest) { req.WaitBlocked = true })
}

// waitsForSuccessor looks for the instance by its ID after the wait.
func waitsForSuccessor(m *mutant) {
	m.get.around(func(ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		res, err := get(ctx, req)
		if err == nil && req.ID != "" && req.Wait > 0 {
			window()
			req.Wait = 0
			return get(ctx, req)
		}
		return res, err
	})
}

func looksThenWaitsForAsks(m *mutant) {
	looksThenWaits(&m.asks, func(r *provider.FetchAsksRequest) *time.Duration { return &r.Wait },
		func(res provider.FetchAsksResult) bool { return len(res.Asks) > 0 })
}

func isFirst(n int, _ provider.Instance) bool { return n == 0 }

func isRunning(_ int, i provider.Instance) bool { return i.Status == provider.StatusRunning }

// tellsChildren tells only some children of a termination.
func tellsChildren(told func(n int, child provider.Instance) bool) func(*mutant) {
	return func(m *mutant) {
		m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
			notice := req.ChildNotice
			if req.Action != provider.SteerTerminate || notice == nil {
				return steer(ctx, req)
			}
			req.ChildNotice = nil
			res, err := steer(ctx, req)
			list, _ := m.Provider.List(ctx, provider.ListRequest{Filter: provider.Filter{ParentKey: req.Key}})
			slices.Reverse(list.Instances)
			for n, child := range list.Instances {
				if told(n, child) && child.Parent.Close == provider.CloseCancel {
					_, _ = m.Provider.Send(ctx, provider.SendRequest{Key: child.Key, Message: *notice})
				}
			}
			return res, err
		})
	}
}

func losesDetails(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for n := range res.Tasks {
			if res.Tasks[n].Deliveries > 1 {
				res.Tasks[n].Details = nil
			}
		}
	})
}

// prunesOverGrandchildren removes ended trees whose children, but not grandchildren, have ended.
func prunesOverGrandchildren(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune method[provider.PruneRequest, provider.PruneResult]) (provider.PruneResult, error) {
		list, _ := m.Provider.List(ctx, provider.ListRequest{})
		for _, i := range list.Instances {
			runs := slices.ContainsFunc(list.Instances, func(child provider.Instance) bool {
				return child.Parent.Key == i.Key && !child.Status.Ended()
			})
			if i.Status.Ended() && i.Parent.Key.IsZero() && !runs {
				res, err := m.Provider.Delete(ctx, provider.DeleteRequest{Key: i.Key, Force: true})
				return provider.PruneResult{Instances: res.Instances}, err
			}
		}
		return prune(ctx, req)
	})
}

// closesAtOnce makes sends slow, so that they are in progress when Close returns.
func closesAtOnce(m *mutant) {
	m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
		res, err := send(ctx, req)
		time.Sleep(10 * time.Second) //nolint:forbidigo // of a bubble's clock
		return res, err
	})
}

func takesSessionTooMany(m *mutant) {
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		if req.Sessions.Max > 0 && req.Max > 1 {
			req.Sessions.Max++
		}
	})
}

func releasesAllOfToken(m *mutant) {
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		res, err := release(ctx, req)
		for n, item := range req.Items {
			if err == nil && res.Errs[n] == nil && !item.Key.IsZero() && item.Owner == "" {
				_, _ = release(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: item.Token}}})
			}
		}
		return res, err
	})
}

func releasesOneOfToken(m *mutant) {
	holder := m.holders()
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		list, _ := m.Provider.List(ctx, provider.ListRequest{})
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			for _, i := range list.Instances {
				if item := &req.Items[n]; item.Key.IsZero() && holder(i.Key) == item.Token {
					item.Key = i.Key
				}
			}
		}
		return release(ctx, req)
	})
}

func releasesAllOfFetch(m *mutant) {
	tokens := map[provider.UUID]provider.UUID{} // of fetches, by those of tasks
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for _, task := range res.Tasks {
			tokens[provider.TaskToken(req.Token, task.TaskRef)] = req.Token
		}
	})
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		res, err := report(ctx, req)
		if len(req.Items) == 1 && req.Items[0].Outcome == provider.TaskRelease && !tokens[req.Items[0].Token].IsZero() {
			all := provider.TaskReport{Token: tokens[req.Items[0].Token], Outcome: provider.TaskReleaseAll}
			_, _ = report(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{all}})
		}
		return res, err
	})
}

func fetchesFirstQueue(m *mutant) {
	m.tasks.before(func(req *provider.FetchTasksRequest) { req.Queues = req.Queues[:min(len(req.Queues), 1)] })
}

func reportsFirst(m *mutant) {
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		all := len(req.Items)
		req.Items = req.Items[:min(all, 2)]
		res, err := report(ctx, req)
		for len(res.Items) < all {
			res.Items = append(res.Items, provider.TaskReportResult{})
		}
		return res, err
	})
}

func cancelsFirst(req *provider.CommitTurnRequest) {
	req.CancelTasks = req.CancelTasks[:min(len(req.CancelTasks), 1)]
}

func ordersTurnsByKey(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		slices.SortFunc(res.Turns, func(a, b provider.Turn) int { return slices.Compare(a.Instance.Key[:], b.Instance.Key[:]) })
	})
}

func ordersTasksByKey(m *mutant) {
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		slices.SortFunc(res.Tasks, func(a, b provider.LeasedTask) int { return slices.Compare(a.Key[:], b.Key[:]) })
	})
}

func ordersLettersByKey(m *mutant) {
	m.letters.after(func(_ provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		slices.SortFunc(res.Letters, func(a, b provider.DeadLetter) int { return slices.Compare(a.Key[:], b.Key[:]) })
	})
}

func reportsMore(m *mutant) {
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for n := range res.Turns {
			res.Turns[n].More = res.Turns[n].More || len(res.Turns[n].Messages) == req.MaxMessages
		}
	})
}

func admitsOneMore(m *mutant) {
	m.tasks.before(func(req *provider.FetchTasksRequest) {
		req.Queues = slices.Clone(req.Queues)
		for n := range req.Queues {
			if req.Queues[n].MaxLeased > 1 {
				req.Queues[n].MaxLeased++
			}
		}
	})
}

// storesLostDetails puts the message of a lost report into the inbox.
func storesLostDetails(m *mutant) {
	m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, _ *error) {
		for n, item := range req.Items {
			if errors.Is(res.Items[n].Err, provider.ErrLeaseLost) && item.Outcome == provider.TaskComplete {
				_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: item.Key, Message: item.Message})
			}
		}
	})
}

func leavesAttributes(m *mutant) {
	m.create.after(func(req provider.CreateRequest, _ *provider.CreateResult, err *error) {
		if exists, ok := errors.AsType[*provider.ExistsError](*err); ok {
			own := next(m.stored(context.Background(), exists.Key))
			own.Attributes = req.Attributes
			_, _ = m.Provider.CommitTurn(context.Background(), own)
		}
	})
}

func holdsThoughLost(m *mutant) {
	holder := m.holders()
	m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
		for n, item := range req.Items {
			if errors.Is(res.Errs[n], provider.ErrLeaseLost) && item.Failure != nil {
				item.Token = holder(item.Key)
				_, _ = m.Provider.ReleaseTurns(context.Background(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
			}
		}
	})
}

func deletesOverGrandchildren(m *mutant) {
	m.remove.before(func(req *provider.DeleteRequest) {
		if i := m.stored(context.Background(), req.Key); i.Status.Ended() {
			req.Force = true
		}
	})
}
