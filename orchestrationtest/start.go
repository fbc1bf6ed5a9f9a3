package orchestrationtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// AddActivity registers an activity as [runtime.AddActivity] does. It fails the test if the registry refuses it.
func AddActivity[In, Out any](e *Env, fn func(context.Context, In) (Out, error), opts ...runtime.RegisterOption) {
	e.t.Helper()
	e.added("an activity", runtime.AddActivity(e.registry, fn, opts...))
}

// AddActivities registers the methods of a receiver as [runtime.AddActivities] does. It fails the test if the registry refuses them.
func AddActivities(e *Env, receiver any, opts ...runtime.ActivitiesOption) {
	e.t.Helper()
	e.added("activities", runtime.AddActivities(e.registry, receiver, opts...))
}

// AddOrchestration registers an orchestration as [runtime.AddOrchestration] does. It fails the test if the registry refuses it. An
// orchestration that [Start] is given needs no registration.
func AddOrchestration[In, Out any](e *Env, fn func(*orchestration.Context, In) (Out, error)) {
	e.t.Helper()
	e.added("an orchestration", runtime.AddOrchestration(e.registry, fn))
}

// Register calls register with [Env.Registry], for the function that registers all of a service. It fails the test if register returns an error.
// It may be called again, and after the first node has started.
func (e *Env) Register(register func(reg *runtime.Registry) error) {
	e.t.Helper()
	if register == nil {
		e.fatal("adding the code of a service: Register has no function: give one")
	}
	e.added("the code of a service", register(e.registry))
}

func (e *Env) added(what string, err error) {
	e.t.Helper()
	if err = cmp.Or(err, e.nodes.change(e.ctx, func(*bubble.Settings) {})); err != nil {
		e.fatal(fmt.Sprintf("adding %s: %v", what, err))
	}
}

// Handle is a [client.Handle] whose Wait fails the test when nothing can happen any more. Functions of package client take the Handle in it:
//
//	count, err := client.Query[int](e.Context(), h.Handle, "count", "lamp")
//
// Several goroutines may use it at once.
type Handle[Out any] struct {
	client.Handle[Out]

	env *Env
}

// Start starts an instance as [client.Start] does. It registers the function unless the registry has its name and version. It fails the test
// if the start is refused.
func Start[In, Out any](e *Env, fn func(*orchestration.Context, In) (Out, error), in In, opts ...client.StartOption) Handle[Out] {
	e.t.Helper()
	e.touch()
	if err := begin(e, fn); err != nil {
		e.fatal(err.Error())
	}
	h, err := client.Start(e.ctx, e.client, fn, in, opts...)
	if err != nil {
		e.fatal(err.Error())
	}
	return Handle[Out]{h, e}
}

// begin registers a function and starts the first node. The first instance is created at the engine level of those that follow.
func begin[In, Out any](e *Env, fn func(*orchestration.Context, In) (Out, error)) error {
	if err := register(e, fn); err != nil {
		return err
	}
	if err := e.nodes.begin(e.ctx); err != nil {
		return err
	}
	ref, err := bind.OrchestrationOf(fn)
	if err == nil {
		err = e.nodes.check(provider.Capability{Name: ref.Name, CodeVersion: ref.Version}, bind.OrchestrationCode(fn))
	}
	if err != nil {
		return fmt.Errorf("starting an orchestration: %w", err)
	}
	return nil
}

// register adds a function to the code of the node, unless it is there.
func register[In, Out any](e *Env, fn func(*orchestration.Context, In) (Out, error)) error {
	ref, err := bind.OrchestrationOf(fn)
	if err != nil {
		return fmt.Errorf("starting an orchestration: %w", err)
	}
	of := provider.Capability{Name: ref.Name, CodeVersion: ref.Version}
	if e.nodes.runs(of) || slices.ContainsFunc(e.nodes.current().Orchestrations, func(o bubble.Orchestration) bool { return o.Capability == of }) {
		return nil
	}
	if err := checkShapes[In, Out](); err != nil {
		return fmt.Errorf("starting orchestration %s: %w", check.Quote(ref.Name), err)
	}
	return e.nodes.change(e.ctx, func(s *bubble.Settings) {
		s.Orchestrations = append(s.Orchestrations, bubble.Orchestration{
			Capability: of, Body: bind.Orchestration(fn), Pointer: reflect.ValueOf(fn).Pointer(), Code: bind.OrchestrationCode(fn), Absent: true,
		})
	})
}

// checkShapes refuses types that cannot be stored.
func checkShapes[In, Out any]() error {
	if err := payload.Check(reflect.TypeFor[In]()); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if err := payload.Check(reflect.TypeFor[Out]()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// Wait is [client.Handle.Wait] with [client.OrBlocked]. If the test fails meanwhile, for example because nothing can happen any more,
// it ends the calling goroutine as [testing.T.FailNow] does.
func (h Handle[Out]) Wait(ctx context.Context, opts ...client.WaitOption) (Out, error) {
	e := h.env
	e.t.Helper()
	e.touch()
	waiting, cancel := context.WithCancelCause(bubble.With(ctx, bubble.Of(e.ctx))) //nolint:contextcheck // it is read only
	defer cancel(nil)
	defer context.AfterFunc(e.ctx, func() { cancel(context.Cause(e.ctx)) })() //nolint:contextcheck // ctx may be another one
	out, err := h.Handle.Wait(waiting, append(slices.Clone(opts), client.OrBlocked())...)
	e.touch()
	if errors.Is(err, client.ErrBlocked) && !e.checks.allowBlocked.Load() {
		<-e.outcome.failed
	}
	if e.outcome.hasFailed() {
		e.outcome.failNow()
	}
	return out, err
}
