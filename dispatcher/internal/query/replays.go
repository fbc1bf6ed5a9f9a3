package query

import (
	"context"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// replays answers whether the history of an instance replays with the version of the code that the input of the question names. The
// output is the Version of the row at which it does. The instance itself stays as it is.
func (qs *Queries) replays(ctx context.Context, inst *provider.Instance, q *history.Question) (answer history.Answer, ok bool) {
	of := *inst
	of.CodeVersion = string(q.Input)
	if why := qs.leaks.refuses(kindOf(&of, q.Name)); why != "" {
		return history.Answer{Outcome: history.AnswerRefused, Message: why}, true
	}
	release := qs.rebuildBudget.take(ctx, of.HistoryBytes)
	if release == nil {
		return answer, false
	}
	x, events, ok, err := qs.turns.Rebuild(ctx, &of)
	if err != nil || !ok {
		release()
		if err == nil || forOthers(err) {
			return answer, false
		}
		return history.Answer{Outcome: history.AnswerNotReplay, Message: err.Error()}, true
	}
	c := qs.start(&of, q, x, events)
	if c.wait(ctx, release) {
		qs.discard(&of, q.Name, x)
	}
	if answer = c.answer(); answer.Outcome == history.Answered {
		answer.Output = of.Version[:]
	}
	return answer, true
}
