package validations

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenFetch() []brokenRule {
	return []brokenRule{
		{name: "another owner takes what is leased", caught: "fetch-turns/lease-is-exclusive", breaks: stealsFromOwners},
		{name: "a fetch looks for instances before it locks them", caught: "fetch-turns/racing-fetchers", racing: true, breaks: looksForTurnsEarly},
		{name: "a lease is over too soon", caught: "fetch-turns/lease-expires", breaks: fetches(halvesLeases)},
		{name: "an instance without messages is fetched unless a transaction sends", caught: "fetch-turns/needs-a-message", breaks: fetchesIdle},
		{name: "a suspended instance is fetched before its first turn", caught: "fetch-turns/not-suspended", breaks: fetchesAlso(suspendedEarly)},
		{name: "an ended instance is fetched before its first turn", caught: "fetch-turns/not-ended", breaks: fetchesAlso(endedEarly)},
		{name: "any version of a known name is fetched", caught: "fetch-turns/exact-capability", breaks: fetches(ignoresVersions)},
		{name: "a fetch without capabilities takes all", caught: "fetch-turns/no-capability", breaks: fetches(needsNoCapability)},
		{name: "one engine level more is fetched", caught: "fetch-turns/engine-level", breaks: fetches(raisesLevel)},
		{name: "stickiness is ignored", caught: "fetch-turns/sticky", wide: true, breaks: commits(sticksNever)},
		{name: "stickiness lasts too long", caught: "fetch-turns/sticky-ends", breaks: commits(sticksTooLong)},
		{name: "an empty fetch counts a delivery", caught: "fetch-turns/others-are-not-counted", breaks: countsVainFetches},
		{name: "instances come in no order", caught: "fetch-turns/order", breaks: turnsTurnsRound},
		{name: "a fetch takes one more than Max", caught: "fetch-turns/up-to-max", breaks: fetches(takesOneMore)},
		{name: "deliveries are not counted beyond two", caught: "fetch-turns/deliveries", breaks: fetched(countsToTwo)},
		{name: "two results share a payload", caught: "fetch-turns/result-is-the-callers", breaks: sharesPayloads},
		{name: "the payload of a request is kept", caught: "fetch-turns/request-is-copied", breaks: keepsPayloads},
	}
}

// fetches changes the requests of FetchTurns.
func fetches(change func(*provider.FetchTurnsRequest)) func(*mutant) {
	return func(m *mutant) { m.turns.before(change) }
}

// fetched changes the turns that FetchTurns returns.
func fetched(change func(req provider.FetchTurnsRequest, turn *provider.Turn)) func(*mutant) {
	return func(m *mutant) {
		m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
			for n := range res.Turns {
				change(req, &res.Turns[n])
			}
		})
	}
}

// fetchesAlso returns the instances that wanted chooses if nothing is fetchable.
func fetchesAlso(wanted func(provider.Instance) bool) func(*mutant) {
	return func(m *mutant) {
		m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, err *error) {
			if *err != nil || req.Wait > 0 || len(res.Turns) > 0 {
				return
			}
			list, _ := m.Provider.List(context.Background(), provider.ListRequest{})
			for _, i := range list.Instances {
				if wanted(i) && slices.Contains(req.Capabilities, provider.Capability{Name: i.Name, CodeVersion: i.CodeVersion}) {
					res.Turns = append(res.Turns, provider.Turn{Instance: i})
				}
			}
		})
	}
}

func fetchesIdle(m *mutant) {
	var sends atomic.Bool
	m.sendIn.before(func(*sendInRequest) { sends.Store(true) })
	fetchesAlso(func(i provider.Instance) bool { return isIdle(i) && !sends.Load() })(m)
}

func isIdle(i provider.Instance) bool {
	return i.Status == provider.StatusRunning && i.InboxMessages == 0
}

func suspendedEarly(i provider.Instance) bool {
	return i.Status == provider.StatusSuspended && i.HistoryLength == 0
}

func endedEarly(i provider.Instance) bool { return i.Status.Ended() && i.HistoryLength == 0 }

func stealsFromOwners(m *mutant) {
	holder := m.holders()
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (provider.FetchTurnsResult, error) {
		if req.Owner == node {
			return turns(ctx, req)
		}
		list, _ := m.Provider.List(ctx, provider.ListRequest{})
		for _, i := range list.Instances {
			item := provider.TurnRelease{Key: i.Key, Token: holder(i.Key)}
			_, _ = m.Provider.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
		}
		return turns(ctx, req)
	})
}

// looksForTurnsEarly returns the same turns to all fetches of the same instant.
func looksForTurnsEarly(m *mutant) {
	var mu sync.Mutex
	var at time.Time
	var found provider.FetchTurnsResult
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (provider.FetchTurnsResult, error) {
		if req.Wait > 0 {
			return turns(ctx, req)
		}
		window()
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Equal(at) && len(found.Turns) > 0 {
			return found, nil
		}
		res, err := turns(ctx, req)
		at, found = time.Now(), res
		return res, err
	})
}

func halvesLeases(req *provider.FetchTurnsRequest) {
	if req.Lease == short {
		req.Lease /= 2
	}
}

func ignoresVersions(req *provider.FetchTurnsRequest) {
	for _, c := range slices.Clone(req.Capabilities) {
		if c.CodeVersion != "" {
			req.Capabilities = append(req.Capabilities, provider.Capability{Name: c.Name, CodeVersion: codeVersion})
		}
	}
}

func needsNoCapability(req *provider.FetchTurnsRequest) {
	if len(req.Capabilities) == 0 {
		req.Capabilities = fetchRequest().Capabilities
	}
}

func raisesLevel(req *provider.FetchTurnsRequest) {
	if req.EngineLevel > 0 {
		req.EngineLevel++
	}
}

func sticksNever(req *provider.CommitTurnRequest) { req.Sticky = 0 }

func sticksTooLong(req *provider.CommitTurnRequest) {
	if req.Sticky > 0 {
		req.Sticky += 2 * long
	}
}

func countsVainFetches(m *mutant) {
	var vain atomic.Int64
	m.turns.after(func(req provider.FetchTurnsRequest, _ *provider.FetchTurnsResult, _ *error) {
		if len(req.Capabilities) == 0 {
			vain.Add(1)
		}
	})
	gets(func(i *provider.Instance) { i.Deliveries += vain.Load() })(m)
}

func turnsTurnsRound(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		slices.Reverse(res.Turns)
	})
}

func takesOneMore(req *provider.FetchTurnsRequest) {
	if req.Max > 1 {
		req.Max++
	}
}

func countsToTwo(_ provider.FetchTurnsRequest, turn *provider.Turn) {
	turn.Instance.Deliveries = min(turn.Instance.Deliveries, 2)
}

func place(key provider.UUID, message int64) string { return fmt.Sprint(key, message) }

func sharesPayloads(m *mutant) {
	var given sync.Map
	fetched(func(_ provider.FetchTurnsRequest, turn *provider.Turn) {
		for n, message := range turn.Messages {
			payload, _ := given.LoadOrStore(place(turn.Instance.Key, message.ID), message.Payload)
			turn.Messages[n].Payload, _ = payload.([]byte)
		}
	})(m)
}

func keepsPayloads(m *mutant) {
	var kept sync.Map
	m.send.after(func(req provider.SendRequest, res *provider.SendResult, err *error) {
		if *err == nil {
			kept.Store(place(res.Key, res.MessageID), req.Message.Payload)
		}
	})
	fetched(func(_ provider.FetchTurnsRequest, turn *provider.Turn) {
		for n, message := range turn.Messages {
			if payload, ok := kept.Load(place(turn.Instance.Key, message.ID)); ok {
				turn.Messages[n].Payload, _ = payload.([]byte)
			}
		}
	})(m)
}
