package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenClose() []brokenRule {
	return []brokenRule{
		{name: "a close that consumes nothing passes over waiting messages", caught: "close/waiting-message", breaks: closesOver(isVisible)},
		{name: "a close passes over messages that are not visible", caught: "close/invisible-message", breaks: closesOver(isInvisible)},
		{name: "a timer keeps an instance open", caught: "close/timers-excepted", breaks: countsTimers(closesInstance)},
		{name: "continuing with an empty history counts as a close", caught: "close/continuing-is-not-closing", breaks: countsTimers(continuesEmpty)},
		{name: "a dead letter forgets its event", caught: "close/dead-letters", breaks: forgetsLetters},
		{name: "tasks stay after a close", caught: "close/removes-work", breaks: keepsTasks},
		{name: "an ended instance has no end time", caught: "close/result", breaks: gets(forgetsEnd)},
		{name: "a cancelled instance is stored as failed", caught: "close/statuses", breaks: commits(failsTheCancelled)},
	}
}

// closesOver drops the inbox when a commit closes it that consumes nothing.
func closesOver(drops func(i provider.Instance, message provider.MessageRow) bool) func(*mutant) {
	return func(m *mutant) {
		commits(func(req *provider.CommitTurnRequest) {
			if !req.Status.Ended() || len(req.Consumed) > 0 || req.CloseInbox != "" {
				return
			}
			i := m.stored(context.Background(), req.Key)
			for _, message := range m.inbox(context.Background(), req.Key) {
				if drops(i, message) {
					req.Consumed = append(req.Consumed, message.ID)
				}
			}
		})(m)
	}
}

func isVisible(i provider.Instance, message provider.MessageRow) bool {
	return message.VisibleAt < i.UpdatedAt.Add(long/2)
}

func isInvisible(i provider.Instance, message provider.MessageRow) bool {
	return !isVisible(i, message)
}

// countsTimers counts timers, and all messages that some commits do not name, as waiting messages of a closing commit.
func countsTimers(closes func(provider.CommitTurnRequest) bool) func(*mutant) {
	return func(m *mutant) {
		m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
			i := m.stored(ctx, req.Key)
			if closes(req) && req.CloseInbox == "" && i.Version == req.Expected && i.InboxMessages > int64(len(req.Consumed)) {
				return provider.CommitTurnResult{}, provider.ErrInboxNotEmpty
			}
			return commit(ctx, req)
		})
	}
}

func continuesEmpty(req provider.CommitTurnRequest) bool {
	return req.Next != nil && len(req.Next.Events) == 0
}

func forgetsLetters(m *mutant) {
	m.letters.after(func(_ provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		for n := range res.Letters {
			if !res.Letters[n].Task {
				res.Letters[n].EventID = 0
			}
		}
	})
}

// keepsTasks shows the tasks that an instance had before it was closed.
func keepsTasks(m *mutant) {
	var kept sync.Map
	commits(func(req *provider.CommitTurnRequest) {
		res, _ := m.Provider.Get(context.Background(), provider.GetRequest{Key: req.Key, WithTasks: true})
		if req.Status.Ended() && !res.Instance.Status.Ended() {
			kept.Store(req.Key, res.Tasks)
		}
	})(m)
	m.get.after(func(req provider.GetRequest, res *provider.GetResult, _ *error) {
		if tasks, ok := kept.Load(res.Instance.Key); ok && req.WithTasks {
			res.Tasks, _ = tasks.([]provider.TaskInfo)
		}
	})
}

func forgetsEnd(i *provider.Instance) { i.EndedAt = 0 }

func failsTheCancelled(req *provider.CommitTurnRequest) {
	if req.Status == provider.StatusCancelled {
		req.Status = provider.StatusFailed
	}
}
