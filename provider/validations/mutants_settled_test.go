package validations

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenSettled() []brokenRule {
	return []brokenRule{
		{name: "a fetched instance has its attributes in any order", caught: "settled/attributes-by-name", breaks: shufflesAttributes},
		{name: "a used key names the new ID", caught: "settled/key-in-use", breaks: namesNewID},
		{name: "the deliveries outlive a termination", caught: "settled/terminate-ends-the-lease", breaks: outlivesEnds},
		{name: "stickiness outlives a reset", caught: "settled/reset-frees", breaks: sticksOverResets},
		{name: "an instance that ends stays ready", caught: "settled/ended-is-never-ready", breaks: staysReady},
		{name: "a second reset begins to wait anew", caught: "settled/second-reset", breaks: waitsAnew},
		{name: "an expired lease is shown", caught: "settled/expired-lease-is-shown-as-queued", breaks: showsExpired},
		{name: "a refused commit keeps what it completed", caught: "settled/used-event", breaks: keepsCompleted},
		{name: "a close with a used event is stored", caught: "settled/used-event-of-a-close", breaks: closesUsed},
		{name: "only a lease that was claimed ahead is one", caught: "settled/lease-becomes-a-claim-ahead", breaks: keepsOldLease},
		{name: "refusals come after all other letters", caught: "settled/letters-of-a-close", breaks: putsRefusalsLast},
		{name: "an expired named lease cannot be released", caught: "settled/expired-named-lease", breaks: forgetsNamedLease},
		{name: "a redriven task loses its session", caught: "settled/redriven-task-keeps", breaks: losesSession},
		{name: "a parked task loses its StartBy", caught: "settled/parked-without-a-limit", breaks: losesStartBy},
		{name: "a turn lease outlives the instance", caught: "settled/close-ends-any-lease", breaks: leasesEnded},
		{name: "an instance that was held comes last for ever", caught: "settled/order-after-a-commit", breaks: putsHeldLast},
		{name: "an expired turn lease cannot be released", caught: "settled/expired-turn-lease", breaks: forgetsTurnLease},
		{name: "the last fetch sets the idle time of a session", caught: "settled/idle-of-a-session", breaks: idlesLonger},
		{name: "a task is not late before its NotBefore", caught: "settled/past-its-time-before-not-before", breaks: waitsForNotBefore},
		{name: "an expired task is not removed when it is cancelled", caught: "settled/cancelled-after-its-lease", breaks: keepsExpired},
		{name: "a task that is late cannot begin", caught: "settled/released-begun-past-its-time", breaks: neverBegins},
	}
}

func shufflesAttributes(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for n := range res.Turns {
			slices.Reverse(res.Turns[n].Instance.Attributes)
		}
	})
}

func namesNewID(m *mutant) {
	m.create.after(func(req provider.CreateRequest, _ *provider.CreateResult, err *error) {
		if exists, ok := errors.AsType[*provider.ExistsError](*err); ok && exists.Key == req.Key {
			*err = &provider.ExistsError{ID: req.ID, Key: exists.Key, Status: exists.Status}
		}
	})
}

func outlivesEnds(m *mutant) {
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		before := m.stored(ctx, req.Key).Deliveries
		res, err := steer(ctx, req)
		if req.Action == provider.SteerTerminate {
			res.Instance.Deliveries = before
		}
		return res, err
	})
}

func sticksOverResets(m *mutant) {
	var owners sync.Map // by key
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
		owners.Store(req.Key, req.Owner)
	})
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		res.Turns = slices.DeleteFunc(res.Turns, func(u provider.Turn) bool {
			owner, _ := owners.Load(u.Instance.Key)
			return u.Instance.Execution > 1 && owner != nil && owner != "" && owner != req.Owner
		})
	})
}

func staysReady(m *mutant) {
	gets(func(i *provider.Instance) {
		if i.Status.Ended() && i.Execution > 1 {
			i.ReadyAt = i.EndedAt
		}
	})(m)
}

func waitsAnew(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, _ *error) {
		if req.Action == provider.SteerReset {
			res.Instance.ReadyAt = res.Instance.UpdatedAt
		}
	})
}

// infos changes the tasks that Get shows.
func infos(m *mutant, change func(*provider.TaskInfo)) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n := range res.Tasks {
			change(&res.Tasks[n])
		}
	})
}

func showsExpired(m *mutant) {
	infos(m, func(task *provider.TaskInfo) {
		if task.State == provider.TaskQueued && task.Deliveries > 0 {
			task.State, task.Owner = provider.TaskLeased, node
		}
	})
}

// keepsCompleted completes the tasks of a commit that is refused for its event IDs.
func keepsCompleted(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if !errors.Is(*err, provider.ErrInvalid) {
			return
		}
		for _, c := range req.Completes {
			item := provider.TaskReport{
				TaskRef: provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID}, Token: c.Token, Attempt: 1,
				Outcome: provider.TaskComplete,
			}
			_, _ = m.Provider.ReportTasks(context.Background(), provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
		}
	})
}

func closesUsed(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		res, err := commit(ctx, req)
		if errors.Is(err, provider.ErrInvalid) && req.Status.Ended() {
			req.Tasks, req.Timers = nil, nil
			return commit(ctx, req)
		}
		return res, err
	})
}

// keepsOldLease hides an instance whose lease has become a claim ahead by a commit.
func keepsOldLease(m *mutant) {
	var held sync.Map // by key
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
		if req.Lease.IsZero() && len(req.Consumed) > 0 && len(req.Timers) > 0 {
			held.Store(req.Key, true)
		}
	})
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		res.Turns = slices.DeleteFunc(res.Turns, func(u provider.Turn) bool {
			_, is := held.Load(u.Instance.Key)
			return is
		})
	})
}

func putsRefusalsLast(m *mutant) {
	m.letters.after(func(_ provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		refused := func(l provider.DeadLetter) int {
			if strings.Contains(string(l.Payload), "refus") {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(res.Letters, func(a, b provider.DeadLetter) int { return refused(a) - refused(b) })
	})
}

// now reads the clock of the store.
func (m *mutant) now(ctx context.Context) provider.Time {
	res, _ := m.Provider.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "clock", Max: 1})
	return res.Now
}

func forgetsNamedLease(m *mutant) {
	var until sync.Map // by name
	m.lease.around(func(ctx context.Context, req provider.LeaseRequest, lease method[provider.LeaseRequest, provider.LeaseResult]) (provider.LeaseResult, error) {
		end, _ := until.Load(req.Name)
		if at, _ := end.(provider.Time); req.Action == provider.LeaseRelease && at <= m.now(ctx) {
			return provider.LeaseResult{}, provider.ErrLeaseLost
		}
		res, err := lease(ctx, req)
		if err == nil && req.Action == provider.LeaseAcquire {
			until.Store(req.Name, res.Until)
		}
		return res, err
	})
}

func losesSession(m *mutant) {
	var mu sync.Mutex
	redriven := false
	m.letters.before(func(req *provider.DeadLettersRequest) {
		mu.Lock()
		defer mu.Unlock()
		redriven = redriven || req.Action == provider.DeadLettersRedrive
	})
	infos(m, func(task *provider.TaskInfo) {
		mu.Lock()
		defer mu.Unlock()
		if redriven {
			task.Session = ""
		}
	})
}

func losesStartBy(m *mutant) {
	infos(m, func(task *provider.TaskInfo) {
		if task.State == provider.TaskParked {
			task.StartBy = 0
		}
	})
}

func leasesEnded(m *mutant) {
	m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
		for n, item := range req.Items {
			if i := m.stored(context.Background(), item.Key); i.Status == provider.StatusCompleted {
				res.Errs[n] = nil
			}
		}
	})
}

func putsHeldLast(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		held := func(u provider.Turn) int {
			if strings.HasPrefix(u.Instance.ID, "held-") {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(res.Turns, func(a, b provider.Turn) int { return held(a) - held(b) })
	})
}

func forgetsTurnLease(m *mutant) {
	var until sync.Map // by token
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		until.Store(req.Token, res.Now.Add(req.Lease))
	})
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		if len(req.Items) != 1 {
			return release(ctx, req)
		}
		end, _ := until.Load(req.Items[0].Token)
		if at, ok := end.(provider.Time); ok && !req.Items[0].Key.IsZero() && at <= m.now(ctx) {
			return provider.ReleaseTurnsResult{Errs: []error{provider.ErrLeaseLost}}, nil
		}
		return release(ctx, req)
	})
}

// idlesLonger keeps a session of which two fetches of its owner said different idle times.
func idlesLonger(m *mutant) {
	type holder struct {
		owner string
		claim provider.SessionClaim
		mixed bool
	}
	var mu sync.Mutex
	sessions, holders := map[provider.TaskRef]string{}, map[string]holder{}
	m.commit.before(func(req *provider.CommitTurnRequest) {
		mu.Lock()
		defer mu.Unlock()
		for _, task := range req.Tasks {
			sessions[provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: task.EventID}] = task.Session
		}
	})
	m.tasks.after(func(req provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		mu.Lock()
		defer mu.Unlock()
		res.Tasks = slices.DeleteFunc(res.Tasks, func(task provider.LeasedTask) bool {
			session := sessions[task.TaskRef]
			h := holders[session]
			if session == "" || h.mixed {
				return session != "" && h.owner != req.Owner
			}
			holders[session] = holder{req.Owner, req.Sessions, h.owner == req.Owner && h.claim.Idle != req.Sessions.Idle}
			return false
		})
	})
}

func waitsForNotBefore(m *mutant) {
	var later sync.Map // by reference
	m.commit.before(func(req *provider.CommitTurnRequest) {
		for _, task := range req.Tasks {
			if task.NotBefore > 0 && task.Lease == nil {
				later.Store(provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: task.EventID}, true)
			}
		}
	})
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		res.Tasks = slices.DeleteFunc(res.Tasks, func(task provider.LeasedTask) bool {
			_, is := later.Load(task.TaskRef)
			return is && task.PastDeadline
		})
	})
}

func keepsExpired(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		res, _ := m.Provider.Get(context.Background(), provider.GetRequest{Key: req.Key, WithTasks: true})
		req.CancelTasks = slices.DeleteFunc(slices.Clone(req.CancelTasks), func(c provider.CancelTask) bool {
			return slices.ContainsFunc(res.Tasks, func(task provider.TaskInfo) bool {
				return task.EventID == c.EventID && task.State == provider.TaskQueued && task.Deliveries > 0
			})
		})
	})
}

func neverBegins(m *mutant) {
	var late sync.Map // by reference
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for _, task := range res.Tasks {
			if task.PastDeadline {
				late.Store(task.TaskRef, true)
			}
		}
	})
	m.report.before(func(req *provider.ReportTasksRequest) {
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			if _, is := late.Load(req.Items[n].TaskRef); is {
				req.Items[n].Begun = false
			}
		}
	})
}
