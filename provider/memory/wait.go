package memory

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// An attempt tells whether a blocking call is done and, if not, when it should look again
// although nothing changed (0: never).
type attempt func(now provider.Time) (done bool, again provider.Time, err error)

// wait repeats try, as one transaction each, after every change and at the instants that
// try names, until it is done, d has passed, the context is finished or the store closes.
func (p *Provider) wait(ctx context.Context, req request, d time.Duration, try attempt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return provider.ErrClosed
	}
	p.calls.Add(1)
	defer p.calls.Done()
	until := p.now().Add(min(d, provider.MaxWait))
	for !p.closed {
		now := p.now()
		done, again, err := try(now)
		changed := p.changed // taken under the lock, so that no change slips between
		p.unlock()
		if done || err != nil || now >= until {
			return err
		}
		if again == 0 || again > until {
			again = until
		}
		if err := p.sleep(ctx, changed, again.Sub(now)); err != nil {
			return err
		}
		p.mu.Lock()
	}
	p.mu.Unlock()
	return provider.ErrClosed
}

// sleep returns after d, or when changed is closed.
func (p *Provider) sleep(ctx context.Context, changed <-chan struct{}, d time.Duration) error {
	fired, stop := p.clock.Timer(d)
	defer stop()
	select {
	case <-fired:
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// sooner is the earlier of two instants, of which 0 means never.
func sooner(a, b provider.Time) provider.Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// notifier hands notices to those who asked for them.
type notifier struct {
	mu        sync.Mutex
	listeners map[*func(provider.Notice)]struct{}
}

func (n *notifier) ring(notices []provider.Notice) {
	if len(notices) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notice := range notices {
		for fn := range n.listeners {
			(*fn)(notice)
		}
	}
}

// Notify implements provider.Notifier. The lock makes stop wait for a running fn.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) {
	n := &p.bell
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[*func(provider.Notice)]struct{}{}
	}
	n.listeners[&fn] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, &fn)
	}
}

// notice tells the listeners after the transaction; event 0 concerns the whole execution.
func (p *Provider) notice(key provider.UUID, execution, event int64) {
	p.notices = append(p.notices, provider.Notice{Key: key, Execution: execution, EventID: event})
}
