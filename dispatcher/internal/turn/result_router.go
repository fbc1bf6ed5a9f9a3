package turn

import (
	"context"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/provider"
)

// A result waits for its execution for handOffTimeout, then goes to the inbox. While a turn of the execution is being committed it may wait
// for commitTimeout in all. Under load commits take longer, and every result in the inbox costs a report and a message more.
const (
	handOffTimeout = 50 * time.Millisecond
	commitTimeout  = time.Second
)

// resultRouter delivers results to executions.
type resultRouter struct {
	*core.Node

	actors   *actors
	attempts attempts
}

// take delivers a result to the cached execution or to the inbox, and ends its attempt. It returns the actor that the caller has to drive;
// nil: none. The result of a redelivered task goes to the inbox, because a turn that kills its node must be counted.
func (rr *resultRouter) take(working context.Context, r *task.Result) (next *actor) {
	if r == nil {
		return nil
	}
	a := r.Attempt
	defer rr.attempts.Over(a)
	r.ArrivedAt = time.Now()
	taken, idle := false, (*actor)(nil)
	if a.Deliveries == 1 && rr.Accepting() && !rr.Config.Off.Has(fastpath.FastTurn) {
		taken, idle = rr.actors.enlist(a.Ref.Key, job{result: r}, false)
	}
	switch {
	case !taken:
		rr.attempts.ToInbox(working, r)
	case idle == nil:
		rr.startTimeout(working, r)
	}
	return idle
}

// startTimeout starts the timeout of a waiting result. If a turn has begun with the result, a late timer does nothing.
func (rr *resultRouter) startTimeout(working context.Context, r *task.Result) {
	r.Timeout.Store(time.AfterFunc(handOffTimeout, func() { rr.timedOut(working, r) }))
}

// timedOut sends a result that has waited long enough to the inbox.
func (rr *resultRouter) timedOut(working context.Context, r *task.Result) {
	switch rr.actors.withdraw(r.Attempt.Ref.Key, r) {
	case withdrawn:
		rr.giveBack(working, []*task.Result{r})
	case committing:
		rr.startTimeout(working, r)
	case begun:
	}
}

// giveBack sends results to the inbox, each on its own goroutine, because the storage may be slow.
func (rr *resultRouter) giveBack(working context.Context, results []*task.Result) {
	for _, r := range results {
		rr.Work.Add()
		go func() {
			defer rr.Work.Done()
			rr.attempts.ToInbox(working, r)
		}()
	}
}

// refuse ends jobs that no actor will do. It releases turns and sends results to the inbox.
func (rr *resultRouter) refuse(working context.Context, jobs []job) {
	for _, j := range jobs {
		if j.result != nil {
			rr.giveBack(working, []*task.Result{j.result})
			continue
		}
		rr.Store.Release(working, provider.TurnRelease{Key: j.turn.Instance.Key, Token: j.token})
		if j.suspect {
			rr.Suspects.Done()
		}
	}
}
