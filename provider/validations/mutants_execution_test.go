package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenExecution() []brokenRule {
	return []brokenRule{
		{name: "events are numbered on in the next execution", caught: "execution/opens-next", breaks: numbersOn},
		{name: "the next execution keeps its name", caught: "execution/renames", breaks: continues(keepsName)},
		{name: "the history of a continued execution is gone", caught: "execution/old-history", breaks: hidesContinued},
		{name: "timers ring in the next execution", caught: "execution/removes-work", breaks: keepsTimers},
		{name: "continuing consumes all messages", caught: "execution/messages-stay", breaks: consumesOnContinuing},
		{name: "the message to the next execution is lost", caught: "execution/own-message", breaks: continues(losesNextMessage)},
		{name: "a commit of an old execution is stored with the current one", caught: "execution/old-execution-is-fenced", breaks: storesWith(earlierExecution)},
		{name: "a repeated continuation is a conflict", caught: "execution/same-commit-again", breaks: forgetsCommits(continuesExecution)},
	}
}

// continues changes how executions continue as new.
func continues(change func(*provider.NextExecution)) func(*mutant) {
	return commits(func(req *provider.CommitTurnRequest) {
		if req.Next != nil {
			changed := *req.Next
			change(&changed)
			req.Next = &changed
		}
	})
}

func keepsName(n *provider.NextExecution) { n.Name = "" }

func losesNextMessage(n *provider.NextExecution) { n.Message = nil }

func earlierExecution(i provider.Instance, req *provider.CommitTurnRequest) {
	req.Execution = max(req.Execution, i.Execution)
}

func continuesExecution(req provider.CommitTurnRequest) bool { return req.Next != nil }

func numbersOn(m *mutant) {
	m.history.after(func(req provider.ReadHistoryRequest, res *provider.ReadHistoryResult, _ *error) {
		before, err := m.Provider.ReadHistory(context.Background(), provider.ReadHistoryRequest{Key: req.Key, Execution: res.Execution - 1, From: 1})
		for n := range res.Events {
			if err == nil && before.Status == provider.StatusContinuedAsNew {
				res.Events[n].ID += before.Length
			}
		}
	})
}

func hidesContinued(m *mutant) {
	m.history.after(func(_ provider.ReadHistoryRequest, res *provider.ReadHistoryResult, err *error) {
		if res.Status == provider.StatusContinuedAsNew {
			*res, *err = provider.ReadHistoryResult{}, provider.ErrNotFound
		}
	})
}

// keepsTimers sends the timers of an execution to the next one.
func keepsTimers(m *mutant) {
	var timers sync.Map
	committed(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult) {
		if len(req.Timers) > 0 {
			timers.Store(req.Key, req.Timers)
		}
		kept, _ := timers.Load(req.Key)
		list, _ := kept.([]provider.Timer)
		for _, t := range list {
			if req.Next != nil {
				message := provider.NewMessage{Kind: t.Kind, EventID: t.EventID, Payload: t.Payload}
				_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: req.Key, Message: message})
			}
		}
	})(m)
}

func consumesOnContinuing(m *mutant) {
	commits(func(req *provider.CommitTurnRequest) {
		if req.Next == nil || len(req.Next.Events) == 0 {
			return
		}
		req.Consumed = nil
		for _, message := range m.inbox(context.Background(), req.Key) {
			req.Consumed = append(req.Consumed, message.ID)
		}
	})(m)
}
