package sqlite

import "context"

// statements run on the writer's connection or in a transaction of a caller.
type statements interface {
	exec(sql string, args ...any) (int64, error)
	each(sql string, fn func(*row) error, args ...any) error
	one(sql string, fn func(*row), args ...any) (bool, error)
	integer(sql string, args ...any) (int64, error)
}

// writerContext is the writer's own. Its statements are bounded by the limits of the contract, its waits by the busy timeout.
func writerContext() context.Context {
	return context.Background() //nolint:forbidigo // a group belongs to no caller: no caller's context may end it
}

// bound runs statements of a connection under one context.
type bound struct {
	ctx  context.Context //nolint:containedctx // of the call that it is made for, or of the writer
	conn *conn
}

func (b bound) exec(sql string, args ...any) (int64, error) { return b.conn.exec(b.ctx, sql, args...) }

func (b bound) each(sql string, fn func(*row) error, args ...any) error {
	return b.conn.each(b.ctx, sql, fn, args...)
}

func (b bound) one(sql string, fn func(*row), args ...any) (bool, error) {
	return b.conn.one(b.ctx, sql, fn, args...)
}

func (b bound) integer(sql string, args ...any) (int64, error) {
	return b.conn.integer(b.ctx, sql, args...)
}
