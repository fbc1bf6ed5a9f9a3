package query

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// report tells the Observer of an answer.
func (qs *Queries) report(inst *provider.Instance, q *history.Question, answer *history.Answer, began time.Time) {
	if !qs.Watch.On() || q.Open != nil || q.Name == replay.QueryReplays {
		return
	}
	now, outcome := time.Now(), observe.Rejected
	switch answer.Outcome {
	case history.Answered:
		outcome = observe.Completed
	case history.AnswerFailed, history.AnswerPanicked, history.AnswerTooSlow:
		outcome = observe.Failed
	}
	qs.Watch.Report(observe.Event{
		Kind: observe.Query, At: now, Took: now.Sub(began), Instance: inst.ID, Key: inst.Key, Execution: inst.Execution,
		Orchestration: inst.Name, Version: inst.CodeVersion, Name: q.Name, Outcome: outcome,
	})
}
