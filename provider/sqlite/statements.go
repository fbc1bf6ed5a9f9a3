package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// statements is what members of a group run. None takes a context: a group belongs to no
// caller, so that no caller's context may end it.
type statements interface {
	exec(sql string, args ...any) (int64, error)
	each(sql string, fn func(*row) error, args ...any) error
	one(sql string, fn func(*row), args ...any) (bool, error)
	integer(sql string, args ...any) (int64, error)
	instance(in *provider.Instance, key provider.UUID) (bool, error)
}

// writerContext is the writer's own. Its statements are bounded by the limits of the
// contract, its waits by the busy timeout.
func writerContext() context.Context {
	return context.Background() //nolint:forbidigo // see above: no caller's context may end a group
}

// unhurried runs statements of a connection under the writer's context.
type unhurried struct{ conn *conn }

func (u unhurried) exec(sql string, args ...any) (int64, error) {
	return u.conn.exec(writerContext(), sql, args...)
}

func (u unhurried) each(sql string, fn func(*row) error, args ...any) error {
	return u.conn.each(writerContext(), sql, fn, args...)
}

func (u unhurried) one(sql string, fn func(*row), args ...any) (bool, error) {
	return u.conn.one(writerContext(), sql, fn, args...)
}

func (u unhurried) integer(sql string, args ...any) (int64, error) {
	return u.conn.integer(writerContext(), sql, args...)
}

func (u unhurried) instance(in *provider.Instance, key provider.UUID) (bool, error) {
	return u.conn.instanceOf(writerContext(), in, sqlInstance, key)
}
