package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Error is an error with everything that is stored of it. Users see another type, declared in package orchestration.
// It has the same fields, embeds a [Mark], and implements As with the function [As].
type Error struct {
	Mark

	// Type is the name that a sentinel or type was added to a Set with, else the name
	// of the Go type, such as *shop.DeclinedError. It is empty for errors made by the
	// packages errors and fmt.
	Type    string
	Message string
	// Details is the JSON of a registered type.
	Details json.RawMessage
	// NonRetryable tells retry policies to give up.
	NonRetryable bool
	Causes       []error
}

// Mark is the part of an error that users do not see.
type Mark struct {
	code       string // of an error of the engine, also one this release does not know
	registered bool   // Type is a name of a Set, also one this process does not know
	stands     error  // the sentinel or value that this error was before it was stored; is not stored itself
}

// marked is promoted to the types that embed a Mark, so that other errors are never asked for a view.
func (*Mark) marked() {}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the sentinel or value that e was before it was stored, if that is
// known, and the causes.
func (e *Error) Unwrap() []error { return Unwrap(&e.Mark, e.Causes) }

// As implements the method for [errors.As].
func (e *Error) As(target any) bool { return As(e, *e, target) }

// Unwrap returns the result of Unwrap for an error with a mark and the given causes.
func Unwrap(m *Mark, causes []error) []error {
	if m.stands == nil {
		return causes
	}
	return append([]error{m.stands}, causes...)
}

// view is the inside of an error that embeds a Mark.
type view struct {
	of error // the error itself, and not one that embeds it
	is Error
}

// As implements the method As of an error that embeds a Mark. e holds the parts of err.
func As(err error, e Error, target any) bool {
	switch t := target.(type) {
	case *view:
		*t = view{err, e}
		return true
	case **passed:
		return e.passed(t)
	}
	return false
}

// own returns the parts of err if it is an Error or the type that users see. It returns nil for all other errors and
// for a nil pointer.
func own(err error) (e *Error) {
	if e, ok := err.(*Error); ok { //nolint:errorlint // each error of the tree is looked at by itself
		return e
	}
	shows, ok := err.(interface {
		marked()
		As(target any) bool
	})
	if !ok || isNilPointer(err) {
		return nil
	}
	defer func() {
		if recover() != nil {
			e = nil
		}
	}()
	var v view
	if !shows.As(&v) || v.of != err { //nolint:errorlint // a type of users that embeds one is another error
		return nil
	}
	return &v.is
}

// unwrap returns the causes of err; none if finding them panics, or if err is a nil
// pointer.
func unwrap(err error) (causes []error) {
	if isNilPointer(err) {
		return nil
	}
	defer func() {
		if recover() != nil {
			causes = nil
		}
	}()
	if e := own(err); e != nil {
		return e.Causes
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	}
	return nil
}

// isNilPointer reports whether err is a nil pointer in an interface that is not nil, the
// usual trap of Go errors.
func isNilPointer(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// New returns an error with its own message that is kind, one of the engine's errors, for errors.Is. Errors given for
// %w are its causes.
func New(kind error, format string, args ...any) error { return Build(kind, format, args...) }

// Build is New for package orchestration, which makes its own type of the result.
func Build(kind error, format string, args ...any) *Error {
	text := fmt.Errorf(format, args...)
	e := &Error{Message: text.Error(), Causes: unwrap(text)}
	if s := sentinelOf(kind); s != nil {
		e.code, e.stands, e.NonRetryable = s.code, s.err, s.final
	} else {
		e.Causes = append(e.Causes, kind)
	}
	return e
}

// timeoutType ends the stored type of a timeout, after its kind. No Go type has a blank in its name.
const timeoutType = " timeout"

// NewTimeout returns an error that is ErrTimeout and names the timeout that has passed.
func NewTimeout(kind, format string, args ...any) error {
	e := Build(ErrTimeout, format, args...)
	e.Type = kind + timeoutType
	return e
}

// passed is the target with which errors.As asks an *Error for its kind.
type passed struct{ kind string }

func (*passed) Error() string { return "limit" }

// passed implements the question of TimeoutKind.
func (e *Error) passed(limit **passed) bool {
	if e.code != codeTimeout {
		return false
	}
	kind, ok := strings.CutSuffix(e.Type, timeoutType)
	if ok {
		*limit = &passed{kind: kind}
	}
	return ok
}

// TimeoutKind returns the kind that NewTimeout was given, wherever in the tree of err; ok is
// false if there is none.
func TimeoutKind(err error) (kind string, ok bool) {
	if limit, ok := errors.AsType[*passed](err); ok {
		return limit.kind, true
	}
	return "", false
}
