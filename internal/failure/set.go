package failure

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/provider"
)

// Set is the errors that keep their identity when they are stored. Its zero value and a
// nil *Set are empty. A Set is filled first; from then on it is safe for concurrent use.
type Set struct {
	entries map[string]entry // by name
	targets map[error]string
	types   map[reflect.Type]string
	names   []string // of the sentinels, sorted: encoding must not depend on the order of a map
}

// entry is a sentinel or a type.
type entry struct {
	target error
	typ    reflect.Type
}

// ErrRegistration is wrapped by the errors of AddSentinel and AddType.
var ErrRegistration = errors.New("registration refused")

// maxName is the limit on the name of a type that is not registered, in bytes.
const maxName = provider.MaxName

// AddSentinel lets errors.Is(err, target) hold for errors that were stored. The name is
// stored and must never change.
func (s *Set) AddSentinel(name string, target error) error {
	if err := s.checkName(name); err != nil {
		return err
	}
	if target == nil || isNilPointer(target) {
		return fmt.Errorf("%w: the error is nil: give a value that errors.Is can find", ErrRegistration)
	}
	if _, ok := target.(*sentinel); ok { //nolint:errorlint // the value itself
		return fmt.Errorf("%w: it is the engine's own %q, which keeps its identity by itself: leave it out", ErrRegistration, target.Error())
	}
	if !reflect.ValueOf(target).Comparable() {
		return fmt.Errorf("%w: values of %T cannot be compared: make it a pointer, or register its type", ErrRegistration, target)
	}
	if other, ok := s.targets[target]; ok {
		return fmt.Errorf("%w: the same error is already registered as %q: register it once", ErrRegistration, other)
	}
	s.add(name, entry{target: target})
	s.targets[target] = name
	at, _ := slices.BinarySearch(s.names, name)
	s.names = slices.Insert(s.names, at, name)
	return nil
}

// AddType lets errors.As find a T in errors that were stored. A T is stored as its JSON,
// so it needs exported fields; a field that holds another error is tagged `json:"-"`
// and comes back nil, while that error is found among the causes. The type must be the
// one that is returned, T or *T. The name is stored and must never change.
func AddType[T error](s *Set, name string) error {
	return s.addType(name, reflect.TypeFor[T]())
}

func (s *Set) addType(name string, t reflect.Type) error {
	if err := s.checkName(name); err != nil {
		return err
	}
	value := t
	if t.Kind() == reflect.Pointer {
		value = t.Elem()
	}
	switch {
	case value.Kind() == reflect.Interface:
		return fmt.Errorf("%w: %v is an interface: give the type behind it", ErrRegistration, t)
	case t == reflect.TypeFor[*Error]():
		return fmt.Errorf("%w: the engine's own *orchestration.Error keeps its identity by itself: leave it out", ErrRegistration)
	}
	if other, ok := s.types[t]; ok {
		return fmt.Errorf("%w: type %v is already registered as %q: register it once", ErrRegistration, t, other)
	}
	if err := payload.Check(value); err != nil {
		return fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	s.add(name, entry{typ: t})
	s.types[t] = name
	return nil
}

func (s *Set) checkName(name string) error {
	if s == nil {
		return fmt.Errorf("%w: the set of errors is nil: make one", ErrRegistration)
	}
	if err := check.Name("error name", name); err != nil {
		return fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	if _, ok := s.entries[name]; ok {
		return fmt.Errorf("%w: the name %q is given to another error: choose another one", ErrRegistration, name)
	}
	return nil
}

func (s *Set) add(name string, e entry) {
	if s.entries == nil {
		s.entries = make(map[string]entry)
		s.targets = make(map[error]string)
		s.types = make(map[reflect.Type]string)
	}
	s.entries[name] = e
}

// sentinelName returns the name of err if it is a registered sentinel.
func (s *Set) sentinelName(err error) (string, bool) {
	if s == nil || !reflect.ValueOf(err).Comparable() {
		return "", false
	}
	name, ok := s.targets[err]
	return name, ok
}

// typeName returns the name of the type of err if that is registered.
func (s *Set) typeName(err error) (string, bool) {
	if s == nil {
		return "", false
	}
	name, ok := s.types[reflect.TypeOf(err)]
	return name, ok
}

// isNilPointer tells whether err is a nil pointer in an interface that is not nil, the
// usual trap of Go errors.
func isNilPointer(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
