package validations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenSend() []brokenRule {
	return []brokenRule{
		{name: "a large batch of messages comes in reverse order", caught: "send/first-in-first-out", breaks: fetched(turnsOrderRound)},
		{name: "a short delay is ignored without a waiting fetch", caught: "send/visible-order", breaks: whileFetching(forgetsShortDelays)},
		{name: "a single message is never a timer", caught: "send/timers-in-order", breaks: putsTimersLast},
		{name: "a batch that ends by bytes has no More", caught: "send/more-by-default", breaks: fetched(hidesMore)},
		{name: "a batch has one message more than was asked for", caught: "send/more-by-count", breaks: fetches(asksForOneMore)},
		{name: "a message over the limit of bytes is left out", caught: "send/more-by-bytes", breaks: fetched(leavesOutLarge)},
		{name: "an unknown receiver counts as ended", caught: "send/unknown", breaks: endsTheUnknown},
		{name: "a receiver that has ended is not found by its ID", caught: "send/ended", breaks: losesTheEnded},
		{name: "a message to a replaced instance goes to its successor", caught: "send/by-old-key", breaks: followsTheID},
		{name: "a suspended instance accepts no message", caught: "send/suspended", breaks: refusesIf(isSuspended)},
		{name: "a blocked instance accepts no message", caught: "send/blocked", breaks: refusesIf(isBlocked)},
		{name: "an instance accepts no message before its first turn", caught: "send/before-start", breaks: refusesIf(hasNotStarted)},
		{name: "a message changes the version", caught: "send/version-stays", breaks: countsMessagesAsChanges},
		{name: "a send looks whether the instance is open before it locks", caught: "send/race-with-close", racing: true, breaks: sendsTooLate},
		{name: "a full inbox drops messages without an error", caught: "send/inbox-full", breaks: dropsWhenFull},
	}
}

func turnsOrderRound(_ provider.FetchTurnsRequest, turn *provider.Turn) {
	if len(turn.Messages) >= 100 {
		slices.Reverse(turn.Messages)
	}
}

func hidesMore(req provider.FetchTurnsRequest, turn *provider.Turn) {
	turn.More = turn.More && (req.MaxMessages > 0 || req.MaxBytes > 0 || len(turn.Messages) == provider.MaxFetchMessages)
}

func asksForOneMore(req *provider.FetchTurnsRequest) {
	if req.MaxMessages > 1 {
		req.MaxMessages++
	}
}

func leavesOutLarge(req provider.FetchTurnsRequest, turn *provider.Turn) {
	if req.MaxBytes > 0 && len(turn.Messages[0].Payload) > req.MaxBytes {
		turn.Messages = nil
	}
}

func forgetsShortDelays(m *mutant, waits func() bool) {
	m.send.before(func(req *provider.SendRequest) {
		if req.Message.Delay <= short && !waits() {
			req.Message.Delay = 0
		}
	})
}

func putsTimersLast(m *mutant) {
	m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (provider.FetchTurnsResult, error) {
		one := req.MaxMessages == 1
		if one {
			req.MaxMessages = 0
		}
		res, err := turns(ctx, req)
		for n := range res.Turns {
			turn := &res.Turns[n]
			if !one {
				continue
			}
			first := max(0, slices.IndexFunc(turn.Messages, func(m provider.Message) bool { return !m.Timer }))
			turn.More = len(turn.Messages) > 1
			turn.Messages = turn.Messages[first : first+1]
		}
		return res, err
	})
}

func endsTheUnknown(m *mutant) {
	var known sync.Map
	m.create.before(func(req *provider.CreateRequest) { known.Store(req.Key, true) })
	m.send.after(func(req provider.SendRequest, _ *provider.SendResult, err *error) {
		if _, ok := known.Load(req.Key); !ok && !req.Key.IsZero() && errors.Is(*err, provider.ErrNotFound) {
			*err = provider.ErrEnded
		}
	})
}

func losesTheEnded(m *mutant) {
	m.send.after(func(req provider.SendRequest, _ *provider.SendResult, err *error) {
		if errors.Is(*err, provider.ErrEnded) && req.Key.IsZero() {
			*err = provider.ErrNotFound
		}
	})
}

func followsTheID(m *mutant) {
	m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
		res, err := send(ctx, req)
		if !errors.Is(err, provider.ErrEnded) {
			return res, err
		}
		return send(ctx, provider.SendRequest{ID: m.stored(ctx, req.Key).ID, Message: req.Message})
	})
}

// refusesIf refuses messages to some instances.
func refusesIf(refuses func(provider.Instance) bool) func(*mutant) {
	return func(m *mutant) {
		m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
			to, _ := m.Provider.Get(ctx, provider.GetRequest{ID: req.ID, Key: req.Key})
			if refuses(to.Instance) {
				return provider.SendResult{}, provider.ErrConflict
			}
			return send(ctx, req)
		})
	}
}

func isSuspended(i provider.Instance) bool { return i.Status == provider.StatusSuspended }

func isBlocked(i provider.Instance) bool { return i.Blocked != nil }

func hasNotStarted(i provider.Instance) bool {
	return !i.Key.IsZero() && i.HistoryLength == 0 && i.Deliveries == 0
}

// countsMessagesAsChanges shows a new version after each message and accepts it in commits.
func countsMessagesAsChanges(m *mutant) {
	var shown sync.Map // the true version by the shown one, and the reverse
	m.send.after(func(_ provider.SendRequest, res *provider.SendResult, err *error) {
		if *err == nil {
			shown.Store(m.stored(context.Background(), res.Key).Version, unique())
		}
	})
	show := func(i *provider.Instance) {
		if other, ok := shown.Load(i.Version); ok {
			shown.Store(other, i.Version)
			i.Version, _ = other.(provider.UUID)
		}
	}
	gets(show)(m)
	bends(func(res *provider.InspectResult) {
		for n := range res.Instances {
			show(&res.Instances[n])
		}
	})(m)
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if other, ok := shown.Load(req.Expected); ok && m.stored(context.Background(), req.Key).Version == other {
			req.Expected, _ = other.(provider.UUID)
		}
	})
}

// sendsTooLate reads the receiver first and sends at whole microseconds, so that all senders are in between when a close is
// stored.
func sendsTooLate(m *mutant) {
	m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
		open := m.stored(ctx, req.Key).Status == provider.StatusRunning
		time.Sleep(time.Microsecond) //nolint:forbidigo // of a bubble's clock
		res, err := send(ctx, req)
		if open && errors.Is(err, provider.ErrEnded) {
			return provider.SendResult{Key: req.Key, Now: res.Now}, nil
		}
		return res, err
	})
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		if req.Status.Ended() {
			window()
		}
		return commit(ctx, req)
	})
}

func dropsWhenFull(m *mutant) {
	m.send.after(func(_ provider.SendRequest, _ *provider.SendResult, err *error) {
		if errors.Is(*err, provider.ErrInboxFull) {
			*err = nil
		}
	})
}
