package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

// brokenSizes lists mutants that ignore limits of sizes and numbers.
func brokenSizes() []brokenRule {
	return []brokenRule{
		{name: "a payload that is too large is cut", caught: "limits/payload", breaks: cutsPayload},
		{name: "too many starts are invalid", caught: "limits/rows-of-a-commit", breaks: miscallsStarts},
		{name: "a page of letters that is too large is cut", caught: "limits/page", breaks: cutsLetters},
		{name: "a batch that is too large is cut", caught: "limits/batch", breaks: fetches(cutsBatch)},
		{name: "a lease that is too long is cut", caught: "limits/lease", breaks: cutsLease},
		{name: "an inbox takes any number of bytes", caught: "send/inbox-full-of-bytes", breaks: takesAnyBytes},
		{name: "a turn has one message less than there may be", caught: "fetch-turns/messages-of-a-turn", breaks: fetched(losesTheLast)},
	}
}

func cutsPayload(m *mutant) {
	m.send.before(func(req *provider.SendRequest) {
		req.Message.Payload = req.Message.Payload[:min(len(req.Message.Payload), provider.MaxPayload)]
	})
}

func miscallsStarts(m *mutant) {
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if len(req.Starts) > provider.MaxCommitRows {
			*err = provider.ErrInvalid
		}
	})
}

func cutsLetters(m *mutant) {
	m.letters.before(func(req *provider.DeadLettersRequest) { req.Max = min(req.Max, provider.MaxPage) })
}

func cutsBatch(req *provider.FetchTurnsRequest) { req.Max = min(req.Max, provider.MaxBatch) }

func cutsLease(m *mutant) {
	m.lease.before(func(req *provider.LeaseRequest) { req.Duration = min(req.Duration, provider.MaxLease) })
}

func takesAnyBytes(m *mutant) {
	m.send.after(func(req provider.SendRequest, _ *provider.SendResult, err *error) {
		i := m.stored(context.Background(), req.Key)
		if errors.Is(*err, provider.ErrInboxFull) && i.InboxMessages < provider.MaxInboxMessages {
			*err = nil
		}
	})
}

func losesTheLast(_ provider.FetchTurnsRequest, turn *provider.Turn) {
	if len(turn.Messages) == provider.MaxFetchMessages && turn.Instance.InboxMessages < 2*provider.MaxFetchMessages {
		turn.Messages = turn.Messages[:provider.MaxFetchMessages-1]
	}
}
