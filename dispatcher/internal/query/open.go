package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/prefix"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/turn"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

const (
	// openTime is how long one replay of a reset or fork may take. It is a person's act, and the history may be long.
	openTime = 20 * time.Second
	// openTries is how often a reset or fork is computed anew because the instance went on meanwhile.
	openTries = 5
	// openQuery names the replays of resets and forks among leaks.
	openQuery = "perdure.open"
)

// opening is a reset or fork in progress.
type opening struct {
	*Queries

	request *history.Opening
	inst    *provider.Instance // the origin, as it was read last
	lost    bool               // a child that is not there does not come
}

// open resets or forks an instance. If ok is false, this node cannot, and others or a repeat may.
func (qs *Queries) open(ctx context.Context, inst *provider.Instance, request *history.Opening) (answer history.Answer, ok bool) {
	o := &opening{Queries: qs, request: request, inst: inst}
	for try := range openTries {
		if try > 0 {
			newer, err := qs.row(ctx, inst.Key)
			if err != nil {
				return o.refused(err)
			}
			o.lost = newer.Version == o.inst.Version
			o.inst = newer
		}
		answer, again, err := o.once(ctx)
		if err != nil {
			return o.refused(err)
		}
		if !again {
			return *answer, answer.Outcome != 0
		}
	}
	return history.Answer{Outcome: history.AnswerBusy, Message: fmt.Sprintf("it went on while its history was replayed, %d times", openTries)}, true
}

// refused returns the answer for an error of the storage.
func (o *opening) refused(err error) (history.Answer, bool) {
	outcome := history.AnswerRefused
	switch {
	case errors.Is(err, provider.ErrTooLarge):
		outcome = history.AnswerTooLarge
	case errors.Is(err, provider.ErrExists) && o.request.ForkID != "":
		outcome = history.AnswerTaken
	case errors.Is(err, provider.ErrExists), errors.Is(err, provider.ErrEnded):
		outcome = history.AnswerOver
	case errors.Is(err, history.ErrNewer), provider.Retryable(err), provider.OutcomeOf(err) != provider.OutcomeNothing:
		return history.Answer{}, false
	}
	return history.Answer{Outcome: outcome, Message: err.Error()}, true
}

// once makes one try. It returns again if the instance has changed since its row was read.
func (o *opening) once(ctx context.Context) (answer *history.Answer, again bool, err error) {
	if opened, err := o.done(ctx); opened != nil || err != nil {
		return opened, false, err
	}
	if why := o.precheck(ctx); why.Outcome != 0 {
		return &why, false, nil
	}
	values, err := o.values(ctx)
	if err != nil {
		return nil, false, err
	}
	p := o.plan(values)
	release := o.rebuildBudget.take(ctx, 2*o.inst.HistoryBytes)
	if release == nil {
		return &history.Answer{}, false, nil
	}
	defer release()
	if p.Events, err = o.turns.Read(ctx, o.inst); err != nil {
		return nil, false, err
	}
	if why := p.Check(); why != "" {
		return &history.Answer{Outcome: history.AnswerBadPoint, Message: why}, false, nil
	}
	bad, err := o.fill(ctx, p)
	if bad != nil || err != nil {
		return bad, false, err
	}
	return o.store(ctx, p)
}

func openedAs(key provider.UUID, execution int64) *history.Answer {
	return &history.Answer{Outcome: history.AnswerOpened, Opened: &history.Opened{Key: key, Execution: execution}}
}

// precheck returns why the instance cannot be reset or forked, as far as its row shows that.
func (o *opening) precheck(ctx context.Context) history.Answer {
	if o.inst.Execution != o.request.Execution {
		return history.Answer{Outcome: history.AnswerOver, Message: fmt.Sprintf(
			"execution %d is over, and %d is the current one: choose an event of that", o.request.Execution, o.inst.Execution)}
	}
	if reserved.ID(o.request.ForkID) || o.request.ForkID != "" && reserved.ID(o.request.RequestID) { // clients of older releases ask for it
		return history.Answer{Outcome: history.AnswerBadPoint, Message: fmt.Sprintf(
			"IDs and request IDs that begin with %s belong to perdure itself: choose another one", reserved.IDPrefix)}
	}
	if o.inst.HistoryLength == 0 {
		return history.Answer{Outcome: history.AnswerBadPoint, Message: "its code has not begun: there is nothing to go back to"}
	}
	if allowed := o.Config.Level.Current(ctx); allowed < replay.LevelOfHandlers {
		return history.Answer{Outcome: history.AnswerLevel, Message: fmt.Sprintf(
			"the store allows level %d, and what a reset or fork opens has level %d: upgrade all nodes, then run perdure upgrade --finish",
			allowed, replay.LevelOfHandlers)}
	}
	if why := o.leaks.refuses(kindOf(o.inst, openQuery)); why != "" {
		return history.Answer{Outcome: history.AnswerRefused, Message: why}
	}
	return history.Answer{}
}

// values returns the key-values of the instance.
func (o *opening) values(ctx context.Context) ([]provider.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	res, err := o.Store.Get(ctx, provider.GetRequest{Key: o.inst.Key, WithValues: true})
	return res.Values, err
}

func (o *opening) plan(values []provider.KeyValue) *prefix.Plan {
	origin := turn.InfoOf(o.inst)
	opens := origin
	opens.Execution++
	if o.request.ForkID != "" {
		opens.ID, opens.Key, opens.Execution, opens.ParentExecution = o.request.ForkID, o.request.ForkKey, 1, 0
	}
	return &prefix.Plan{
		Inst: o.inst, Values: values, Branch: replay.Branch{Origin: origin, New: opens, Event: o.request.Event, Opening: *o.request},
	}
}

// fill replays the prefix and completes the plan. bad is the answer if that cannot be done.
func (o *opening) fill(ctx context.Context, p *prefix.Plan) (bad *history.Answer, err error) {
	x, bad := o.replay(ctx, p.Branch.New, p.Open())
	if bad != nil && bad.Outcome == history.AnswerNotReplay { // the code may have acted by the identity of the origin
		first := bad // what differs for the identity that the code will have
		p.Branch.AsOrigin = true
		if x, bad = o.replay(ctx, p.Branch.New, p.Open()); bad != nil && bad.Outcome == history.AnswerNotReplay {
			bad = first
		}
	}
	if bad != nil {
		return bad, nil
	}
	defer o.discard(o.inst, openQuery, x)
	outcomes, err := p.Outcomes(ctx, x.View(), o.row, o.lost)
	if err != nil {
		return nil, err
	}
	p.Fill(x.View(), outcomes)
	p.Show(x.View().State(), func() *replay.State {
		whole, bad := o.replay(ctx, p.Branch.Origin, p.Events)
		if bad != nil {
			return nil
		}
		defer o.discard(o.inst, openQuery, whole)
		return new(whole.View().State())
	})
	p.Limit(max(o.Clock.Now(), o.inst.UpdatedAt))
	return nil, nil //nolint:nilnil // nothing is bad
}

// replay rebuilds an execution on a goroutine of its own. bad is the answer if that cannot be done. It has no outcome if nodes with newer
// code may do it.
func (o *opening) replay(ctx context.Context, info replay.Info, events []history.Event) (x *replay.Execution, bad *history.Answer) {
	x, ok := o.turns.New(o.inst, info)
	if !ok {
		return nil, &history.Answer{}
	}
	o.Count.QueriesCold.Add(1)
	c := o.start(o.inst, &history.Question{Name: openQuery}, x, events)
	c.limit = openTime
	if !c.wait(ctx, func() {}) {
		return nil, new(c.answer())
	}
	switch {
	case o.inst.Blocked == nil && c.olderCode():
		bad = &history.Answer{}
	case c.err != nil:
		bad = new(c.answer())
	default:
		return x, nil
	}
	o.discard(o.inst, openQuery, x)
	return nil, bad
}

// store stores a plan.
func (o *opening) store(ctx context.Context, p *prefix.Plan) (answer *history.Answer, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	if p.Fork() {
		res, err := o.Store.Fork(ctx, p.ForkInto(storage.NewToken()))
		if err != nil {
			return nil, false, err
		}
		o.Count.HeadersLeftOut.Add(int64(p.LeftOut))
		answer, err = o.isFork(ctx, &res.Instance)
		return answer, false, err
	}
	_, err = o.Store.Reset(ctx, p.Reset(storage.NewToken()))
	if errors.Is(err, provider.ErrConflict) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	o.Count.HeadersLeftOut.Add(int64(p.LeftOut))
	// A repeat of a call that seemed to fail may find the instance in a later execution.
	return openedAs(o.inst.Key, p.Branch.New.Execution), false, nil
}
