package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/funcname"
	"github.com/perdure/perdure/orchestration"
)

// ActivitiesOption is an option of AddActivities: Prefix, Except, or an option of AddActivity, which counts for each method.
type ActivitiesOption interface {
	applyActivities(s *methodSettings) error
}

type activitiesFunc func(s *methodSettings) error

func (f activitiesFunc) applyActivities(s *methodSettings) error { return f(s) }

func (f registerFunc) applyActivities(s *methodSettings) error { return f(&s.activitySettings) }

// methodSettings are set by the options of AddActivities.
type methodSettings struct {
	activitySettings

	prefix string
	except []string
}

// Prefix stores each method under the prefix and its bare name: "billing.Charge" in place of "Billing.Charge". Code then calls it by that
// name, or calls what activity.Define("billing.Charge", svc.Charge) returns: a method value does not show the prefix. It has 1 to 512 bytes
// of UTF-8 without NUL.
func Prefix(prefix string) ActivitiesOption {
	return activitiesFunc(func(s *methodSettings) error {
		s.prefix = prefix
		return check.Name("prefix", prefix)
	})
}

// Except leaves out methods by their bare names, such as "Close".
func Except(methods ...string) ActivitiesOption {
	return activitiesFunc(func(s *methodSettings) error {
		s.except = append(s.except, methods...)
		return nil
	})
}

// AddActivities registers all exported methods of a receiver as activities, each under the name that AddActivity would give it, such as
// "Billing.Charge". The receiver is a pointer to a value of a named type. Code calls the methods as if each had been added:
//
//	runtime.AddActivities(reg, &billing, runtime.Except("Close"))
//	orchestration.CallActivity(ctx, billing.Charge, order)
//
// It registers nothing, and names each method, if one is no func(context.Context, In) (Out, error), is promoted from an embedded field, or
// would be refused by AddActivity. It also refuses a second receiver of a type, as a call does not show which of them it means: name the
// methods of that one with activity.Define. Of generic types the methods need a Prefix.
func AddActivities(r *Registry, receiver any, opts ...ActivitiesOption) error {
	what, name := "activities of", fmt.Sprintf("%T", receiver)
	s := methodSettings{activitySettings: activitySettings{queue: orchestration.DefaultQueue}}
	err := bind.Apply(opts, func(o ActivitiesOption) error { return o.applyActivities(&s) })
	var found []method
	if err == nil {
		found, err = methodsOf(reflect.ValueOf(receiver), &s)
	}
	if err != nil || r == nil {
		return r.refuse(what, name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.addMethods(receiver, found, &s); err != nil {
		return r.refuseLocked(what, name, err)
	}
	return nil
}

// method is a method that is registered as an activity.
type method struct {
	name   string // stored
	symbol string // see funcname.Declared
	fn     bind.ActivityFunc
}

var (
	errReceiver  = errors.New("give a pointer to a value of a named type that has methods, such as &svc")
	errNoMethods = errors.New("no exported method is left: give a receiver that has one, or leave out the call")
)

// methodsOf returns the methods of a receiver to register.
func methodsOf(receiver reflect.Value, s *methodSettings) ([]method, error) {
	if receiver.Kind() != reflect.Pointer || receiver.IsNil() || receiver.Type().Elem().Name() == "" {
		return nil, errReceiver
	}
	t := receiver.Type()
	for _, name := range s.except {
		if _, ok := t.MethodByName(name); !ok {
			return nil, fmt.Errorf("Except names %s, which it does not have as an exported method: leave it out", check.Quote(name))
		}
	}
	var found []method
	var bad, texts []string
	for of := range t.Methods() {
		bare := of.Name
		if slices.Contains(s.except, bare) {
			continue
		}
		m, err := methodOf(receiver, bare, s.prefix)
		if err != nil {
			bad, texts = append(bad, fmt.Sprintf("%q", bare)), append(texts, bare+" "+err.Error())
			continue
		}
		found = append(found, m)
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s: change that, or add runtime.Except(%s)", strings.Join(texts, "; "), strings.Join(bad, ", "))
	}
	if len(found) == 0 {
		return nil, errNoMethods
	}
	return found, nil
}

// methodOf returns a method of a receiver, or says after its name why it is no activity.
func methodOf(receiver reflect.Value, bare, prefix string) (method, error) {
	value := receiver.MethodByName(bare)
	t := value.Type()
	if t.IsVariadic() || t.NumIn() != 2 || t.NumOut() != 2 || t.In(0) != reflect.TypeFor[context.Context]() || t.Out(1) != reflect.TypeFor[error]() {
		return method{}, fmt.Errorf("is a %v and no func(context.Context, In) (Out, error)", t)
	}
	symbol, ok := funcname.Declared(receiver.Type(), bare)
	if !ok {
		return method{}, errors.New("is promoted from an embedded field, whose value can be registered itself")
	}
	name := prefix + bare
	if prefix == "" {
		var err error
		if name, err = funcname.OfSymbol(symbol); err != nil {
			return method{}, errors.New("is of a type whose methods have no lasting name, and needs a Prefix")
		}
	}
	if err := checkTypes("activity", name, t.In(1), t.Out(0)); err != nil {
		return method{}, fmt.Errorf("is refused: %w", err)
	}
	return method{name: name, symbol: symbol, fn: bind.Method(value)}, nil
}

// addMethods registers all methods, or none. It needs r.mu.
func (r *Registry) addMethods(receiver any, found []method, s *methodSettings) error {
	t := reflect.TypeOf(receiver)
	if other, ok := r.receivers[t]; ok && other != receiver {
		return errors.New("another receiver of that type is registered, and a method does not show its receiver: " +
			"register the methods of this one with AddActivity and activity.Define")
	}
	if err := r.checkMethods(found, s); err != nil {
		return err
	}
	if r.receivers == nil {
		r.receivers = make(map[reflect.Type]any)
	}
	r.receivers[t] = receiver
	for _, m := range found {
		r.put(activityName{s.queue, m.name}, activityEntry{fn: m.fn, symbol: m.symbol}, &s.activitySettings)
	}
	return nil
}

// checkMethods refuses methods whose names are in use, or have other options elsewhere, and names each. It needs r.mu.
func (r *Registry) checkMethods(found []method, s *methodSettings) error {
	var bad []string
	for _, m := range found {
		key := activityName{s.queue, m.name}
		err := r.checkOneDefault(key, s.defaults)
		if _, ok := r.activities[key]; ok {
			err = errTaken
		}
		if err != nil {
			bad = append(bad, check.Quote(m.name)+": "+err.Error())
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New(strings.Join(bad, "; "))
}
