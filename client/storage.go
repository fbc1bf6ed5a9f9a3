package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Delays before a storage call is repeated: the first, doubled each time up to the last.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// A storage is the store of a client. Calls that fail are repeated until the store returns a result, the context ends or the
// timeout has passed.
type storage struct {
	*provider.Full

	noHeaders sync.Once // the log has said that headers are left out

	logger  *slog.Logger
	timeout time.Duration // of one call, repeats included; 0: none
}

// read makes a call that changes nothing, and returns the result of the first try that succeeds.
func read[Req, Res any](ctx context.Context, s *storage, op string, call func(context.Context, Req) (Res, error), req Req) (res Res, err error) {
	_, err = s.write(ctx, op, func(ctx context.Context) (err error) {
		res, err = call(ctx, req)
		return err
	})
	return res, err
}

// write makes a call that the store recognises when it is repeated. With an error, doubtful
// reports whether one of the tries may have been stored.
func (s *storage) write(ctx context.Context, op string, call func(context.Context) error) (doubtful bool, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.repeat(ctx, op, call)
}

// bound gives a call its deadline.
func (s *storage) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.timeout, errCallTimeout)
}

// errCallTimeout is a DeadlineExceeded that names the setting.
var errCallTimeout = fmt.Errorf("the storage did not answer within the client's CallTimeout: %w", context.DeadlineExceeded)

// repeat asks until the store returns a result or ctx is finished. Once a try may have been
// stored the outcome stays doubtful, whatever later tries return.
func (s *storage) repeat(ctx context.Context, op string, call func(context.Context) error) (doubtful bool, err error) {
	if ctx.Err() != nil {
		return false, why(ctx)
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
		s.logger.Log(ctx, level, "storage call failed and is repeated", "call", op, "error", err)
		level = slog.LevelDebug
		if !sleep(ctx, jitter(pause)) {
			return doubtful, finished(ctx, err)
		}
	}
}

// finished is the error of a call whose context ended, with the last error of the storage.
func finished(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return why(ctx)
	}
	return fmt.Errorf("%w (the storage said last: %w)", why(ctx), err)
}

// why is the error of a finished context, with its cause if it has one of its own.
func why(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// jitter spreads the repeats of many clients: it returns half of d to d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// sleep reports whether d passed before ctx was finished.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// message encodes a body for an inbox.
func message(b history.Body) provider.NewMessage {
	return provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), EngineLevel: replay.LevelOfMessage(b), Payload: history.Encode(nil, history.Event{Body: b}),
	}
}

// storeTime returns the storage's time.
func (c *Client) storeTime(ctx context.Context, op string) (provider.Time, error) {
	page, err := read(ctx, c.store, op, c.store.List, provider.ListRequest{Max: 1})
	if err != nil {
		return 0, explain("reading the storage's time", 0, err)
	}
	return page.Now, nil
}
