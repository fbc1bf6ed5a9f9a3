package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/provider"
)

// Delays before a storage call is repeated: the first, doubled each time up to the last.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// A Store makes calls of a storage. Calls that fail are repeated until the storage returns a result, the context ends or the
// timeout has passed. Any number of goroutines may use it at once.
type Store struct {
	*provider.Full

	Logger  *slog.Logger
	Timeout time.Duration // of one call, repeats included; 0: none
}

// Read makes a call that changes nothing, and returns the result of the first try that succeeds.
func Read[Req, Res any](ctx context.Context, s *Store, op string, call func(context.Context, Req) (Res, error), req Req) (res Res, err error) {
	_, err = s.Write(ctx, op, func(ctx context.Context) (err error) {
		res, err = call(ctx, req)
		return err
	})
	return res, err
}

// Now returns the time by the storage's clock.
func (s *Store) Now(ctx context.Context) (provider.Time, error) {
	const op = "reading the storage's clock"
	res, err := Read(ctx, s, op, s.List, provider.ListRequest{Max: 1, Filter: provider.Filter{Replaced: true}})
	if err != nil {
		return 0, Explain(op, 0, err)
	}
	return res.Now, nil
}

// Write makes a call that the store recognises when it is repeated. With an error, doubtful
// reports whether one of the tries may have been stored.
func (s *Store) Write(ctx context.Context, op string, call func(context.Context) error) (doubtful bool, err error) {
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	return s.Repeat(ctx, op, call)
}

// Bound gives a call its deadline.
func (s *Store) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.Timeout, errCallTimeout)
}

// errCallTimeout is a DeadlineExceeded that names the setting.
var errCallTimeout = fmt.Errorf("the storage did not answer within the client's CallTimeout: %w", context.DeadlineExceeded)

// Repeat asks until the store returns a result or ctx is finished. Once a try may have been
// stored the outcome stays doubtful, whatever later tries return.
func (s *Store) Repeat(ctx context.Context, op string, call func(context.Context) error) (doubtful bool, err error) {
	if ctx.Err() != nil {
		return false, Why(ctx)
	}
	var lastErr error       // by the storage, before the deadline
	level := slog.LevelWarn // of the first failure of an outage; the others are logged as debug
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err = call(ctx)
		if err == nil {
			return false, nil
		}
		doubtful = doubtful || provider.OutcomeOf(err) != provider.OutcomeNothing
		if ctx.Err() != nil {
			if lastErr != nil && errors.Is(err, ctx.Err()) {
				err = lastErr
			}
			return doubtful, finished(ctx, err)
		}
		lastErr = err
		// If it happened and only the result is missing, the repeat returns the result.
		if !provider.Retryable(err) && provider.OutcomeOf(err) != provider.OutcomeHappened {
			return doubtful, err
		}
		s.Logger.Log(ctx, level, "storage call failed and is repeated", "call", op, "error", err)
		level = slog.LevelDebug
		if !Sleep(ctx, jitter(pause)) {
			return doubtful, finished(ctx, err)
		}
	}
}

// finished is the error of a call whose context ended, with the last error of the storage.
func finished(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return Why(ctx)
	}
	return fmt.Errorf("%w (the storage said last: %w)", Why(ctx), err)
}

// Why returns the error of a finished context, with its cause if it has one of its own.
func Why(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// jitter spreads the repeats of many clients: it returns half of d to d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Sleep reports whether d passed before ctx was finished.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
