package validations

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenMessages lists mutants that change the fields of messages, their receivers or the wake-ups.
func brokenMessages() []brokenRule {
	return []brokenRule{
		{name: "a message cuts the number of its event", caught: "send/fields", breaks: fetched(cutsEventID)},
		{name: "a kind of message counts as a timer", caught: "send/kinds", breaks: fetched(actsOnKind)},
		{name: "a child gets the messages of the commit that starts it", caught: "commit/order", breaks: sendsLast},
		{name: "instants lose what is below a millisecond", caught: "commit/attribute-kinds", breaks: commits(cutsInstants)},
		{name: "a start returns an existing instance as its child", caught: "deliver/start-policy", breaks: commits(startsOrTakes)},
		{name: "a Get without Wait waits", caught: "wait/get-at-once", breaks: waitsUnasked},
		{name: "the end of an instance is polled for", caught: "wait/woken-by-the-commit", breaks: pollsForEnd},
		{name: "waiting Gets are woken before the end is stored", caught: "wait/woken-finds-the-commit", breaks: wakesEarly},
	}
}

func cutsEventID(_ provider.FetchTurnsRequest, turn *provider.Turn) {
	for n := range turn.Messages {
		turn.Messages[n].EventID &= 1<<32 - 1
	}
}

func actsOnKind(_ provider.FetchTurnsRequest, turn *provider.Turn) {
	for n := range turn.Messages {
		turn.Messages[n].Timer = turn.Messages[n].Timer || turn.Messages[n].Kind > 200
	}
}

// sendsLast delivers messages to a child after its start.
func sendsLast(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		var last []provider.OutMessage
		req.Sends = slices.DeleteFunc(slices.Clone(req.Sends), func(s provider.OutMessage) bool {
			own := slices.ContainsFunc(req.Starts, func(start provider.Start) bool { return start.Create.ID == s.ID })
			if own {
				last = append(last, s)
			}
			return own
		})
		res, err := commit(ctx, req)
		for _, s := range last {
			_, _ = m.Provider.Send(ctx, provider.SendRequest{ID: s.ID, Message: s.Message})
		}
		return res, err
	})
}

func cutsInstants(req *provider.CommitTurnRequest) {
	req.Attributes = slices.Clone(req.Attributes)
	for n, a := range req.Attributes {
		if a.Kind == provider.AttributeInstant {
			req.Attributes[n].Number -= a.Number % 1000
		}
	}
}

func startsOrTakes(req *provider.CommitTurnRequest) {
	req.Starts = slices.Clone(req.Starts)
	for n, s := range req.Starts {
		if s.Create.Policy == provider.IDUseExisting {
			req.Starts[n].Create.Policy = provider.IDReject
		}
	}
}

func waitsUnasked(m *mutant) {
	m.get.before(func(req *provider.GetRequest) {
		if req.WaitEnded && req.Wait == 0 {
			req.Wait = long
		}
	})
}

func pollsForEnd(m *mutant) {
	m.get.around(func(ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		if !req.WaitEnded || req.WaitBlocked || req.Wait < long {
			return get(ctx, req)
		}
		for {
			req.Wait = 2 * short
			began := time.Now()
			res, err := get(ctx, provider.GetRequest{ID: req.ID, Key: req.Key})
			if err != nil || res.Instance.Status.Ended() {
				return res, err
			}
			if _, err := m.Provider.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: long, Wait: req.Wait}); err != nil {
				return res, err
			}
			if time.Since(began) < req.Wait {
				return get(ctx, req)
			}
		}
	})
}

// wakesEarly wakes callers that wait for the end before the closing commit is stored.
func wakesEarly(m *mutant) {
	var mu sync.Mutex
	waiting := map[provider.UUID]chan struct{}{}
	m.get.around(func(ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
		if !req.WaitEnded || req.WaitBlocked || req.Wait == 0 || m.stored(ctx, req.Key).Status.Ended() {
			return get(ctx, req)
		}
		mu.Lock()
		woken := make(chan struct{})
		waiting[req.Key] = woken
		mu.Unlock()
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-woken:
				cancel()
			case <-inner.Done():
			}
		}()
		res, err := get(inner, req)
		if ctx.Err() == nil && inner.Err() != nil {
			res, err = get(ctx, provider.GetRequest{Key: req.Key})
			res.Instance.Status = provider.StatusCompleted
		}
		return res, err
	})
	m.commit.before(func(req *provider.CommitTurnRequest) {
		mu.Lock()
		woken := waiting[req.Key]
		delete(waiting, req.Key)
		mu.Unlock()
		if woken != nil && req.Status == provider.StatusCompleted && len(req.Sends) > 0 {
			close(woken)
			window()
		}
	})
}
