package orchestrationtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Caller is the context of what [Replace] replaces: [context.Context] for an activity, a pointer to [orchestration.Context] for an
// orchestration.
type Caller interface{ Err() error }

// ReplaceOption is an option of [Replace] and [ReplaceNamed].
type ReplaceOption interface {
	applyReplace(o *replaceOptions) error
}

type replaceOptions struct {
	delay   time.Duration
	fails   int
	err     error
	panics  int
	value   any
	times   int // -1: any number
	queue   string
	version string
	one     bool // version names the only one
}

type replaceFunc func(o *replaceOptions) error

func (f replaceFunc) applyReplace(o *replaceOptions) error { return f(o) }

// FailFirst makes the first n calls fail with err. An activity with a retry policy is tried again, and each attempt is a call.
func FailFirst(n int, err error) ReplaceOption {
	return replaceFunc(func(o *replaceOptions) error {
		if o.fails, o.err = n, err; err == nil {
			return errors.New("FailFirst has no error: give one")
		}
		return notNegative("FailFirst", n)
	})
}

// PanicFirst makes the first n calls panic with the value. An activity that panics fails; an orchestration that panics is blocked.
func PanicFirst(n int, value any) ReplaceOption {
	return replaceFunc(func(o *replaceOptions) error {
		o.panics, o.value = n, value
		return notNegative("PanicFirst", n)
	})
}

// Delay makes each call take d of virtual time before it does anything else. An activity returns the cause of its context if that ends
// before.
func Delay(d time.Duration) ReplaceOption {
	return replaceFunc(func(o *replaceOptions) error {
		o.delay = d
		return notNegative("Delay", d)
	})
}

// Times fails the test at its end unless there were n calls, attempts of activities counted each.
func Times(n int) ReplaceOption {
	return replaceFunc(func(o *replaceOptions) error {
		o.times = n
		return notNegative("Times", n)
	})
}

func notNegative[N int | time.Duration](option string, n N) error {
	if n < 0 {
		return fmt.Errorf("%s is %v: give 0 or more", option, n)
	}
	return nil
}

// OnQueue replaces an activity on that queue only. Without it, [Replace] replaces the function on all queues that it is registered for. An
// activity that is not registered is served from orchestration.DefaultQueue.
func OnQueue(queue string) ReplaceOption {
	return replaceFunc(func(o *replaceOptions) error {
		o.queue = queue
		return check.Name("queue name", queue)
	})
}

// OfVersion replaces only that version of an orchestration. Without it, all versions that are registered or called under the name are
// replaced, unless the function that is given has a version by orchestration.Version: then only that one is.
func OfVersion(version string) ReplaceOption {
	return replaceFunc(func(o *replaceOptions) error {
		o.version, o.one = version, true
		return check.OptionalName("version", version)
	})
}

// Replace runs a substitute in place of fn, which is an activity or an orchestration: a function, a method value (its receiver may be
// nil) or the result of Define. The function need not be registered. Code calls it as before, and the substitute runs. A nil substitute returns
// a zero Out.
//
// The test fails at once if fn has no name, or is neither an activity nor an orchestration.
func Replace[C Caller, In, Out any](e *Env, fn, substitute func(C, In) (Out, error), opts ...ReplaceOption) *Calls[In, Out] {
	e.t.Helper()
	r, err := newReplacement[In, Out](e, opts)
	if err != nil {
		return r.done("a function", err)
	}
	switch original := any(fn).(type) {
	case func(context.Context, In) (Out, error):
		var name string
		if name, _, err = bind.ActivityName(original); err == nil {
			with, _ := any(substitute).(func(context.Context, In) (Out, error))
			err = r.activity(name, reflect.ValueOf(original).Pointer(), bind.ActivityCode(original), with)
		}
	case func(*orchestration.Context, In) (Out, error):
		var ref bind.Reference
		if ref, err = bind.OrchestrationOf(original); err == nil {
			with, _ := any(substitute).(func(*orchestration.Context, In) (Out, error))
			if ref.Version != "" && !r.options.one {
				r.options.version, r.options.one = ref.Version, true
			}
			err = r.orchestration(ref.Name, reflect.ValueOf(original).Pointer(), bind.OrchestrationCode(original), with)
		}
	default:
		err = fmt.Errorf("a %T is neither an activity nor an orchestration", fn)
	}
	return r.done("a function", err)
}

// ReplaceNamed is [Replace] for an activity or orchestration that is known by its stored name. The type of the substitute says which of
// them it replaces.
func ReplaceNamed[C Caller, In, Out any](e *Env, name string, substitute func(C, In) (Out, error), opts ...ReplaceOption) *Calls[In, Out] {
	e.t.Helper()
	r, err := newReplacement[In, Out](e, opts)
	if err != nil {
		return r.done(check.Quote(name), err)
	}
	switch with := any(substitute).(type) {
	case func(context.Context, In) (Out, error):
		err = r.activity(name, 0, 0, with)
	case func(*orchestration.Context, In) (Out, error):
		err = r.orchestration(name, 0, 0, with)
	default:
		err = fmt.Errorf("a %T is neither an activity nor an orchestration", substitute)
	}
	return r.done(check.Quote(name), err)
}

// replacement is one substitute.
type replacement[In, Out any] struct {
	env     *Env
	options replaceOptions
	calls   Calls[In, Out]
	name    string
}

func newReplacement[In, Out any](e *Env, opts []ReplaceOption) (*replacement[In, Out], error) {
	r := &replacement[In, Out]{env: e, options: replaceOptions{times: -1}}
	return r, bind.Apply(opts, func(o ReplaceOption) error { return o.applyReplace(&r.options) })
}

// done fails the test if the substitute was refused.
func (r *replacement[In, Out]) done(what string, err error) *Calls[In, Out] {
	r.env.t.Helper()
	if err != nil {
		r.env.fatal(fmt.Sprintf("replacing %s: %v", what, err))
	}
	if want := r.options.times; want >= 0 {
		r.env.expect(func() error {
			if got := r.calls.count(); got != want {
				return fmt.Errorf("the substitute of %s was called %d times, want %d", check.Quote(r.name), got, want)
			}
			return nil
		})
	}
	return &r.calls
}

// activity replaces an activity.
func (r *replacement[In, Out]) activity(name string, pointer, code uintptr, with func(context.Context, In) (Out, error)) error {
	if err := r.named(name, "activity name"); err != nil {
		return err
	}
	if r.options.one {
		return errors.New("OfVersion is for orchestrations, and this is an activity")
	}
	a := bubble.Activity{
		Name: bubble.Name{Queue: r.options.queue, Name: name}, Fn: bind.Activity(r.attempt(with)), Pointer: pointer, Code: code,
	}
	return r.env.nodes.change(r.env.ctx, func(s *bubble.Settings) { s.Activities = append(s.Activities, a) })
}

// orchestration replaces an orchestration.
func (r *replacement[In, Out]) orchestration(name string, pointer, code uintptr, with func(*orchestration.Context, In) (Out, error)) error {
	if err := r.named(name, "orchestration name"); err != nil {
		return err
	}
	if r.options.queue != "" {
		return errors.New("OnQueue is for activities, and this is an orchestration")
	}
	o := bubble.Orchestration{
		Capability: provider.Capability{Name: name, CodeVersion: r.options.version}, Body: bind.Orchestration(r.execution(with)),
		Pointer: pointer, Code: code, Every: !r.options.one,
	}
	return r.env.nodes.change(r.env.ctx, func(s *bubble.Settings) { s.Orchestrations = append(s.Orchestrations, o) })
}

func (r *replacement[In, Out]) named(name, what string) error {
	r.name = name
	if err := check.Name(what, name); err != nil {
		return err
	}
	return checkShapes[In, Out]()
}

// attempt returns the activity that runs in place of another one.
func (r *replacement[In, Out]) attempt(with func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		info := activity.GetInfo(ctx)
		n := r.calls.begin(Call[In, Out]{In: in, At: time.Now(), Attempt: info.Attempt, InstanceID: info.InstanceID})
		returned := false
		defer func() {
			if !returned {
				err = ErrPanicked
			}
			r.calls.end(n, out, err, r.env.nodes.lost(info.Node))
		}()
		if err = pause(ctx, r.options.delay); err == nil {
			if err = r.options.fault(n); err == nil && with != nil {
				r.env.touch() // it sees what functions of After have written
				out, err = with(ctx, in)
			}
		}
		returned = true
		return out, err
	}
}

// execution returns the orchestration that runs in place of another one. A replay, and the end of an execution in memory, is no call.
func (r *replacement[In, Out]) execution(with func(*orchestration.Context, In) (Out, error)) func(*orchestration.Context, In) (Out, error) {
	return func(ctx *orchestration.Context, in In) (out Out, err error) {
		info := ctx.Info()
		n := r.calls.beginOnce(fmt.Sprintf("%s/%d", info.Key, info.Execution), Call[In, Out]{
			In: in, At: info.Started, Attempt: 1, InstanceID: info.ParentID,
		})
		if r.options.delay > 0 {
			err = ctx.Sleep(r.options.delay)
		}
		if err == nil {
			if err = r.options.fault(n); err == nil && with != nil {
				out, err = with(ctx, in)
			}
		}
		if !bind.Continues(err) {
			r.calls.end(n, out, err, false)
		}
		return out, err
	}
}

// pause waits for d of virtual time.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fault returns the error of call n, or panics.
func (o *replaceOptions) fault(n int) error {
	if n < o.panics {
		panic(o.value)
	}
	if n < o.fails {
		return o.err
	}
	return nil
}
