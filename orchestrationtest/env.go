package orchestrationtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// longestWait is how much virtual time may pass between two steps of the test itself.
const longestWait = 50 * 365 * 24 * time.Hour

// Env is the engine of one test: a store in memory, a node and a client, in virtual time. Use it only inside of the function that
// [Run] calls, and in functions given to [Env.After]. Several goroutines may use it at once.
//
// The node starts with the first instance, or with a call of [Env.Client]. What is registered or replaced later starts another node, and the
// one before takes no more work.
type Env struct {
	t        *testing.T      // of the bubble
	ctx      context.Context //nolint:containedctx // it is the test's
	cancel   context.CancelCauseFunc
	registry *runtime.Registry
	client   *client.Client
	store    *store
	stored   *stored
	nodes    *nodes
	checks   *checks
	outcome  *outcome
	real     bool          // the test runs in real time
	limit    *time.Timer   // fires when little time is left; nil: never
	sentinel *time.Timer   // fires when nothing can happen
	resting  chan struct{} // has one place: only one goroutine of a bubble at a time may call synctest.Wait

	mu       sync.Mutex // for moments only: a mutex stops the clock
	over     bool
	timers   map[*time.Timer]struct{} // of After
	expected []func() error
	running  sync.WaitGroup // functions given to After
}

// newEnv makes the engine of a test. Its node has not started.
func newEnv(t *testing.T, a *alarm, s settings) (*Env, error) {
	t.Helper()
	e := &Env{t: t, real: s.real(), registry: runtime.NewRegistry(), timers: make(map[*time.Timer]struct{}), resting: make(chan struct{}, 1)}
	e.store = newStore(s.storage(), !s.timers, a)
	e.ctx, e.cancel = context.WithCancelCause(t.Context())
	if !s.timers {
		e.ctx = bubble.With(e.ctx, &bubble.Settings{Changes: e.store.changes})
	}
	e.outcome = &outcome{t: t, cancel: e.cancel, failed: make(chan struct{}), alarm: a}
	logger := slog.New(slog.NewTextHandler(log{e.outcome}, nil))
	e.nodes = newNodes(e.store, e.registry, logger, &s)
	for _, change := range s.options.nodes {
		change(&e.nodes.options)
	}
	opts := client.Options{
		Logger: logger, Errors: e.registry.Errors(), Propagators: e.nodes.options.Propagators, Observer: e.nodes.options.Observer,
		Codec: e.nodes.options.Codec,
	}
	for _, change := range s.options.clients {
		change(&opts)
	}
	var err error
	if e.client, err = client.New(e.store, opts); err != nil {
		return nil, err
	}
	if e.stored, err = newStored(e.store, e.client, opts, e.nodes.options.Codec); err != nil {
		return nil, err
	}
	again := &repeats{stored: e.stored, codes: e.nodes.codes}
	e.checks = &checks{
		ctx: e.ctx, outcome: e.outcome, nodes: e.nodes, repeats: again, queries: &queries{stored: e.stored},
		timeline: &timeline{repeats: again, began: time.Now()}, once: s.once,
		failedTurns: make(map[provider.UUID]int), covered: make(map[any]bool),
	}
	e.store.observer = e.checks
	e.checks.changed()
	e.sentinel = time.AfterFunc(longestWait, e.stuck)
	if e.real { // in a bubble the watch looks
		if deadline, ok := t.Deadline(); ok {
			left := time.Until(deadline)
			e.limit = time.AfterFunc(left-realMargin(left), e.checks.late)
		}
	}
	return e, nil
}

// Context returns the context of the test. It ends when the test fails or is over. Give it to the methods of handles and clients: other
// contexts work, too, and do not end when the test fails.
func (e *Env) Context() context.Context { return e.ctx }

// Client returns the client of the store. It starts, finds and steers instances as that of a service does. A call also starts the node if
// something is registered: updates and schedules need a node that has started.
func (e *Env) Client() *client.Client {
	_ = e.nodes.begin(e.ctx) // the first instance tries it again, and fails the test
	return e.client
}

// Registry returns the registry of the node, for functions that register all of a service: see [runtime.AddOrchestration] and
// [runtime.AddActivity]. Fill it before the node starts. What it refuses fails the test then.
func (e *Env) Registry() *runtime.Registry { return e.registry }

// AllowBlocked lets instances be blocked. Without it the first one that is fails the test. Wait still returns a [client.BlockedError].
func (e *Env) AllowBlocked() { e.checks.allowBlocked.Store(true) }

// After calls fn on a goroutine of its own when d of virtual time has passed and all else that is due at that moment has come to rest, unless
// the test is over by then. So fn sees what activities have written into variables of the test before. An error that it returns fails the test.
//
// In real time it does not wait for anything to come to rest: see [RunRealTime].
//
// Functions of one moment begin one after the other. Use [Env.Sleep] in place of synctest.Wait: a bubble allows one call at a time.
func (e *Env) After(d time.Duration, fn func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		e.mu.Lock()
		_, pending := e.timers[timer]
		delete(e.timers, timer)
		if pending {
			e.running.Add(1)
		}
		e.mu.Unlock()
		if pending {
			defer e.running.Done()
			e.rest()
			e.step(d, fn)
		}
	})
	e.timers[timer] = struct{}{}
}

// rest returns when all goroutines wait: what is due at this moment has been done. The caller sees what they have written.
func (e *Env) rest() {
	if e.real {
		return
	}
	e.resting <- struct{}{}
	defer func() { <-e.resting }()
	synctest.Wait()
}

// step runs a function that was given to After.
func (e *Env) step(d time.Duration, fn func() error) {
	e.touch()
	err := errors.New("it has ended without a return")
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("it panicked: %v\n\n%s", failure, debug.Stack())
		}
		if err != nil {
			e.outcome.fail(fmt.Sprintf("the function given to After for %v has failed: %v", d, err))
		}
	}()
	err = fn()
	e.touch() // substitutes that begin from now on see what fn has written
}

// Sleep returns when d of virtual time has passed and all else that is due at that moment has come to rest. With 0 no time passes. In real time it
// does not wait for anything to come to rest. If the test fails meanwhile, it ends the calling goroutine as [testing.T.FailNow] does.
func (e *Env) Sleep(d time.Duration) {
	e.t.Helper()
	e.touch()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		e.rest()
	case <-e.outcome.failed:
	}
	if e.outcome.hasFailed() {
		e.outcome.failNow()
	}
	e.touch()
}

// Restart shuts the node down and starts another one, as a deploy does: an activity has 10 s of virtual time before it is cancelled with
// activity.ErrShutdown. The new node has nothing in memory. It fails the test if it cannot.
func (e *Env) Restart() {
	e.t.Helper()
	e.touch()
	if err := e.nodes.restart(e.ctx); err != nil {
		e.fatal(fmt.Sprintf("restarting: %v", err))
	}
}

// Instance is a running or ended instance: a [Handle] or a [client.Handle].
type Instance interface {
	ID() string
	Key() provider.UUID
}

// History returns the events of the current execution of an instance, in order.
func (e *Env) History(of Instance) []client.HistoryEvent {
	e.t.Helper()
	var all []client.HistoryEvent
	for event, err := range client.HandleOf[any](e.stored.client, of.ID(), of.Key()).History(e.ctx, 0) {
		if err != nil {
			e.fatal(fmt.Sprintf("reading the history of instance %q: %v", of.ID(), err))
		}
		all = append(all, event)
	}
	return all
}

// touch notes that the test itself does something.
func (e *Env) touch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over {
		e.sentinel.Reset(longestWait)
	}
}

// stuck fails a test that has waited for too long, unless a function of After is due later.
func (e *Env) stuck() {
	e.mu.Lock()
	later := len(e.timers) > 0
	e.mu.Unlock()
	if later {
		e.touch()
		return
	}
	e.checks.nothingLeft()
}

// expect adds what must hold when the test function has returned.
func (e *Env) expect(holds func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expected = append(e.expected, holds)
}

// fatal fails the test and ends the calling goroutine.
func (e *Env) fatal(text string) {
	e.t.Helper()
	e.outcome.fail(text)
	e.outcome.failNow()
}

// settle returns when the functions given to After have: what waits there for nothing is shown. In real time it does not wait long for them once the
// test has failed.
func (e *Env) settle() {
	if !e.real {
		e.running.Wait()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.running.Wait()
	}()
	select {
	case <-done:
		return
	case <-e.outcome.failed:
	}
	select {
	case <-done:
	case <-time.After(realEnding):
	}
}

// close ends the engine. The test function has returned, or the test has failed.
func (e *Env) close(returned bool) {
	e.t.Helper()
	e.mu.Lock()
	e.over = true
	for timer := range e.timers {
		timer.Stop()
	}
	clear(e.timers)
	e.mu.Unlock()
	e.settle()
	e.sentinel.Stop()
	if e.limit != nil {
		e.limit.Stop()
	}
	e.mu.Lock()
	expected := slices.Clone(e.expected)
	e.mu.Unlock()
	for _, holds := range expected {
		if err := holds(); err != nil && returned {
			e.outcome.fail(err.Error())
		}
	}
	stopping, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	defer cancel()
	if e.real && e.outcome.hasFailed() {
		defer time.AfterFunc(realEnding, cancel).Stop()
	}
	err := e.nodes.stop(stopping)
	e.checks.working.Wait()
	e.outcome.end()
	e.cancel(errors.New("orchestrationtest: the test is over"))
	if !e.real {
		err = errors.Join(err, e.store.Close())
		if e.nodes.options.Observer != nil { // what the client has told it last; the clock stands still once the test is over
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
	}
	if err != nil {
		e.outcome.error(fmt.Sprintf("ending the node: %v", err))
	}
}
