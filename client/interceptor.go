package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
)

// Interceptor is called around what a client does. Embed an [InterceptorBase], which passes all on, and write the methods that are needed.
// Options.Interceptors registers it. Many goroutines may call it at once.
//
// The first one is outermost. Those of a client also count for the clients that [Client.As] makes of it, and for package operate. What bulk jobs,
// schedules and the dashboard of another process do goes through their own clients.
type Interceptor interface {
	// Act is called around each act that changes something, and around each query: once for each call, however often the client repeats it on a
	// fault of the storage. It is not called around calls that only read, and waits. The rights of a principal are checked within next.
	//
	// Act may change call.Input, and call next once, or return an error without it: then nothing has happened.
	Act(ctx context.Context, call *Call, next func(context.Context) error) error

	embedsInterceptorBase()
}

// Call is what an [Interceptor] sees of an act.
type Call struct {
	Act      Act
	Instance string // ID; "": the act is about no instance, or names it by Key only
	Key      string // "": it names the instance by its ID
	About    string // what it is about if that is no instance, such as: queue "mail"
	// Name is that of the orchestration to start, of the event, the update or the query. For other acts it is what the audit has, such as a reason.
	Name string
	// Input is that of a start, an event, an update or a query, as JSON; nil for other acts. It may be replaced before next, by valid JSON of at most
	// 2 MiB. [StartAndUpdate] and the events of a start are one call, with the input of the start.
	Input json.RawMessage
	// Output is the answer to a query, when next has returned; nil for other acts. It may be replaced, or be set without a call of next.
	Output json.RawMessage
}

// InterceptorBase passes everything on. Each [Interceptor] embeds it.
type InterceptorBase struct{}

var _ Interceptor = InterceptorBase{}

func (InterceptorBase) embedsInterceptorBase() {}

// Act implements Interceptor.
func (InterceptorBase) Act(ctx context.Context, _ *Call, next func(context.Context) error) error {
	return next(ctx)
}

// interceptors are those of a client. They implement access.Interceptor.
type interceptors []Interceptor

func newInterceptors(all []Interceptor) access.Interceptor {
	if len(all) == 0 {
		return nil
	}
	return interceptors(slices.Clone(all))
}

func checkInterceptors(all []Interceptor) error {
	for i, of := range all {
		if check.IsNil(of) {
			return fmt.Errorf("%w: client option Interceptors: number %d is nil: leave it out", ErrInvalid, i+1)
		}
	}
	return nil
}

// Around implements access.Interceptor.
func (all interceptors) Around(ctx context.Context, a *access.Act, fn func(context.Context) error) error {
	call := Call{Act: Act(a.Kind), Instance: a.On.ID, About: a.Other, Name: a.Detail}
	if !a.On.Key.IsZero() {
		call.Key = a.On.Key.String()
	}
	if a.Input != nil {
		call.Input = *a.Input
	}
	done := false
	run := func(ctx context.Context) error {
		done = true
		if a.Input != nil {
			input, err := access.Encode("input, as an interceptor has left it", call.Input)
			if err != nil {
				return fmt.Errorf("%s: %w", a.Op, err)
			}
			*a.Input = input
		}
		err := fn(ctx)
		if a.Output != nil {
			call.Output = *a.Output
		}
		return err
	}
	for _, of := range slices.Backward(all) {
		next := run
		run = func(ctx context.Context) error { return of.Act(ctx, &call, next) }
	}
	err := run(ctx)
	if err == nil && a.Output != nil && call.Output != nil {
		*a.Output, err = access.Encode("answer of an interceptor", call.Output)
		done = true
	}
	if err == nil && !done {
		err = fmt.Errorf("%s: %w: an interceptor has neither called next nor returned an error, so nothing has happened: let it do one of them",
			a.Op, ErrInvalid)
	}
	return err
}
