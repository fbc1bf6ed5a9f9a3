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
	until  <-chan struct{} // it is back when this is closed, nil counts as closed,
	back   time.Time       // and this has come; zero: only Reconnect brings it back
}

// down tells whether the connection is broken, and brings it back when its time has come.
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

// Disconnect breaks the connection until Reconnect. Calls in progress fail at once: of a call that changes the store
// nobody knows the outcome, and the seed says whether it has happened; one that only reads or was blocked has no effect.
// Later calls fail and have none.
func (p *Plan) Disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disconnect(line{broken: true})
}

// Reconnect brings the connection back.
func (p *Plan) Reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = line{}
}

// errLost ends the flights of calls over a connection that breaks.
var errLost = errors.New("connection lost")

// disconnect ends the calls in progress; the caller holds the lock.
func (p *Plan) disconnect(l line) {
	p.line = l
	for f := range p.flights {
		f.end(errLost)
	}
}

// flight is a call in progress. Its context ends with the connection, with the provider, and with the caller's.
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

// ground ends the calls in progress of a provider that closes.
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

// lost tells whether the connection broke under the call.
func (f *flight) lost() bool { return errors.Is(context.Cause(f.ctx), errLost) }

// why is what ended the flight, in the words of the contract.
func (f *flight) why() error {
	if cause := context.Cause(f.ctx); errors.Is(cause, provider.ErrClosed) {
		return cause
	}
	return f.ctx.Err()
}
