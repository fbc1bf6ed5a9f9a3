package postgres

import (
	"context"
	"net"
	"sync"
	"time"
)

// bounded gives a call of the database its deadline.
func (p *Provider) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	stop := context.AfterFunc(p.hard, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// led is bounded for a call that is over soon, as a rule: it may have an eighth less time.
func (p *Provider) led(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.calling.Context(), cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// unheeding is led for a call that goes on whatever becomes of its caller.
func (p *Provider) unheeding(ctx context.Context) context.Context {
	return unheeding{p.calling.Context(), context.WithoutCancel(ctx)}
}

// unheeding is a shared context that has the values of a caller's, for whom it may concern on the way to a connection.
type unheeding struct {
	context.Context //nolint:containedctx // it is one

	values context.Context //nolint:containedctx // without an end
}

// Value implements [context.Context].
func (u unheeding) Value(key any) any {
	if v := u.values.Value(key); v != nil {
		return v
	}
	return u.Context.Value(key)
}

// interrupting has whatever waits on a socket fail when a context ends, until stop is called. Then the socket is as it was, and stop tells whether
// that has happened.
func interrupting(ctx context.Context, socket net.Conn) (stop func() (interrupted bool)) {
	var over sync.WaitGroup
	over.Add(1)
	release := context.AfterFunc(ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0))
		over.Done()
	})
	return func() bool {
		if release() {
			return false
		}
		over.Wait()
		_ = socket.SetDeadline(time.Time{})
		return true
	}
}
