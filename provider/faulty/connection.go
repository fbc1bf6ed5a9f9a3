package faulty

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// line is the connection to the store.
type line struct {
	broken bool
	until  <-chan struct{} // the connection is back when this is closed; nil counts as closed,
	back   time.Time       // and this instant has passed; zero: only Reconnect restores it
}

// down reports whether the connection is broken. It restores the connection when its time has come.
func (l *line) down(now time.Time) bool {
	if !l.broken || l.back.IsZero() || now.Before(l.back) {
		return l.broken
	}
	if l.until != nil {
		select {
		case <-l.until:
		default:
			return true
		}
	}
	l.broken = false
	return false
}

// Disconnect breaks the connection until Reconnect. Calls in progress fail at once. A write fails with an unknown outcome, and the
// seed decides whether it happened. A read or blocked call has no effect. Later calls fail without effect.
func (p *Plan) Disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disconnect(line{broken: true})
}

// Reconnect restores the connection.
func (p *Plan) Reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = line{}
}

// errLost ends calls whose connection breaks.
var errLost = errors.New("connection lost")

// disconnect ends the calls in progress; the caller holds the lock.
func (p *Plan) disconnect(l line) {
	p.line = l
	for f := range p.flights {
		f.end(errLost)
	}
}

// flight is a call in progress. Its context ends with the connection, the provider or the caller's context.
type flight struct {
	owner *Provider
	ctx   context.Context //nolint:containedctx // it lives as long as the call
	end   context.CancelCauseFunc
}

// depart begins a call; the caller holds the lock.
func (p *Plan) depart(ctx context.Context, owner *Provider) *flight {
	f := &flight{owner: owner}
	f.ctx, f.end = context.WithCancelCause(ctx)
	p.flights[f] = struct{}{}
	if owner.closed {
		f.end(provider.ErrClosed)
	}
	return f
}

func (p *Plan) land(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flights, f)
	f.end(nil)
}

// ground ends the calls in progress of a closing provider.
func (p *Plan) ground(owner *Provider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	owner.closed = true
	for f := range p.flights {
		if f.owner == owner {
			f.end(provider.ErrClosed)
		}
	}
}

// lost reports whether the connection broke during the call.
func (f *flight) lost() bool { return errors.Is(context.Cause(f.ctx), errLost) }

// why returns the reason for the end of the flight as an error of the contract.
func (f *flight) why() error {
	if cause := context.Cause(f.ctx); errors.Is(cause, provider.ErrClosed) {
		return cause
	}
	return f.ctx.Err()
}
