package orchestrationtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// queries answers each query a second time, from the history. It compares answers of executions in memory with that.
type queries struct {
	stored *stored

	mu   sync.Mutex
	open map[provider.UUID]*asked
}

// asked is a query that a node has taken.
type asked struct {
	instance provider.Instance // when it was taken
	question history.Question
}

// take notes a question that a node has taken.
func (q *queries) take(ctx context.Context, ask *provider.OpenAsk) {
	payload, err := q.stored.open(ctx, codec.Question, ask.Payload)
	if err != nil {
		return // the node cannot read it either
	}
	question, err := history.DecodeQuestion(payload)
	if err != nil || question.Open != nil || question.Rebuild || reserved.Name(ask.Instance.Name) {
		return
	}
	switch question.Name {
	case replay.QueryNames, replay.QueryStack, replay.QueryReplays: // of the engine
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = make(map[provider.UUID]*asked)
	}
	q.open[ask.AskID] = &asked{ask.Instance, question}
}

// compare returns an error if the answer of a node is not that of the history. The instance may have gone on since the node answered.
func (q *queries) compare(ctx context.Context, by code, answer *provider.AnswerRequest) error {
	q.mu.Lock()
	a := q.open[answer.AskID]
	delete(q.open, answer.AskID)
	q.mu.Unlock()
	payload, err := q.stored.open(ctx, codec.Answer, answer.Payload)
	if errors.Is(err, errCodecDown) {
		return nil
	}
	var got history.Answer
	if err == nil {
		got, err = history.DecodeAnswer(payload)
	}
	if err != nil || a == nil || got.Outcome != history.Answered {
		return err
	}
	f, err := q.stored.history(ctx, a.instance.Key, 0)
	switch {
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrMoved), errors.Is(err, errCodecDown): // the test has removed it since
		return nil
	case err != nil:
		return fmt.Errorf("a history cannot be read: %w", err)
	case f.Execution != a.instance.Execution: // the one that was asked has ended
		return nil
	}
	var last history.Answer
	for length := int64(len(f.Events)); length >= max(a.instance.HistoryLength, 1); length-- {
		again, replays := q.again(ctx, by, f, length, &a.question)
		if replays && again.Outcome == history.Answered && bytes.Equal(again.Output, got.Output) {
			return nil
		}
		if length == int64(len(f.Events)) {
			last = again
		}
	}
	return fmt.Errorf("a query was answered twice, and the second answer differs: the handler of %s must read variables of the code only: "+
		"instance %q answers %s, and its history %s", check.Quote(a.question.Name), a.instance.ID, got.Output, told(&last))
}

// again answers a query from so many events of a history. It reports false if they do not replay.
func (q *queries) again(ctx context.Context, by code, f client.HistoryFile, length int64, question *history.Question) (history.Answer, bool) {
	query := replay.Query{Name: question.Name, Input: question.Input, After: question.After}
	settings, replays := *by.settings, false
	settings.Replayed = func(x *replay.Execution) {
		replays = true
		x.Ask(&query)
	}
	f.Events = f.Events[:length]
	err := runtime.Replay(bubble.With(ctx, &settings), by.registry, f)
	return query.Answer, replays && err == nil
}

// told describes an answer.
func told(a *history.Answer) string {
	if a.Outcome == history.Answered {
		return string(a.Output)
	}
	if a.Failure != nil {
		return "the error " + a.Failure.Message
	}
	return "has none: " + a.Message
}
