package validations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// brokenFirst lists mutants that lose part of a first turn, store it twice or wrongly, or return a wrong Begun.
func brokenFirst() []brokenRule {
	racing := []brokenRule{
		{name: "an instance is seen before its first turn", caught: "create/first-turn-at-once", breaks: makesFirstLater},
		{name: "the first turn of a start that came too late starts its child", caught: "create/first-turn-race", breaks: startsForLosers},
		{name: "a start that looked before the lock returns Begun", caught: "create/first-turn-race-of-one-request", breaks: beginsEarly},
	}
	for i := range racing {
		racing[i].racing = true
	}
	return append(racing, []brokenRule{
		{name: "a first turn sets no values", caught: "create/first-turn", breaks: firsts(setsNoValues)},
		{name: "a first turn leaves the start message", caught: "create/first-turn-leaves-no-message", breaks: leavesStart(anyStart)},
		{name: "a first turn hands nothing off", caught: "create/first-turn-hands-off", breaks: firsts(handsNothingOff)},
		{name: "a first turn sends nothing to its own instance", caught: "create/first-turn-to-itself", breaks: firsts(sendsOthersOnly)},
		{name: "a first turn cancels nothing", caught: "create/first-turn-cancels", breaks: firsts(takesNothingBack)},
		{name: "a first turn sets no stickiness", caught: "create/first-turn-sticks", breaks: firsts(sticksNowhere)},
		{name: "a first turn does not wake waiting fetches of tasks", caught: "create/first-turn-wakes", breaks: hearsNoFirst},
		{name: "a first turn leaves the start message of a replacing instance", caught: "create/first-turn-replaces", breaks: leavesStart(replaces)},
		{name: "a refused start sends what its turn sends", caught: "create/first-turn-refused", breaks: sendsThoughRefused},
		{name: "a first turn that is too large is left out", caught: "create/first-turn-too-large", breaks: leavesOut(provider.ErrTooLarge)},
		{name: "a first turn that does not fit is left out", caught: "create/first-turn-fits", breaks: leavesOut(provider.ErrInvalid)},
		{name: "a repeated start always returns Begun", caught: "create/first-turn-repeated", breaks: created(beginsAgain)},
		{name: "a repeated start never returns Begun", caught: "create/first-turn-repeated", breaks: beginsOnce},
		{name: "an existing instance stores the first turn, too", caught: "create/first-turn-of-an-existing-instance", breaks: beginsWhatExists},
		{name: "an ignored first turn returns Begun", caught: "create/first-turn-or-start-message", breaks: ignoresFirst(true, false)},
		{name: "the first turn of a child is left out", caught: "deliver/start-with-a-first-turn", breaks: commits(startsWithoutFirst)},
		{name: "a start that is cut off has a first turn without tasks", caught: "unknown/create-with-a-first-turn", breaks: func(m *mutant) {
			halve(&m.create, func(r *provider.CreateRequest) { changeFirst(r, func(f *provider.CommitTurnRequest) { f.Tasks = nil }) })
		}},
		{name: "a start in a transaction always returns Begun", caught: "transactions/create-with-a-first-turn", breaks: beginsInVain},
		{name: "a first turn in a transaction outlives its rollback", caught: "transactions/first-turn-rollback", breaks: sendsBeforeCommit},
	}...)
}

// firsts changes the first turns that starts carry.
func firsts(change func(*provider.CommitTurnRequest)) func(*mutant) {
	return func(m *mutant) {
		m.create.before(func(req *provider.CreateRequest) { changeFirst(req, change) })
	}
}

func changeFirst(req *provider.CreateRequest, change func(*provider.CommitTurnRequest)) {
	if req.First != nil {
		first := with(*req.First, change)
		req.First = &first
	}
}

func setsNoValues(r *provider.CommitTurnRequest) { r.Values = nil }

func handsNothingOff(r *provider.CommitTurnRequest) {
	r.Tasks = slices.Clone(r.Tasks)
	for n := range r.Tasks {
		r.Tasks[n].Lease = nil
	}
}

func sendsOthersOnly(r *provider.CommitTurnRequest) {
	r.Sends = slices.DeleteFunc(slices.Clone(r.Sends), func(s provider.OutMessage) bool { return s.Key == r.Key })
}

func takesNothingBack(r *provider.CommitTurnRequest) { r.CancelTasks = nil }

func sticksNowhere(r *provider.CommitTurnRequest) { r.Sticky = 0 }

func anyStart(provider.CreateRequest) bool { return true }

func replaces(req provider.CreateRequest) bool { return req.Policy == provider.IDReplaceEnded }

// leavesStart leaves the start message in the inbox of an instance that has begun.
func leavesStart(of func(provider.CreateRequest) bool) func(*mutant) {
	return func(m *mutant) {
		created(func(req provider.CreateRequest, res *provider.CreateResult) {
			if res.Begun && of(req) {
				_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: req.Key, Message: req.Message})
				res.Instance = m.stored(context.Background(), req.Key)
			}
		})(m)
	}
}

// hearsNoFirst returns nothing to fetches of tasks that were blocked before a first turn.
func hearsNoFirst(m *mutant) {
	var begun atomic.Int64
	m.create.before(func(req *provider.CreateRequest) {
		if req.First != nil {
			begun.Add(1)
		}
	})
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, fetch tasksMethod) (provider.FetchTasksResult, error) {
		before := begun.Load()
		res, err := fetch(ctx, req)
		if begun.Load() > before {
			res.Tasks = nil
		}
		return res, err
	})
}

func sendsThoughRefused(m *mutant) {
	m.create.after(func(req provider.CreateRequest, _ *provider.CreateResult, err *error) {
		if errors.Is(*err, provider.ErrNotFound) && req.First != nil {
			m.sendAll(req.First.Sends)
		}
	})
}

func (m *mutant) sendAll(list []provider.OutMessage) {
	for _, s := range list {
		_, _ = m.Provider.Send(context.Background(), provider.SendRequest{ID: s.ID, Key: s.Key, Message: s.Message})
	}
}

// leavesOut drops first turns that are refused from their starts.
func leavesOut(refusal error) func(*mutant) {
	return func(m *mutant) {
		m.create.before(func(req *provider.CreateRequest) {
			if req.First != nil && errors.Is(req.Validate(), refusal) {
				req.First, req.Message.Delay = nil, 0
			}
		})
	}
}

func beginsAgain(req provider.CreateRequest, res *provider.CreateResult) {
	res.Begun = res.Created && req.First != nil
}

func beginsOnce(m *mutant) {
	var told sync.Map
	created(func(_ provider.CreateRequest, res *provider.CreateResult) {
		if res.Begun {
			_, again := told.LoadOrStore(res.Instance.Version, true)
			res.Begun = !again
		}
	})(m)
}

func beginsWhatExists(m *mutant) {
	created(func(req provider.CreateRequest, res *provider.CreateResult) {
		if req.First != nil && !res.Created {
			turn := *req.First
			turn.Key, turn.Expected, turn.Length = res.Instance.Key, res.Instance.Version, res.Instance.HistoryLength
			_, _ = m.Provider.CommitTurn(context.Background(), turn)
		}
	})(m)
}

// ignoresFirst drops first turns from their starts. It may return a wrong Begun and lose the start message.
func ignoresFirst(saysBegun, losesStart bool) func(*mutant) {
	return func(m *mutant) {
		m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
			first := req.First
			if req.Validate() == nil {
				req.First = nil
			}
			res, err := create(ctx, req)
			res.Begun = saysBegun && err == nil && first != nil
			if losesStart && err == nil && first != nil {
				m.delay(ctx, res.Instance)
			}
			return res, err
		})
	}
}

// delay keeps an instance from being fetched.
func (m *mutant) delay(ctx context.Context, i provider.Instance) {
	req := fetchRequest()
	req.Capabilities[0] = provider.Capability{Name: i.Name, CodeVersion: i.CodeVersion}
	_, _ = m.Provider.FetchTurns(ctx, req)
}

// makesFirstLater stores the first turn after the start, if there are concurrent starts.
func makesFirstLater(m *mutant) {
	var starting crowd[bool]
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		defer starting.enter(true)()
		window()
		if req.First == nil || starting.size(true) == 1 {
			return create(ctx, req)
		}
		turn := *req.First
		req.First = nil
		res, err := create(ctx, req)
		if err != nil {
			return res, err
		}
		m.dawdle(ctx)
		for _, waiting := range m.inbox(ctx, turn.Key) {
			turn.Consumed = append(turn.Consumed, waiting.ID)
		}
		_, failed := m.Provider.CommitTurn(ctx, turn)
		res.Instance, res.Begun = m.stored(ctx, turn.Key), failed == nil
		return res, nil
	})
}

// lookedEarly changes the results of starts that found their ID free before the lock.
func lookedEarly(change func(m *mutant, req provider.CreateRequest, res *provider.CreateResult, err error)) func(*mutant) {
	return func(m *mutant) {
		m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
			free := m.byID(ctx, req.ID).Key.IsZero()
			window()
			res, err := create(ctx, req)
			if free && req.First != nil {
				change(m, req, &res, err)
			}
			return res, err
		})
	}
}

func startsForLosers(m *mutant) {
	lookedEarly(func(m *mutant, req provider.CreateRequest, _ *provider.CreateResult, err error) {
		for _, start := range req.First.Starts {
			if errors.Is(err, provider.ErrExists) {
				start.Create.Parent = provider.Parent{}
				_, _ = m.Provider.Create(context.Background(), start.Create)
			}
		}
	})(m)
}

func beginsEarly(m *mutant) {
	lookedEarly(func(_ *mutant, _ provider.CreateRequest, res *provider.CreateResult, err error) {
		res.Begun = err == nil
	})(m)
}

func startsWithoutFirst(req *provider.CommitTurnRequest) {
	req.Starts = slices.Clone(req.Starts)
	for n := range req.Starts {
		req.Starts[n].Create.First = nil
	}
}

func beginsInVain(m *mutant) {
	m.createIn.after(func(req createInRequest, res *provider.CreateResult, err *error) {
		res.Begun = *err == nil && req.First != nil
	})
}

func sendsBeforeCommit(m *mutant) {
	m.createIn.after(func(req createInRequest, _ *provider.CreateResult, err *error) {
		if *err == nil && req.First != nil {
			m.sendAll(req.First.Sends)
		}
	})
}
