package bind

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
)

// Context is embedded in orchestration.Context.
type Context struct {
	scope *replay.Scope
	more  *more // nil for most
}

// more is what few handles have.
type more struct {
	definition *Definition      // set only while a function is asked for its Definition
	options    []ActivityOption // of the calls of activities, before their own

	interceptors any // []orchestration.Interceptor of the execution; nil: none
	from         int // the first of them that calls pass
}

func (c *Context) held() *Context { return c }

// Holder is the pointer to a type that embeds a Context: *orchestration.Context.
type Holder[C any] interface {
	*C
	held() *Context
}

// InScope returns the handle of a scope that code has made with c. It gives calls the same options.
func InScope(c *Context, s *replay.Scope) Context { return Context{scope: s, more: c.more} }

// ScopeOf returns the scope of a handle; nil for that of a zero Context.
func ScopeOf(c *Context) *replay.Scope { return c.scope }

// Orchestration erases the types of an orchestration function.
func Orchestration[C any, P Holder[C], In, Out any](fn func(P, In) (Out, error)) replay.Body {
	return func(s *replay.Scope) replay.Result {
		if around := s.Env().Interceptors; around != nil && !reserved.Name(s.Info().Name) {
			return intercepted(s, fn, around)
		}
		var in In
		if err := payload.Decode(s.Input(), &in); err != nil {
			return failed(s, failure.New(failure.ErrPayload, "input: %v", err))
		}
		ctx := P(new(C))
		ctx.held().scope = s
		out, err := fn(ctx, in)
		return result(s, out, err)
	}
}

// result says how the code ended. It and failed are functions apart from the one that calls the code. Their variables
// are thus not on the stack of every waiting execution.
func result[Out any](s *replay.Scope, out Out, err error) replay.Result {
	if next := continued(err); next != nil {
		return replay.Result{Continue: next.event(), KeepVersion: next.KeepVersion}
	}
	var data []byte
	if err == nil {
		data, err = output(s, out)
	}
	if err == nil {
		err = s.AdmitPayload(len(data), "output")
	}
	if err != nil {
		r := failed(s, err)
		// Only the engine's own cancellation of the whole execution counts as one.
		r.Cancelled = s.Err() != nil && failure.IsCancelled(r.Failure)
		return r
	}
	return replay.Result{Output: data}
}

func output(s *replay.Scope, out any) ([]byte, error) {
	data, err := s.EncodeOutput(out)
	if err != nil {
		return nil, failure.New(failure.ErrPayload, "output: %v", err)
	}
	return data, nil
}

//go:noinline
func failed(s *replay.Scope, err error) replay.Result {
	f := s.Env().Errors.Encode(err)
	return replay.Result{Failure: &f}
}

// Next is what code asks for with continue-as-new.
type Next struct {
	Input       []byte
	KeepVersion bool
}

// continueError asks for the next execution. It is no failure, but travels as one, so
// that code returns it from any depth.
type continueError struct{ Next }

func (*continueError) Error() string { return "continue as new" }

// Continue returns the error by which code asks for the next execution.
func Continue(next Next) error { return &continueError{next} }

// Continues reports whether the error that code returned asks for the next execution.
func Continues(err error) bool { return continued(err) != nil }

// continued finds the request for the next execution in the error that code returned. An error whose methods panic,
// such as a typed nil, holds none.
func continued(err error) (next *continueError) {
	defer func() {
		if recover() != nil {
			next = nil
		}
	}()
	next, _ = errors.AsType[*continueError](err)
	return next
}

func (e *continueError) event() *history.ContinuedAsNew {
	return &history.ContinuedAsNew{Input: e.Input}
}

// Output decodes the output of an instance that has completed.
func Output[Out any](output []byte) (out Out, err error) {
	if err := payload.Decode(output, &out); err != nil {
		return out, fmt.Errorf("output of the orchestration: %w", err)
	}
	return out, nil
}
