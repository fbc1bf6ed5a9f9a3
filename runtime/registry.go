package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// ErrRegistration means that the registry has refused a function or an error. Start returns it for mistakes that were made before, while
// ErrInvalid is about its own arguments.
var ErrRegistration = failure.ErrRegistration

// Registry holds the orchestrations, activities and errors of a node. Each mistake is refused at once and again by
// Start, so a service that ignores the error of an Add does not start. Several goroutines may use it at once. Additions
// after Start have no effect on the node. The zero Registry is empty and ready.
type Registry struct {
	mu             sync.Mutex
	orchestrations map[provider.Capability]orchestrationEntry
	activities     map[activityName]activityEntry
	receivers      map[reflect.Type]any  // given to AddActivities
	errors         *orchestration.Errors // nil: empty

	orchestrationFallbacks []fallback.Orchestrations
	activityFallbacks      []fallback.Activities

	problems []error

	interceptors []func(*orchestration.Context) orchestration.Interceptor
	attempts     []activity.Interceptor
}

type activityName struct{ queue, name string }

type orchestrationEntry struct {
	body    replay.Body
	pointer uintptr
	code    uintptr // behind Define
}

type activityEntry struct {
	fn      bind.ActivityFunc
	pointer uintptr
	code    uintptr // behind Define
	symbol  string  // of a method of AddActivities, which has neither pointer nor code; "": it is none
	limits  activityLimits
	beats   time.Duration

	defaults *history.ActivityScheduled // options of its calls; nil: none
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{} }

// Errors returns the set that AddError and AddErrorType fill, for client.Options. That of a nil Registry is nil, which is an
// empty set.
func (r *Registry) Errors() *orchestration.Errors {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errorsLocked()
}

func (r *Registry) errorsLocked() *orchestration.Errors {
	if r.errors == nil {
		r.errors = orchestration.NewErrors()
	}
	return r.errors
}

// AddOrchestration registers an orchestration under its stored name: the function's bare name, or the one given with
// orchestration.Define. A name can be registered in several versions, and without one: see orchestration.Version. It refuses closures
// and generic instances without a name, names and versions in use, and inputs and outputs that cannot be decoded.
func AddOrchestration[In, Out any](r *Registry, fn func(*orchestration.Context, In) (Out, error)) error {
	ref, err := bind.OrchestrationOf(fn)
	if err == nil {
		err = checkShape[In, Out]("orchestration", ref.Name)
	}
	if err != nil || r == nil {
		return r.refuse("orchestration", ref.Name, err)
	}
	of := provider.Capability{Name: ref.Name, CodeVersion: ref.Version}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.orchestrations[of]; ok {
		if ref.Version != "" {
			return r.refuseLocked("orchestration", ref.Name, fmt.Errorf("version %s: %w", check.Quote(ref.Version), errVersionTaken))
		}
		return r.refuseLocked("orchestration", ref.Name, errTaken)
	}
	if r.orchestrations == nil {
		r.orchestrations = make(map[provider.Capability]orchestrationEntry)
	}
	r.orchestrations[of] = orchestrationEntry{bind.Orchestration(fn), reflect.ValueOf(fn).Pointer(), bind.OrchestrationCode(fn)}
	return nil
}

// AddActivity registers an activity under its stored name: the function's bare name, or
// the one given with activity.Define. It refuses what AddOrchestration refuses.
func AddActivity[In, Out any](r *Registry, fn func(context.Context, In) (Out, error), opts ...RegisterOption) error {
	name, _, err := bind.ActivityName(fn)
	if err == nil {
		err = checkShape[In, Out]("activity", name)
	}
	settings, bad := settingsOf(opts)
	if err = cmp.Or(err, bad); err != nil || r == nil {
		return r.refuse("activity", name, err)
	}
	key := activityName{settings.queue, name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.activities[key]; ok {
		return r.refuseLocked("activity", name, errTaken)
	}
	if err := r.checkOneDefault(key, settings.defaults); err != nil {
		return r.refuseLocked("activity", name, err)
	}
	r.put(key, activityEntry{fn: bind.Activity(fn), pointer: reflect.ValueOf(fn).Pointer(), code: bind.ActivityCode(fn)}, &settings)
	return nil
}

// AddError registers an error value under a name, so that errors.Is finds it after the error was stored and read by another
// process. Register it on every node, and give the registry's Errors to clients. The errors of package orchestration are known
// without it.
func AddError(r *Registry, name string, target error) error {
	if err := bind.SetOf(r.Errors()).AddSentinel(name, target); err != nil {
		return r.refuse("error", name, err)
	}
	return nil
}

// AddErrorType registers an error type under a name. After the error was stored and read by another
// process, errors.As finds it with its JSON-encoded fields.
func AddErrorType[T error](r *Registry, name string) error {
	if err := failure.AddType[T](bind.SetOf(r.Errors()), name); err != nil {
		return r.refuse("error type", name, err)
	}
	return nil
}

var (
	errTaken        = errors.New("the name is in use: give another one with Define")
	errVersionTaken = errors.New("it is registered already: give another one with orchestration.Version")
	errNoRegistry   = errors.New("the registry is nil: make one with runtime.NewRegistry")
)

func (r *Registry) refuse(what, name string, err error) error {
	if r == nil {
		return refused(what, name, errNoRegistry)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refuseLocked(what, name, err)
}

func (r *Registry) refuseLocked(what, name string, err error) error {
	err = refused(what, name, err)
	r.problems = append(r.problems, err)
	return err
}

func refused(what, name string, err error) error {
	if !errors.Is(err, ErrRegistration) {
		err = fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	if name == "" {
		return fmt.Errorf("registering an %s: %w", what, err)
	}
	return fmt.Errorf("registering %s %s: %w", what, check.Quote(name), err)
}

// checkShape refuses names that no storage takes and types that cannot be stored.
func checkShape[In, Out any](what, name string) error {
	return checkTypes(what, name, reflect.TypeFor[In](), reflect.TypeFor[Out]())
}

func checkTypes(what, name string, in, out reflect.Type) error {
	if err := check.Name(what+" name", name); err != nil {
		return err
	}
	if reserved.Name(name) {
		return fmt.Errorf("names that begin with %s belong to perdure itself: choose another one", reserved.NamePrefix)
	}
	if err := payload.Check(in); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if err := payload.Check(out); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// put adds an activity with its settings. It needs r.mu.
func (r *Registry) put(key activityName, entry activityEntry, s *activitySettings) {
	if r.activities == nil {
		r.activities = make(map[activityName]activityEntry)
	}
	entry.limits, entry.beats, entry.defaults = s.limits, s.beats, s.defaults
	r.activities[key] = entry
}
