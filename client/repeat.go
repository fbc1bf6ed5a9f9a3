package client

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

// A call asks the storage once.
type call func(ctx context.Context) error

// read repeats a call that changes nothing until the storage answers.
func (c *Client) read(ctx context.Context, doing string, ask call) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	_, err := c.repeat(ctx, doing, ask)
	return err
}

// write repeats a call that the storage recognises as a repeat. With an error, doubtful
// tells that one of the attempts may have been stored.
func (c *Client) write(ctx context.Context, doing string, ask call) (doubtful bool, err error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	return c.repeat(ctx, doing, ask)
}

// bound gives the call its deadline.
func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.timeout, errCallTimeout)
}

// errCallTimeout is a deadline exceeded that says which.
var errCallTimeout = fmt.Errorf("the storage did not answer within the client's CallTimeout: %w", context.DeadlineExceeded)

// repeat asks until the storage answers or ctx is finished. Once an attempt may have been
// stored the outcome stays doubtful, whatever later attempts are answered.
func (c *Client) repeat(ctx context.Context, doing string, ask call) (doubtful bool, err error) {
	if ctx.Err() != nil {
		return false, why(ctx)
	}
	var said error          // by the storage, before the deadline
	level := slog.LevelWarn // for the first failure; the others of an outage say no more
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err = ask(ctx)
		if err == nil {
			return false, nil
		}
		doubtful = doubtful || provider.OutcomeOf(err) != provider.OutcomeNothing
		if ctx.Err() != nil {
			if said != nil && errors.Is(err, ctx.Err()) {
				err = said
			}
			return doubtful, finished(ctx, err)
		}
		said = err
		// What happened without an answer is asked for again: the repeat is answered.
		if !provider.Retryable(err) && provider.OutcomeOf(err) != provider.OutcomeHappened {
			return doubtful, err
		}
		c.logger.Log(ctx, level, "storage call failed and is repeated", "call", doing, "error", err)
		level = slog.LevelDebug
		if !sleep(ctx, jitter(pause)) {
			return doubtful, finished(ctx, err)
		}
	}
}

// finished is the error of a call whose context ended, with what the storage said last.
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

// jitter spreads repeats of many clients: it answers half of d to d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// sleep tells whether d passed before ctx was finished.
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
