package query

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/turn"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

const (
	// maxTime is how long one query may take: reading and replaying the history, if it must be, and the handler.
	maxTime = 2 * time.Second
	// lease is how long a fetched question is hidden from other nodes. A question whose node died goes to another one.
	lease = 5 * time.Second
	// maxQueries bounds the questions that a node handles at the same time. The others stay in the store.
	maxQueries = 64
	// maxRebuilds and maxRebuildBytes bound the executions that are rebuilt at the same time, and their stored histories.
	maxRebuilds     = 8
	maxRebuildBytes = 64 << 20
)

// Queries answers the questions of a node.
type Queries struct {
	*core.Node

	turns         *turn.Turns
	all           *flow.Slots // of fetched questions
	rebuildBudget budget      // of rebuilt executions
	leaks         leaks
}

// New returns the queries of a node.
func New(n *core.Node, turns *turn.Turns) *Queries {
	return &Queries{
		Node: n, turns: turns, all: flow.NewSlots(maxQueries), rebuildBudget: newBudget(maxRebuilds, maxRebuildBytes),
		leaks: newLeaks(n.Config.Logger),
	}
}

// Loop fetches questions and answers them. It ends at once if the store carries none.
func (qs *Queries) Loop(fetching, working context.Context) {
	req := provider.FetchAsksRequest{
		EngineLevel: replay.EngineLevel, Lease: lease, Wait: provider.MaxWait, Owner: qs.Config.Owner,
	}
	taken := qs.Config.Fallbacks.Now()
	req.Capabilities = append(qs.Config.Capabilities(), taken.Questions()...)
	for failures := 0; ; {
		n, err := qs.all.TakeUpTo(fetching, storage.MaxFetch)
		if err != nil {
			return
		}
		qs.all.Release(n)
		if now := qs.Config.Fallbacks.Now(); now != taken {
			taken, req.Capabilities = now, append(qs.Config.Capabilities(), now.Questions()...)
		}
		req.Max = n
		waiting, stop := qs.Config.Fallbacks.Until(fetching, taken)
		res, err := qs.fetch(waiting, req)
		other := errors.Is(context.Cause(waiting), fallback.ErrOther)
		stop()
		if err != nil && other {
			continue // a question that it may have taken is asked again
		}
		if err == nil {
			failures = 0
			qs.take(working, res.Asks)
			continue
		}
		failures++
		if errors.Is(err, errors.ErrUnsupported) || !qs.Store.FetchAgain(fetching, "fetch questions", failures, err, func() {}) {
			return
		}
	}
}

func (qs *Queries) fetch(fetching context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	ctx, cancel := storage.Waiting(fetching, provider.MaxWait)
	defer cancel()
	res, err := qs.Store.FetchAsks(ctx, req)
	if err == nil && len(res.Asks) > 0 {
		qs.Clock.Set(res.Now)
	}
	return res, err
}

// take answers fetched questions, each on a goroutine of its own. Without a free slot a question waits for its lease to expire.
func (qs *Queries) take(working context.Context, asks []provider.OpenAsk) {
	for i := range asks {
		ask := &asks[i]
		if !qs.all.TryTake() {
			return
		}
		qs.Work.Add()
		go func() {
			defer qs.Work.Done()
			defer qs.all.Release(1)
			qs.serve(working, ask)
		}()
	}
}

// serve answers a fetched question. One that this node cannot answer is left to others: its asker waits.
func (qs *Queries) serve(working context.Context, ask *provider.OpenAsk) {
	q, err := history.DecodeQuestion(ask.Payload)
	if err != nil {
		qs.Config.Faults.Note(err)
		qs.Config.Logger.Warn("question cannot be read", "instance", ask.Instance.ID, "err", err)
		return
	}
	limit := time.Duration(q.Limit) * time.Microsecond
	ctx, cancel := context.WithTimeout(working, limit)
	defer cancel()
	began := time.Now()
	answer, ok := qs.answer(ctx, &ask.Instance, &q)
	if !ok {
		return
	}
	qs.Count.QueriesAnswered.Add(1)
	req := provider.AnswerRequest{AskID: ask.AskID, Payload: history.EncodeAnswer(answer)}
	for failures := 1; ; failures++ {
		call, cancel := context.WithTimeout(working, storage.CallTimeout)
		err := qs.Store.Answer(call, req)
		cancel()
		if errors.Is(err, provider.ErrTooLarge) && answer.Outcome != history.AnswerTooLarge {
			answer = history.Answer{Outcome: history.AnswerTooLarge, Message: err.Error()}
			req.Payload = history.EncodeAnswer(answer)
			continue
		}
		if err == nil {
			qs.report(&ask.Instance, &q, &answer, began)
		}
		if err == nil || storage.Refused(err) { // the asker has gone, or another node was faster
			return
		}
		qs.Store.Failed("answer question", failures, err)
		if !storage.Pause(ctx, storage.Backoff(failures)) {
			return
		}
	}
}

// AnswerCached answers a question of a client in this process from the cache, with one read of the row and no write. If ok is false, the
// client asks through the store.
func (qs *Queries) AnswerCached(ctx context.Context, key provider.UUID, q *history.Question) (answer history.Answer, ok bool) {
	if qs.Stopping.Load() || rebuilds(q) || !qs.turns.Holds(key) {
		return answer, false
	}
	qs.Work.Add()
	defer qs.Work.Done()
	began := time.Now()
	inst, err := qs.row(ctx, key)
	if err != nil {
		return answer, false
	}
	if answer, ok = qs.precheck(inst, q); !ok {
		answer, ok = qs.cached(ctx, inst, q)
	}
	if answer.Outcome == history.AnswerTooSlow && errors.Is(ctx.Err(), context.Canceled) {
		return answer, false // the caller wants no answer any more
	}
	if ok {
		qs.Count.QueriesAnswered.Add(1)
		qs.report(inst, q, &answer, began)
	}
	return answer, ok
}

// answer answers a question to an instance whose row was read after the question was asked. If ok is false, this node cannot answer it.
func (qs *Queries) answer(ctx context.Context, inst *provider.Instance, q *history.Question) (answer history.Answer, ok bool) {
	if q.Name == replay.QueryReplays {
		return qs.replays(ctx, inst, q)
	}
	if q.Open != nil {
		return qs.open(ctx, inst, q.Open)
	}
	if answer, ok = qs.precheck(inst, q); ok {
		return answer, true
	}
	if !rebuilds(q) {
		if answer, ok = qs.cached(ctx, inst, q); ok {
			return answer, true
		}
	}
	return qs.rebuilt(ctx, inst, q)
}

// rebuilds reports whether the question must not be answered from the cache. Only a rebuilt execution notes callers.
func rebuilds(q *history.Question) bool {
	return q.Rebuild || q.Name == replay.QueryStack || q.Name == replay.QueryReplays || q.Open != nil
}

// precheck returns the answer of questions that need no execution.
func (qs *Queries) precheck(inst *provider.Instance, q *history.Question) (answer history.Answer, ok bool) {
	if b := inst.Blocked; b != nil && (!q.EvenBlocked || inst.HistoryLength == 0) {
		return history.Answer{Outcome: history.AnswerBlocked, Blocked: &history.Held{
			Reason: b.Reason, Message: b.Message, Count: b.Count, Since: int64(b.Since), RetryAt: int64(b.RetryAt),
		}}, true
	}
	if inst.HistoryLength == 0 {
		return history.Answer{Outcome: history.AnswerNotBegun}, true
	}
	if why := qs.leaks.refuses(kindOf(inst, q.Name)); why != "" {
		return history.Answer{Outcome: history.AnswerRefused, Message: why}, true
	}
	return answer, false
}

// patience is how long a query waits for the turns of its instance. After that it is answered from the history, which needs no turn to
// end.
const patience = 100 * time.Millisecond

// versionTries is how often the row is read when the cached execution is at another version.
const versionTries = 3

// cached answers from the cached execution, if that is at the version that is stored. One of an overtaken node is not.
func (qs *Queries) cached(ctx context.Context, inst *provider.Instance, q *history.Question) (answer history.Answer, ok bool) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range versionTries {
		l := qs.turns.Checkout(waiting, inst.Key)
		if l == nil {
			return answer, false
		}
		if l.Version == inst.Version && l.X.View().Info().Execution == inst.Execution {
			return qs.askCached(ctx, l, inst, q), true
		}
		qs.turns.Return(l)
		// The node may have committed since the row was read.
		newer, err := qs.row(ctx, inst.Key)
		if err != nil || newer.Version == inst.Version {
			return answer, false
		}
		*inst = *newer
	}
	return answer, false
}

// askCached asks the cached execution, and gives it back unless it is spoiled.
func (qs *Queries) askCached(ctx context.Context, l *turn.Checkout, inst *provider.Instance, q *history.Question) history.Answer {
	c := qs.start(inst, q, l.X, nil)
	switch {
	case !c.wait(ctx, func() {}):
		qs.turns.Discard(l)
	case c.query.Spoiled:
		qs.turns.Discard(l)
		qs.discard(inst, q.Name, l.X)
	default:
		qs.turns.Return(l)
	}
	return c.answer()
}

// rebuilt answers from an execution that is rebuilt from the history and thrown away.
func (qs *Queries) rebuilt(ctx context.Context, inst *provider.Instance, q *history.Question) (answer history.Answer, ok bool) {
	release := qs.rebuildBudget.take(ctx, inst.HistoryBytes)
	if release == nil {
		return answer, false
	}
	x, events, ok, err := qs.turns.Rebuild(ctx, inst)
	if err != nil || !ok {
		release()
		if err == nil || forOthers(err) {
			return answer, false
		}
		return history.Answer{Outcome: history.AnswerNotReplay, Message: err.Error()}, true
	}
	qs.Count.QueriesCold.Add(1)
	c := qs.start(inst, q, x, events)
	if c.wait(ctx, release) { // a leak counts no more
		qs.discard(inst, q.Name, x)
	}
	if inst.Blocked == nil && c.olderCode() {
		return answer, false
	}
	answer = c.answer()
	switch ended := inst.Status.Ended(); {
	case ended && answer.Outcome == history.AnswerNotYet:
		answer.Outcome = history.AnswerEnded
	case ended && answer.Outcome == history.AnswerNotBegun:
		answer = history.Answer{Outcome: history.AnswerUnknown, Message: "the instance ended before its code began"}
	}
	return answer, true
}
