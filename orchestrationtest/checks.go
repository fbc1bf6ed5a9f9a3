package orchestrationtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// mostAttempts is how often a test may try one activity, or one turn.
const mostAttempts = 10_000

// checks look at what is stored, and fail the run for what no test wants.
type checks struct {
	ctx      context.Context //nolint:containedctx // of the run, for calls that outlive the call of the store
	outcome  *outcome
	nodes    *nodes
	repeats  *repeats
	queries  *queries
	timeline *timeline
	once     bool // turns are not repeated

	allowBlocked atomic.Bool
	lastChange   atomic.Int64   // of instances, in nanoseconds
	working      sync.WaitGroup // what runs beside the calls of the store

	mu          sync.Mutex
	failedTurns map[provider.UUID]int
	covered     map[any]bool // orchestrations and activities that a substitute of all versions or a fallback runs, since code has called them
}

func (c *checks) beforeCreate() error { return c.nodes.begin(c.ctx) }

func (c *checks) changed() { c.lastChange.Store(time.Now().UnixNano()) }

func (c *checks) owners() map[string]bool { return c.nodes.names() }

func (c *checks) needs(of provider.Capability) {
	if reserved.Name(of.Name) || c.nodes.runs(of) || c.nodes.none() { // what the next node can run is not known yet
		return
	}
	o, ok := c.nodes.substitute(of.Name)
	if !ok {
		o, ok = c.nodes.fallback(of)
	}
	if ok {
		o.CodeVersion, o.Every = of.CodeVersion, false
		c.cover(of, func(s *bubble.Settings) { s.Orchestrations = append(s.Orchestrations, o) })
		return
	}
	version := ""
	if of.CodeVersion != "" {
		version = fmt.Sprintf(" in version %q", of.CodeVersion)
	}
	c.outcome.fail(fmt.Sprintf("orchestration %s%s is neither registered nor replaced: add it with AddOrchestration or to Env.Registry, or replace it "+
		"with Replace", check.Quote(of.Name), version))
}

// cover lets the nodes run what is known only since code has called it. The call of the store that tells of it must not wait for another node.
func (c *checks) cover(of any, add func(s *bubble.Settings)) {
	c.mu.Lock()
	known := c.covered[of]
	c.covered[of] = true
	c.mu.Unlock()
	if known {
		return
	}
	c.working.Go(func() {
		if err := c.nodes.change(c.ctx, add); err != nil {
			c.outcome.fail(fmt.Sprintf("running %v, which code has called: %v", of, err))
		}
	})
}

func (c *checks) needsActivity(name bubble.Name) {
	if reserved.Name(name.Name) || c.nodes.serves(name) {
		return
	}
	if a, ok := c.nodes.activityFallback(name); ok {
		c.cover(name, func(s *bubble.Settings) { s.Activities = append(s.Activities, a) })
		return
	}
	c.outcome.fail(fmt.Sprintf("activity %s of queue %s is neither registered nor replaced: add it with AddActivity or to Env.Registry, or replace "+
		"it with Replace; OnQueue names the queue", check.Quote(name.Name), check.Quote(name.Queue)))
}

func (c *checks) committed(ctx context.Context, by *node, key provider.UUID, execution, length int64, over bool) {
	if c.once || by == nil {
		return
	}
	err := c.repeats.repeat(context.WithoutCancel(ctx), by.code, executionKey{key, execution}, length, over)
	_, differs := errors.AsType[*runtime.ReplayError](err)
	switch {
	case err == nil, errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrMoved): // the test has removed it since
	case errors.Is(err, errCodecDown): // a later turn is replayed with this one
	case differs:
		c.outcome.fail(fmt.Sprintf("a turn was run twice, and the second run differs: the code of an orchestration must do the same each time: %v", err))
	default:
		c.outcome.fail(fmt.Sprintf("a history cannot be replayed: %v", err))
	}
}

// asked implements observer.
func (c *checks) asked(ctx context.Context, ask *provider.OpenAsk) { c.queries.take(ctx, ask) }

// answered implements observer.
func (c *checks) answered(ctx context.Context, by *node, answer *provider.AnswerRequest) {
	if c.once {
		return
	}
	if err := c.queries.compare(context.WithoutCancel(ctx), by.code, answer); err != nil {
		c.outcome.fail(err.Error())
	}
}

// blocked fails the test beside the call of the store, which holds up the node.
func (c *checks) blocked(key provider.UUID, failure *provider.TurnFailure) {
	if c.allowBlocked.Load() {
		c.mu.Lock()
		c.failedTurns[key]++
		n := c.failedTurns[key]
		c.mu.Unlock()
		if n == mostAttempts {
			c.endless(fmt.Sprintf("An instance has failed in %d turns: what blocks it must end.", n))
		}
		return
	}
	c.working.Go(func() {
		ctx := context.WithoutCancel(c.ctx)
		what := &client.BlockedError{Key: key, Blocked: client.Blocked{Reason: failure.Reason, Message: failure.Message, Count: 1, Since: time.Now()}}
		if d, err := client.HandleOf[any](c.repeats.stored.client, "", key).Describe(ctx); err == nil && d.Blocked != nil {
			what.ID, what.Blocked = d.ID, *d.Blocked
		}
		c.outcome.fail(c.timeline.text(ctx, fmt.Sprintf("An instance is blocked at %s; Env.AllowBlocked allows that: %v",
			c.timeline.moment(time.Now()), what)))
	})
}

// retried implements observer.
func (c *checks) retried(report *provider.TaskReport) {
	if report.Attempt == mostAttempts {
		c.endless(fmt.Sprintf("An activity has failed in attempt %d, and is tried again: give its retry policy an end, or let it succeed.", report.Attempt))
	}
}

// late implements observer.
func (c *checks) late() {
	c.endless("The time limit of the test binary is near (see -timeout), and something is always due: a retry, a timer, a schedule or a heartbeat.")
}

// abandoned implements observer.
func (c *checks) abandoned() {
	c.outcome.end()
	c.outcome.cancel(errors.New("orchestrationtest: the test has ended without this code"))
}

// endless fails a test that would not end by itself.
func (c *checks) endless(head string) {
	c.working.Go(func() {
		ctx := context.WithoutCancel(c.ctx)
		c.outcome.fail(c.timeline.text(ctx, fmt.Sprintf("%s This is %s.", head, c.timeline.moment(time.Now()))))
	})
}

// nothingLeft fails the test because it has waited for too long.
func (c *checks) nothingLeft() {
	last := time.Unix(0, c.lastChange.Load())
	head := fmt.Sprintf("Nothing can happen any more since %s: no code runs, and nothing is due.", c.timeline.moment(last))
	if time.Since(last) < longestWait/2 {
		head = fmt.Sprintf("The test has waited for %d years, while other work went on.", int(longestWait.Hours()/24/365))
	}
	c.outcome.fail(c.timeline.text(context.WithoutCancel(c.ctx), head))
}
