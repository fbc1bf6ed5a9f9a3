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
		{name: "an accepted start has no message", caught: "deliver/start-accepted", breaks: starting(func(_ *provider.CommitTurnRequest, s *provider.Start) { s.Accepted = nil })},
		{name: "the repeat of a start is refused", caught: "deliver/start-accepted-again", breaks: starting(func(_ *provider.CommitTurnRequest, s *provider.Start) { s.Create.RequestID = "" })},
		{name: "a sender that ends is told of the start", caught: "clean/start-accepted-for-an-ended-sender", breaks: acceptsForEnded},
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

// starting changes the starts of commits.
func starting(change func(*provider.CommitTurnRequest, *provider.Start)) func(*mutant) {
	return func(m *mutant) {
		m.commit.before(func(req *provider.CommitTurnRequest) {
			starts := append([]provider.Start(nil), req.Starts...)
			for n := range starts {
				change(req, &starts[n])
			}
			req.Starts = starts
		})
	}
}

// acceptsForEnded has the dead letters of a sender that ends say that its start was accepted.
func acceptsForEnded(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		if !req.Status.Ended() || len(req.Starts) == 0 || req.Starts[0].Accepted == nil {
			return
		}
		req.Sends = append(append([]provider.OutMessage(nil), req.Sends...), provider.OutMessage{
			ID: "nobody", Message: *req.Starts[0].Accepted, Refused: req.Starts[0].Accepted,
		})
	})
}
