package failure

import "encoding/json"

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
