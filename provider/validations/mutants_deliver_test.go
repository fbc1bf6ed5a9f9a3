package validations

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenDeliver() []brokenRule {
	return []brokenRule{
		{name: "the messages of a commit arrive in reverse order", caught: "deliver/sends-in-order", breaks: commits(sendsLastFirst)},
		{name: "a message to oneself is lost", caught: "deliver/send-to-self", breaks: commits(losesOwnMessage)},
		{name: "a fetched child has no parent", caught: "deliver/start", breaks: fetched(losesParent)},
		{name: "a commit is looked for before the lock, and delivered again", caught: "deliver/once", racing: true, breaks: deliversAgain},
		{name: "a refused commit starts its children", caught: "deliver/nothing-of-a-refused-commit", breaks: startsAllTheSame},
		{name: "a message to an unknown instance is dropped", caught: "deliver/send-refused-gone", breaks: dropsSends(isGone)},
		{name: "a message to an ended instance is dropped", caught: "deliver/send-refused-ended", breaks: dropsSends(hasEnded)},
		{name: "an ID in use fails the commit that starts it", caught: "deliver/start-refused", breaks: failsForStarts},
		{name: "a start replaces nothing", caught: "deliver/start-replaces", breaks: commits(startsOnlyNew)},
		{name: "a message that is dropped is not counted", caught: "deliver/refused-without-message", breaks: countsNoDrops},
	}
}

func sendsLastFirst(req *provider.CommitTurnRequest) {
	req.Sends = slices.Clone(req.Sends)
	slices.Reverse(req.Sends)
}

func losesOwnMessage(req *provider.CommitTurnRequest) {
	if len(req.Sends) == 1 && req.Sends[0].Key == req.Key && len(req.Timers) == 0 {
		req.Sends = nil
	}
}

// deliversAgain repeats the sends and starts of a commit that is stored twice at once.
func deliversAgain(m *mutant) {
	var mu sync.Mutex
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		isNew := m.stored(ctx, req.Key).Version == req.Expected
		window()
		mu.Lock()
		defer mu.Unlock()
		if isNew && m.stored(ctx, req.Key).Version == req.Commit {
			for _, s := range req.Sends {
				_, _ = m.Provider.Send(ctx, provider.SendRequest{ID: s.ID, Key: s.Key, Message: s.Message})
			}
		}
		return commit(ctx, req)
	})
}

func losesParent(_ provider.FetchTurnsRequest, turn *provider.Turn) {
	turn.Instance.Parent = provider.Parent{}
}

func startsAllTheSame(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		res, err := commit(ctx, req)
		for _, s := range req.Starts {
			if err != nil {
				_, _ = m.Provider.Create(ctx, s.Create)
			}
		}
		return res, err
	})
}

// dropsSends drops messages to some receivers and does not return the refusal.
func dropsSends(dropped func(to provider.Instance) bool) func(*mutant) {
	return func(m *mutant) {
		commits(func(req *provider.CommitTurnRequest) {
			req.Sends = slices.Clone(req.Sends)
			for n, s := range req.Sends {
				if to, _ := m.Provider.Get(context.Background(), provider.GetRequest{ID: s.ID, Key: s.Key}); dropped(to.Instance) {
					req.Sends[n].Refused = nil
				}
			}
		})(m)
	}
}

func isGone(i provider.Instance) bool { return i.Key.IsZero() }

func failsForStarts(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		for _, s := range req.Starts {
			if old := m.byID(ctx, s.Create.ID); !old.Key.IsZero() && !old.Status.Ended() && old.Key != s.Create.Key {
				return provider.CommitTurnResult{}, &provider.ExistsError{ID: old.ID, Key: old.Key, Status: old.Status}
			}
		}
		return commit(ctx, req)
	})
}

func startsOnlyNew(req *provider.CommitTurnRequest) {
	req.Starts = slices.Clone(req.Starts)
	for n := range req.Starts {
		req.Starts[n].Create.Policy = provider.IDReject
	}
}

func countsNoDrops(m *mutant) {
	counts(func(c *provider.Counters) { c.Dropped = 0 })(m)
}
