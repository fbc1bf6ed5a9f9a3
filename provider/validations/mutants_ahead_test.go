package validations

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenAhead lists mutants that claim wrong instances ahead, or keep such claims for too long.
func brokenAhead() []brokenRule {
	return []brokenRule{
		{name: "a claim ahead brings all messages", caught: "fetch-turns/ahead", breaks: fetched(bringsAll)},
		{name: "a fetch that looks ahead uses up its Wait", caught: "fetch-turns/ahead-waits", breaks: waitsForNothing},
		{name: "a claim ahead passes over delays", caught: "fetch-turns/ahead-of-a-held-instance", breaks: hurriesHeldBack},
		{name: "nothing is claimed ahead", caught: "fetch-turns/ahead-is-promised", breaks: fetches(looksNotAhead)},
		{name: "a claim ahead is shared", caught: "fetch-turns/ahead-is-exclusive", breaks: sharesClaimsAhead},
		{name: "a claim ahead survives earlier messages", caught: "fetch-turns/ahead-overtaken", breaks: keepsClaimsAhead},
		{name: "a claim ahead that was overtaken is counted", caught: "fetch-turns/ahead-overtaken", breaks: countsOvertaken},
		{name: "a claim ahead ends with any message", caught: "fetch-turns/ahead-not-overtaken", breaks: endsClaimsAhead},
		{name: "a claim ahead that was overtaken commits", caught: "fetch-turns/ahead-conflict", breaks: commits(forgetsAhead)},
		{name: "a fetch that looks too far ahead is cut", caught: "fetch-turns/ahead-limit", breaks: fetches(cutsAhead)},
	}
}

func bringsAll(req provider.FetchTurnsRequest, turn *provider.Turn) {
	if req.Ahead > 0 && turn.Instance.InboxMessages > int64(len(turn.Messages)) {
		turn.Messages = append(turn.Messages, provider.Message{ID: 1 << 40})
	}
}

func waitsForNothing(m *mutant) {
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (provider.FetchTurnsResult, error) {
		if req.Ahead > 0 && req.Wait > 0 {
			asks := provider.FetchAsksRequest{Max: 1, Lease: long, Wait: req.Wait}
			if _, err := m.Provider.FetchAsks(ctx, asks); err != nil {
				return provider.FetchTurnsResult{}, err
			}
		}
		return turns(ctx, req)
	})
}

func hurriesHeldBack(m *mutant) {
	ahead := false
	m.turns.before(func(req *provider.FetchTurnsRequest) { ahead = req.Ahead > 0 && req.Wait == 0 })
	fetchesAlso(func(i provider.Instance) bool {
		return ahead && i.Status == provider.StatusRunning && i.InboxMessages > 0
	})(m)
}

// claimedAhead returns a function that reports until when an instance is claimed ahead.
func (m *mutant) claimedAhead() func(key provider.UUID) provider.Time {
	var due sync.Map
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for _, turn := range res.Turns {
			if len(turn.Messages) > 0 && turn.Messages[0].VisibleAt > res.Now {
				due.Store(turn.Instance.Key, turn.Messages[0].VisibleAt)
			}
		}
	})
	return func(key provider.UUID) provider.Time {
		at, _ := due.Load(key)
		until, _ := at.(provider.Time)
		return until
	}
}

// endLease ends the lease of an instance.
func (m *mutant) endLease(ctx context.Context, key, token provider.UUID) {
	item := provider.TurnRelease{Key: key, Token: token}
	_, _ = m.Provider.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
}

func looksNotAhead(req *provider.FetchTurnsRequest) {
	if req.Ahead > 0 && req.Ahead <= provider.MaxAhead {
		req.Ahead = 0
	}
}

func sharesClaimsAhead(m *mutant) {
	due, holder := m.claimedAhead(), m.holders()
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (provider.FetchTurnsResult, error) {
		list, _ := m.Provider.List(ctx, provider.ListRequest{})
		for _, i := range list.Instances {
			if req.Owner != node && due(i.Key) > 0 {
				m.endLease(ctx, i.Key, holder(i.Key))
			}
		}
		return turns(ctx, req)
	})
}

func keepsClaimsAhead(m *mutant) {
	due := m.claimedAhead()
	m.send.before(func(req *provider.SendRequest) {
		if until := due(req.Key); until > 0 && req.Message.Delay == 0 {
			req.Message.Delay = time.Until(until.Std()) + time.Microsecond
		}
	})
}

func countsOvertaken(m *mutant) {
	due := m.claimedAhead()
	fetched(func(_ provider.FetchTurnsRequest, turn *provider.Turn) {
		if until := due(turn.Instance.Key); until > 0 && turn.Messages[0].VisibleAt < until {
			turn.Instance.Deliveries++
		}
	})(m)
}

func endsClaimsAhead(m *mutant) {
	due, holder := m.claimedAhead(), m.holders()
	m.send.after(func(req provider.SendRequest, _ *provider.SendResult, _ *error) {
		if due(req.Key) > 0 {
			m.endLease(context.Background(), req.Key, holder(req.Key))
		}
	})
}

func forgetsAhead(req *provider.CommitTurnRequest) { req.Ahead = false }

func cutsAhead(req *provider.FetchTurnsRequest) { req.Ahead = min(req.Ahead, provider.MaxAhead) }
