package failure

import (
	"errors"
	"strings"
)

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
