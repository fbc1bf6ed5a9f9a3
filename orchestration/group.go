package orchestration

import (
	"cmp"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
)

// Group runs functions as coroutines in a scope of its own, and waits for all of them. The first error cancels the others. It belongs to
// the function or handler that makes it with [NewGroup], whose coroutines may all use it.
//
// A Group leaves no event but those of what its functions do.
type Group struct {
	made     *Context // what NewGroup was given: its options are those of the functions
	scope    *replay.Scope
	cancel   func()
	limit    int              // at a time; 0: none
	begun    int              // calls of Go
	asking   int              // calls of Go that wait for the limit
	open     []*replay.Future // of coroutines that have not returned, or with an error
	waited   bool             // Wait has returned
	first    error            // nil: none has failed
	firstAt  int64            // the message that the failed coroutine acted on, by event ID
	firstOf  int              // the place in the order of starts
	byCancel bool             // first is ErrCancelled
}

// NewGroup makes a group whose scope is a child of ctx: it ends with ctx, with the first error, and when Wait returns.
func NewGroup(ctx *Context) *Group {
	scope, cancel := ctx.engine().WithCancel()
	return &Group{made: ctx, scope: scope, cancel: cancel}
}

// SetLimit bounds how many functions run at a time. It panics if n is not positive. Without it there is no limit. Those that run
// already when it is called go on, and count.
func (g *Group) SetLimit(n int) {
	g.mustBeMade()
	if n < 1 {
		panic("orchestration: the limit of a Group is not positive: give 1 or more, or leave it out for no limit")
	}
	g.limit = n
}

// Go runs fn as a coroutine, as [Context.Go] does. If as many run as the limit allows, it first waits until one has returned,
// even if ctx is cancelled. So fn may begin with a context that has ended. After Wait it panics.
func (g *Group) Go(fn func(*Context) error) {
	mustFunc(fn == nil, "Group.Go")
	g.mustBeMade()
	g.asking++
	for g.limit > 0 && g.running() >= g.limit {
		if _, err := g.scope.Detached().Wait(g.sources()...); err != nil {
			break // the orchestration's function has returned: fn gets this error from its context
		}
	}
	g.asking--
	if g.waited {
		panic("orchestration: Go of a Group after its Wait: make another Group")
	}
	place := g.begun
	g.begun++
	g.start(func(s *replay.Scope) error {
		err := fn(g.made.in(s))
		g.failed(s, place, err)
		return err
	})
}

// Wait returns when all functions have returned, also those that were cancelled and those that begin meanwhile or wait for the limit.
// It returns the first error: that of the coroutine whose message came first, such as the result of an activity. Of those that the same
// message has failed, the one that was started first counts. ErrCancelled counts only if the same message has brought no other error.
//
// The end of ctx does not end the wait, but it cancels the functions. Wait cancels what they began and left open.
func (g *Group) Wait() error {
	g.mustBeMade()
	scope := g.scope.Detached()
	for len(g.open) > 0 || g.asking > 0 {
		if len(g.open) == 0 { // the limit allows now what a Go has waited for
			if err := scope.Await(func() bool { return len(g.open) > 0 || g.asking == 0 }, 0, false); err != nil {
				return err
			}
			continue
		}
		if _, err := scope.Wait(g.open[0]); err != nil {
			return err
		}
		g.open = slices.DeleteFunc(g.open, func(f *replay.Future) bool {
			if !f.Ready() {
				return false
			}
			_, _ = f.Result() // somebody has read the error
			return true
		})
	}
	g.waited = true
	g.cancel()
	return g.first
}

// mustBeMade refuses a Group that NewGroup did not make.
func (g *Group) mustBeMade() {
	if g == nil || g.scope == nil {
		panic("orchestration: the Group is nil or zero: take one from NewGroup")
	}
}

// start runs fn as a coroutine. It counts no error: fn does.
func (g *Group) start(fn func(*replay.Scope) error) { g.open = append(g.open, g.scope.Go(fn)) }

// running returns how many coroutines have not returned, and forgets those that have without an error.
func (g *Group) running() int {
	n := 0
	g.open = slices.DeleteFunc(g.open, func(f *replay.Future) bool {
		if !f.Ready() {
			n++
			return false
		}
		return !f.Failed()
	})
	return n
}

// sources returns the coroutines that have not returned.
func (g *Group) sources() []replay.Source {
	var open []replay.Source
	for _, f := range g.open {
		if !f.Ready() {
			open = append(open, f)
		}
	}
	return open
}

// failed takes the error of the function at a place in the order of starts. The coroutine calls it.
func (g *Group) failed(s *replay.Scope, place int, err error) {
	if err == nil {
		return
	}
	at, byCancel := s.ActsOn(), errors.Is(err, failure.ErrCancelled)
	first := g.first == nil
	switch {
	case first:
	case byCancel == g.byCancel:
		first = cmp.Or(cmp.Compare(at, g.firstAt), cmp.Compare(place, g.firstOf)) < 0
	default:
		first = g.byCancel && at <= g.firstAt
	}
	if first {
		g.first, g.firstAt, g.firstOf, g.byCancel = err, at, place, byCancel
	}
	g.cancel()
}
