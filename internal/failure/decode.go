package failure

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

// Decode returns a stored error. A sentinel of the engine that was stored bare is that sentinel. Any other error is
// an *Error in the form that users see. Encode of the result gives f again, also where f names errors that this
// process does not know. The result shares nothing with f.
func (s *Set) Decode(f history.Failure) error {
	kind := sentinelBy(f.Code)
	if kind != nil && isBare(f, kind) {
		return kind.err
	}
	e := &Error{
		Type: f.Type, Message: f.Message, Details: bytes.Clone(f.Details), NonRetryable: f.NonRetryable,
		Mark: Mark{code: f.Code, registered: f.Registered},
	}
	for _, cause := range f.Causes {
		e.Causes = append(e.Causes, s.Decode(cause))
	}
	if kind != nil {
		e.stands = kind.err
	} else if f.Registered {
		s.restore(e)
	}
	return s.shown(e)
}

// isBare reports whether f says no more than kind does.
func isBare(f history.Failure, kind *sentinel) bool {
	return f.Message == kind.message && f.NonRetryable == kind.final && len(f.Causes) == 0 &&
		f.Type == "" && len(f.Details) == 0 && !f.Registered
}

// restore returns the registered error that the name of e stands for. If the details do not fit the type, it returns
// an error that says so. That error can be seen but is not stored again, and the details still go to others.
func (s *Set) restore(e *Error) {
	known, ok := s.table().entries[e.Type]
	if !ok {
		return
	}
	if known.target != nil {
		e.stands = known.target
		return
	}
	t := known.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	value := reflect.New(t)
	if err := payload.Decode(e.Details, value.Interface()); err != nil {
		e.stands = fmt.Errorf("error registered as %q: %w", e.Type, err)
		return
	}
	if known.typ.Kind() != reflect.Pointer {
		value = value.Elem()
	}
	if err, ok := reflect.TypeAssert[error](value); ok {
		e.stands = err
	}
}
