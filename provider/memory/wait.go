package memory

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// An attempt reports whether a blocking call is done and, if not, when it should try again without a change (0: never).
type attempt func(now provider.Time) (done bool, again provider.Time, err error)

// unboundedBy returns what reports whether a call that waits for work ignores its Wait, if that is half of provider.MaxWait or more. It then
// returns when it has a result, its context ends or the store closes. Only the clock of package orchestrationtest says so: each call that
// returns without a result costs a test in virtual time real time. Nil: no call does.
func unboundedBy(clock Source) func(ctx context.Context) bool {
	if c, ok := clock.(interface {
		Unbounded(ctx context.Context) bool
	}); ok {
		return c.Unbounded
	}
	return nil
}

// wait repeats try after every change and at the instants that try returns, each time as one transaction. It returns when try is
// done, d has passed, the context is finished or the store closes.
func (s *store) wait(ctx context.Context, req request, d time.Duration, try attempt) error {
	return s.waitFor(ctx, req, d, nil, try)
}

// waitFor is wait for a call that only its own changes concern; nil: every change does.
func (s *store) waitFor(ctx context.Context, req request, d time.Duration, own <-chan struct{}, try attempt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return provider.ErrClosed
	}
	s.calls.Add(1)
	defer s.calls.Done()
	endless := own == nil && s.unbounded != nil && d >= provider.MaxWait/2 && s.unbounded(ctx)
	until := s.now().Add(min(d, provider.MaxWait))
	for !s.closed {
		now := s.now()
		done, again, err := try(now)
		changed := own
		if changed == nil {
			changed = s.changed // read under the lock, so that no change is missed
		}
		s.unlock()
		if done || err != nil || !endless && now >= until {
			return err
		}
		if !endless {
			again = sooner(again, until)
		}
		if err := s.sleep(ctx, changed, now, again); err != nil {
			return err
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	return provider.ErrClosed
}

// sleep returns at the given instant, 0 for never, or when changed is closed.
func (s *store) sleep(ctx context.Context, changed <-chan struct{}, now, until provider.Time) error {
	var fired <-chan time.Time
	if until != 0 {
		at, stop := s.clock.Timer(until.Sub(now))
		defer stop()
		fired = at
	}
	select {
	case <-fired:
	case <-changed:
	case <-s.closing:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// sooner returns the earlier of two instants; 0 means never.
func sooner(a, b provider.Time) provider.Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
