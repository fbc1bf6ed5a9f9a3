package query

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// call is one run of a handler on a goroutine of its own. For a rebuilt execution, that replays the history first.
type call struct {
	code

	queries *Queries
	x       *replay.Execution
	events  []history.Event // to replay first
	query   replay.Query
	err     error         // of the replay
	late    string        // why wait has given it up; "": it has not
	limit   time.Duration // of wait
}

// code is user code that a query runs on a goroutine of its own.
type code struct {
	inst      *provider.Instance
	query     string
	done      chan struct{} // closed when the goroutine has left user code
	abandoned atomic.Bool   // by the goroutine, or by those who wait for it, who were first then
	id        atomic.Uint64 // of the goroutine
}

// start runs the handler.
func (qs *Queries) start(inst *provider.Instance, q *history.Question, x *replay.Execution, events []history.Event) *call {
	c := &call{
		code:    code{inst: inst, query: q.Name, done: make(chan struct{})},
		queries: qs, x: x, events: events, limit: maxTime, query: replay.Query{Name: q.Name, Input: q.Input, After: q.After},
	}
	go c.run()
	return c
}

// run may be ended by code that calls Goexit.
func (c *call) run() {
	replayed := len(c.events) == 0
	defer func() {
		if panicked := recover(); panicked != nil {
			c.query.Spoiled, c.err = true, fmt.Errorf("engine panicked: %v\n%s", panicked, debug.Stack())
		}
		if !replayed && c.err == nil {
			c.err = errors.New("the replay ended by runtime.Goexit")
			if fault := c.x.View().Fault(); fault != nil {
				c.err = fault
			}
		}
		if !c.abandoned.CompareAndSwap(false, true) { // nobody else closes it
			c.queries.discard(c.inst, c.code.query, c.x)
		}
		close(c.done)
	}()
	c.id.Store(goroutine.ID())
	if len(c.events) > 0 {
		if c.query.Name == replay.QueryStack {
			c.x.NoteCallers()
		}
		c.err = c.x.Replay(c.events)
		replayed = true
	}
	if c.err == nil {
		c.x.Ask(&c.query)
	}
}

// wait waits for the answer until ctx is done, at most for the time of a query. If it returns false, the execution belongs to the
// goroutine, which may run for ever. wait calls release when the goroutine has left user code or is on the list of leaks.
func (c *call) wait(ctx context.Context, release func()) bool {
	timer := time.NewTimer(c.limit)
	late, leaked := "", false
	select {
	case <-c.done:
	case <-timer.C:
		late, leaked = fmt.Sprintf("it runs for at most %v", c.limit), true
	case <-ctx.Done():
		late = "it did not return while the client waited"
	}
	if late == "" || !c.abandoned.CompareAndSwap(false, true) {
		<-c.done
		timer.Stop()
		release()
		return true
	}
	c.late = late
	c.x.Probe().Abandon()
	if leaked {
		c.queries.leaks.add(&c.code)
		release()
		return false
	}
	c.queries.Work.Add()
	go c.awaitReturn(timer, release)
	return false
}

// awaitReturn waits for a handler whose asker waited no longer. It becomes a leak only when the time of a query is over.
func (c *call) awaitReturn(timer *time.Timer, release func()) {
	defer c.queries.Work.Done()
	defer timer.Stop()
	defer release()
	select {
	case <-c.done:
	case <-timer.C:
		c.queries.leaks.add(&c.code)
	}
}

// answer returns the answer. It is called after wait.
func (c *call) answer() history.Answer {
	switch {
	case c.late != "":
		return history.Answer{Outcome: history.AnswerTooSlow, Message: c.late}
	case c.err != nil:
		return history.Answer{Outcome: history.AnswerNotReplay, Message: c.err.Error()}
	}
	return c.query.Answer
}

// olderCode reports whether the history has a patch that the code of this node does not know, or was begun by code that a fallback of this node
// stands in for. Nodes with that code are there during a deploy, and answer. It is called after wait.
func (c *call) olderCode() bool {
	if c.late != "" { // the goroutine may write the error now
		return false
	}
	deviation, ok := errors.AsType[*replay.NonDeterminismError](c.err)
	return ok && deviation.Patch != "" || errors.Is(c.err, replay.ErrBegunElsewhere)
}

// discard unwinds an execution that nothing uses any more, in the background, because its deferred functions are user code. If they do not
// return in time, they are leaks of a query, and not of the node.
func (qs *Queries) discard(inst *provider.Instance, query string, x *replay.Execution) {
	if !x.View().Parked() {
		x.Close()
		return
	}
	c := &code{inst: inst, query: query, done: make(chan struct{})}
	qs.Work.Add()
	stop := time.AfterFunc(maxTime, func() {
		if c.abandoned.CompareAndSwap(false, true) {
			c.id.Store(x.Probe().Goroutine())
			qs.leaks.add(c)
			qs.Work.Done()
		}
	}).Stop
	go func() {
		x.Close()
		stop()
		close(c.done)
		if c.abandoned.CompareAndSwap(false, true) {
			qs.Work.Done()
		}
	}()
}

// forOthers reports whether a history cannot be read here and now, so that a later fetch of the question may answer it. A history that is gone is that
// of an old row: the instance was deleted, which ends the question, or is in another execution.
func forOthers(err error) bool {
	return errors.Is(err, history.ErrNewer) || errors.Is(err, history.ErrSealed) || errors.Is(err, provider.ErrNotFound) || provider.Retryable(err)
}
