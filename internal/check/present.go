package check

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
)

// IsNil reports whether an interface holds nothing or a nil pointer, as after an ignored error of an open or a
// constructor.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// Context refuses a nil context.
func Context(ctx context.Context) error {
	if IsNil(ctx) {
		return errors.New("the context is nil: pass the caller's, or context.Background()")
	}
	return nil
}

// Logger refuses a logger that would panic at its first record. nil is allowed.
func Logger(l *slog.Logger) error {
	if l != nil && l.Handler() == nil {
		return errors.New("Logger has no handler: make it with slog.New, or leave it nil for slog.Default()")
	}
	return nil
}
