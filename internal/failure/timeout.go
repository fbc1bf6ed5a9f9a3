package failure

import (
	"errors"
	"strings"
)

// timeoutType ends the stored type of a timeout, after its kind. No Go type has a blank in its name.
const timeoutType = " timeout"

// NewTimeout returns an error that is ErrTimeout and tells which limit has passed.
func NewTimeout(kind, format string, args ...any) error {
	err := New(ErrTimeout, format, args...)
	if e, ok := err.(*Error); ok { //nolint:errorlint // the value itself
		e.Type = kind + timeoutType
	}
	return err
}

// passed is what errors.As asks an *Error for.
type passed struct{ kind string }

func (*passed) Error() string { return "limit" }

// As implements the question of TimeoutKind.
func (e *Error) As(target any) bool {
	limit, ok := target.(**passed)
	if !ok || e.code != codeTimeout {
		return false
	}
	kind, ok := strings.CutSuffix(e.Type, timeoutType)
	if ok {
		*limit = &passed{kind: kind}
	}
	return ok
}

// TimeoutKind answers the kind that NewTimeout was given, wherever in the tree of err; ok is
// false if there is none.
func TimeoutKind(err error) (kind string, ok bool) {
	if limit, ok := errors.AsType[*passed](err); ok {
		return limit.kind, true
	}
	return "", false
}
