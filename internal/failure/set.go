package failure

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/provider"
)

// Set is the errors that keep their identity when they are stored. Its zero value and a
// nil *Set are empty. It is safe for concurrent use.
type Set struct {
	adding  sync.Mutex            // held while an error is added
	current atomic.Pointer[table] // never changed once stored: reading takes no lock; nil: empty
	show    func(*Error) error    // makes the error that users see; nil: they see an *Error
}

// NewSet returns an empty set whose errors are made visible by show.
func NewSet(show func(*Error) error) *Set { return &Set{show: show} }

// shown returns e in the form that users see.
func (s *Set) shown(e *Error) error {
	if s == nil || s.show == nil {
		return e
	}
	return s.show(e)
}

// New returns the same error as the function New, as the type that users see.
func (s *Set) New(kind error, format string, args ...any) error {
	return s.shown(Build(kind, format, args...))
}

// table is the content of a Set.
type table struct {
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

// Snapshot returns a set with the present content of s. Later additions to s are not in it.
func Snapshot(s *Set) *Set {
	snapshot := &Set{}
	if s != nil {
		snapshot.show = s.show
	}
	snapshot.current.Store(s.table())
	return snapshot
}

// table returns the content for reading.
func (s *Set) table() *table {
	if s != nil {
		if t := s.current.Load(); t != nil {
			return t
		}
	}
	return emptyTable
}

// emptyTable is the content of a set to which nothing was added.
var emptyTable = &table{} //nolint:gochecknoglobals // constant table

// extend adds an entry to a copy of the content, which readers see from then on. The caller holds adding.
func (s *Set) extend(t *table, name string, e entry) {
	next := &table{maps.Clone(t.entries), maps.Clone(t.targets), maps.Clone(t.types), t.names}
	if next.entries == nil {
		next = &table{entries: make(map[string]entry), targets: make(map[error]string), types: make(map[reflect.Type]string)}
	}
	next.entries[name] = e
	switch {
	case e.target != nil && sentinelOf(e.target) != nil: // only read
	case e.target != nil:
		next.targets[e.target] = name
		at, _ := slices.BinarySearch(t.names, name)
		next.names = slices.Insert(slices.Clone(t.names), at, name)
	default:
		next.types[e.typ] = name
	}
	s.current.Store(next)
}

// errNoSet refuses an addition to a nil set.
var errNoSet = fmt.Errorf("%w: the set of errors is nil: make one", ErrRegistration)

// AddSentinel lets errors.Is(err, target) hold for errors that were stored. The name is
// stored and must never change. An error of the engine keeps its identity without a name. One that is shared may be
// given the name that earlier releases stored it under: the name is only read.
func (s *Set) AddSentinel(name string, target error) error {
	if s == nil {
		return errNoSet
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	t := s.table()
	if err := t.checkName(name); err != nil {
		return err
	}
	if target == nil || isNilPointer(target) {
		return fmt.Errorf("%w: the error is nil: give a value that errors.Is can find", ErrRegistration)
	}
	if own := sentinelOf(target); own != nil && !own.shared() {
		return fmt.Errorf("%w: it is the engine's own %q, which keeps its identity by itself: leave it out", ErrRegistration, target.Error())
	}
	if !reflect.ValueOf(target).Comparable() {
		return fmt.Errorf("%w: values of %T cannot be compared: make it a pointer, or register its type", ErrRegistration, target)
	}
	if other, ok := t.targets[target]; ok {
		return fmt.Errorf("%w: the same error is already registered as %q: register it once", ErrRegistration, other)
	}
	s.extend(t, name, entry{target: target})
	return nil
}

// AddType lets errors.As find a T in errors that were stored. A T is stored as its JSON, so it needs exported fields.
// Tag a field that holds another error with `json:"-"`: it is nil when decoded, and that error is among the causes.
// The type must be the one that is returned, T or *T. The name is stored and must never change.
func AddType[T error](s *Set, name string) error {
	return s.addType(name, reflect.TypeFor[T]())
}

func (s *Set) addType(name string, typ reflect.Type) error {
	if s == nil {
		return errNoSet
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	t := s.table()
	if err := t.checkName(name); err != nil {
		return err
	}
	value := typ
	if typ.Kind() == reflect.Pointer {
		value = typ.Elem()
	}
	switch {
	case value.Kind() == reflect.Interface:
		return fmt.Errorf("%w: %v is an interface: give the type behind it", ErrRegistration, typ)
	case isOwn(typ):
		return fmt.Errorf("%w: the engine's own *orchestration.Error keeps its identity by itself: leave it out", ErrRegistration)
	}
	if other, ok := t.types[typ]; ok {
		return fmt.Errorf("%w: type %v is already registered as %q: register it once", ErrRegistration, typ, other)
	}
	if err := payload.Check(value); err != nil {
		return fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	s.extend(t, name, entry{typ: typ})
	return nil
}

// isOwn reports whether a type is Error or the one that users see of it.
func isOwn(typ reflect.Type) bool {
	if typ.Kind() != reflect.Pointer {
		return false
	}
	zero, ok := reflect.TypeAssert[error](reflect.New(typ.Elem()))
	return ok && own(zero) != nil
}

func (t *table) checkName(name string) error {
	if err := check.Name("error name", name); err != nil {
		return fmt.Errorf("%w: %w", ErrRegistration, err)
	}
	if _, ok := t.entries[name]; ok {
		return fmt.Errorf("%w: the name %q is given to another error: choose another one", ErrRegistration, name)
	}
	return nil
}

// sentinelName returns the name of err if it is a registered sentinel.
func (t *table) sentinelName(err error) (string, bool) {
	if !reflect.ValueOf(err).Comparable() {
		return "", false
	}
	name, ok := t.targets[err]
	return name, ok
}

// typeName returns the name of the type of err if that is registered.
func (t *table) typeName(err error) (string, bool) {
	name, ok := t.types[reflect.TypeOf(err)]
	return name, ok
}
