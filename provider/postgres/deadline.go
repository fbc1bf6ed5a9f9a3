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
	stop := context.AfterFunc(p.bound.shared(), cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// unheeding is led for a call that goes on whatever becomes of its caller.
func (p *Provider) unheeding(ctx context.Context) context.Context {
	return unheeding{p.bound.shared(), context.WithoutCancel(ctx)}
}

// A bound is the deadline of all calls that begin within an eighth of their time: a context and a timer for each would be a tenth of what a step
// leaves to the garbage collector.
type bound struct {
	limit time.Duration
	hard  context.Context //nolint:containedctx // it ends soon after the closing of the store began

	mu    sync.Mutex
	ctx   context.Context    //nolint:containedctx // which calls are given
	end   context.CancelFunc // that nobody needs: it ends by itself
	fresh time.Time          // as long as it is given to them
}

// shared answers the context of a call that begins now and belongs to no caller. It need not be cancelled.
func (b *bound) shared() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); b.ctx == nil || now.After(b.fresh) {
		b.ctx, b.end = context.WithTimeout(b.hard, b.limit)
		b.fresh = now.Add(b.limit / 8)
	}
	return b.ctx
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
