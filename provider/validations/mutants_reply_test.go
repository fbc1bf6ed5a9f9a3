package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

func brokenReplies() []brokenRule {
	return []brokenRule{
		{name: "a message has no reply", caught: "deliver/reply", breaks: replied(repliesNothing)},
		{name: "a message with replies passes the limits", caught: "deliver/reply-of-a-full-inbox", breaks: repliesWithoutLimits},
		{name: "the refusal of a sender that ends is lost", caught: "clean/reply-to-an-ended-sender", breaks: replied(forgetsLastReply)},
		{name: "replies and a refusal are given together", caught: "deliver/reply-or-refusal", breaks: replied(prefersReplies)},
	}
}

// replied changes the messages of commits that have replies.
func replied(change func(*provider.CommitTurnRequest, *provider.OutMessage)) func(*mutant) {
	return func(m *mutant) {
		m.commit.before(func(req *provider.CommitTurnRequest) {
			sends := append([]provider.OutMessage(nil), req.Sends...)
			for n := range sends {
				if sends[n].Replies != nil {
					change(req, &sends[n])
				}
			}
			req.Sends = sends
		})
	}
}

func repliesNothing(_ *provider.CommitTurnRequest, out *provider.OutMessage) { out.Replies = nil }

func prefersReplies(_ *provider.CommitTurnRequest, out *provider.OutMessage) { out.Refused = nil }

func forgetsLastReply(req *provider.CommitTurnRequest, out *provider.OutMessage) {
	if req.Status.Ended() {
		out.Replies = nil
	}
}

func repliesWithoutLimits(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitTurn) (provider.CommitTurnResult, error) {
		accepted := 0
		sends := append([]provider.OutMessage(nil), req.Sends...)
		for n := range sends {
			if sends[n].Replies != nil {
				sends[n].Replies = nil
				accepted++
			}
		}
		req.Sends = sends
		res, err := commit(ctx, req)
		for range accepted {
			_, _ = m.Provider.Send(ctx, provider.SendRequest{Key: req.Key, Message: replies().Accepted})
		}
		return res, err
	})
}
