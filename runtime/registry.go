package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// ErrRegistration is what all errors of the registry are.
var ErrRegistration = errors.New("registration refused")

// Registry holds what a node can run. Mistakes are refused as they are made, and again
// by Start, so that a service that ignores the error of an Add does not run without it.
// It may be used by several goroutines at once; what is added after Start has no effect on it.
type Registry struct {
	mu             sync.Mutex
	orchestrations map[string]orchestrationEntry
	activities     map[activityName]activityEntry
	errors         failure.Set
	problems       []error
}

type activityName struct{ queue, name string }

type orchestrationEntry struct {
	body    replay.Body
	pointer uintptr
}

type activityEntry struct {
	fn      activity.Func
	pointer uintptr
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	return &Registry{
		orchestrations: make(map[string]orchestrationEntry),
		activities:     make(map[activityName]activityEntry),
	}
}

// Errors is the set that AddError and AddErrorType fill, for client.Options.
func (r *Registry) Errors() *orchestration.Errors { return &r.errors }

// AddOrchestration registers an orchestration under its stored name: the function's bare
// name, or the one given with orchestration.Define. It refuses closures and generic
// instances without a name, names in use, and inputs and outputs that cannot be decoded.
func AddOrchestration[In, Out any](r *Registry, fn func(*orchestration.Context, In) (Out, error)) error {
	name, _, err := orchestration.NameOf(fn)
	if err == nil {
		err = checkShape[In, Out](name)
	}
	if err != nil {
		return r.refuse("orchestration", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.orchestrations[name]; ok {
		return r.refuseLocked("orchestration", name, errTaken)
	}
	r.orchestrations[name] = orchestrationEntry{orchestration.Bind(fn), reflect.ValueOf(fn).Pointer()}
	return nil
}

// ActivityOption is an option of AddActivity.
type ActivityOption func(*activityName)

// OnQueue serves the activity from the named queue instead of the default one.
func OnQueue(queue string) ActivityOption { return func(n *activityName) { n.queue = queue } }

// AddActivity registers an activity under its stored name: the function's bare name, or
// the one given with activity.Define. It refuses what AddOrchestration refuses.
func AddActivity[In, Out any](r *Registry, fn func(context.Context, In) (Out, error), opts ...ActivityOption) error {
	name, _, err := activity.NameOf(fn)
	if err == nil {
		err = checkShape[In, Out](name)
	}
	key := activityName{orchestration.DefaultQueue, name}
	for _, opt := range opts {
		opt(&key)
	}
	if err == nil {
		err = checkName("queue", key.queue)
	}
	if err != nil {
		return r.refuse("activity", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.activities[key]; ok {
		return r.refuseLocked("activity", name, errTaken)
	}
	r.activities[key] = activityEntry{activity.Bind(fn), reflect.ValueOf(fn).Pointer()}
	return nil
}

// AddError registers an error value under a name, so that errors.Is finds it after the
// error was stored and read by another process. Register it on every node, and give the
// registry's Errors to clients.
func AddError(r *Registry, name string, target error) error {
	if err := r.errors.AddSentinel(name, target); err != nil {
		return r.refuse("error", name, err)
	}
	return nil
}

// AddErrorType registers an error type under a name, so that errors.As finds it, with its
// JSON-encoded fields, after the error was stored and read by another process.
func AddErrorType[T error](r *Registry, name string) error {
	if err := failure.AddType[T](&r.errors, name); err != nil {
		return r.refuse("error type", name, err)
	}
	return nil
}

var errTaken = errors.New("the name is in use: give another one with Define")

func (r *Registry) refuse(what, name string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refuseLocked(what, name, err)
}

func (r *Registry) refuseLocked(what, name string, err error) error {
	refused := fmt.Errorf("registering %s %q: %w: %w", what, name, ErrRegistration, err)
	r.problems = append(r.problems, refused)
	return refused
}

// checkShape refuses names that no storage takes and types that cannot cross it.
func checkShape[In, Out any](name string) error {
	if err := checkName("name", name); err != nil {
		return err
	}
	if err := payload.Check(reflect.TypeFor[In]()); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if err := payload.Check(reflect.TypeFor[Out]()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s is empty", what)
	case len(name) > provider.MaxName:
		return fmt.Errorf("the %s has %d bytes, the limit is %d", what, len(name), provider.MaxName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("the %s %q is not valid UTF-8 without NUL", what, name)
	}
	return nil
}

// names answers whether a function is the registered one. It implements replay.Names.
type names struct {
	what     string
	pointers map[string][]uintptr // one on each queue
}

// Check implements replay.Names.
func (n names) Check(name string, pointer uintptr) error {
	registered, ok := n.pointers[name]
	switch {
	case !ok:
		return fmt.Errorf("%s %q is not registered on this node: add it to the registry, or call it by name if it runs elsewhere", n.what, name)
	case !slices.Contains(registered, pointer):
		return fmt.Errorf("%s %q is registered with another function: give one of them another name with Define", n.what, name)
	}
	return nil
}
