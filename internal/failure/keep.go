package failure

import (
	"errors"
	"reflect"

	"github.com/perdure/perdure/internal/history"
)

// identity is what errors.Is and errors.As find of a stored error: its registered name, or its code if it is the
// engine's.
type identity struct{ name, code string }

// identity returns the identity of err itself; ok is false for an error that has none.
func (t *table) identity(err error) (id identity, ok bool) {
	if name, registered := t.sentinelName(err); registered {
		return identity{name: name}, true
	}
	if isNilPointer(err) {
		return identity{}, false
	}
	if s := sentinelOf(err); s != nil {
		return identity{code: s.code}, true
	}
	if e := own(err); e != nil {
		if e.registered {
			id.name = e.Type
		}
		id.code = e.code
		return id, id != identity{}
	}
	name, registered := t.typeName(err)
	return identity{name: name}, registered
}

// keep adds to f what must survive when errs and their causes are left out. That is every sentinel and registered
// type that is not stored yet, without its causes. It returns the number of errors that are lost.
func (e *encoder) keep(f *history.Failure, errs []error) (lost int) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if e.visits <= 0 {
			return lost + 1
		}
		e.visits--
		_, err = e.set.plain(err)
		if !e.keepOne(f, err) {
			lost++
		}
		lost += e.keep(f, e.wrapped(err))
	}
	return lost
}

// keepOne reports whether err was added to f.
func (e *encoder) keepOne(f *history.Failure, err error) bool {
	id, ok := e.set.identity(err)
	if !ok || e.seen[id] || e.kept <= 0 {
		return false
	}
	one := e.single(err)
	if !one.Registered && one.Code == "" {
		return false // its details are too large, or cannot be encoded
	}
	e.kept--
	f.Causes = append(f.Causes, one)
	return true
}

// plain strips the wrappers that are stored as a mark or not at all from err. It reports whether err was marked as
// non-retryable. A join of one error is that error.
func (t *table) plain(err error) (marked bool, inner error) {
	for range maxVisits {
		if _, registered := t.sentinelName(err); registered {
			break
		}
		switch own := err.(type) { //nolint:errorlint // the value itself
		case *nonRetryableError:
			err, marked = own.err, true
			continue
		case *retryAfterError:
			err = own.err
			continue
		}
		only := joinOfOne(err)
		if only == nil {
			break
		}
		err = only
	}
	return marked, err
}

// joinOfOne returns the error that errors.Join was given if it was a single one, else nil.
func joinOfOne(err error) error {
	if reflect.TypeOf(err) != joined {
		return nil
	}
	if causes := unwrap(err); len(causes) == 1 {
		return causes[0]
	}
	return nil
}

//nolint:gochecknoglobals // constant: a type that the package errors does not export
var joined = reflect.TypeOf(errors.Join(ErrInvalid))
