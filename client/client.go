package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// defaultCallTimeout is Options.CallTimeout if that is zero.
const defaultCallTimeout = 30 * time.Second

// Options are the settings of a Client. The zero value is right for most.
type Options struct {
	// Logger is told about storage calls that failed and are repeated; default: slog.Default().
	Logger *slog.Logger
	// Errors are the errors of user code that errors.Is and errors.As find in a failed
	// instance; take them from the registry. nil: errors keep message and type name only.
	Errors *orchestration.Errors
	// CallTimeout bounds what a method spends on one call of the storage, repeats after
	// storage failures included; default 30 s. orchestration.Off: the context alone bounds it.
	// Handle.Wait is bounded by its context only, also while the storage is away.
	CallTimeout time.Duration
	// MaxBacklog holds starts back while as many turns and activities wait in the store: such as could run, and no node has taken
	// yet. Give more than the nodes take in a tenth of a second, and less than they do in the time that a step may wait. Starts inside a transaction
	// of the caller are never made to wait, since nodes may be waiting for that. 0: no limit.
	MaxBacklog int
	// Overload says what a start does meanwhile; default Block. WithOverload goes before it.
	Overload OverloadPolicy
}

// Client starts, observes and steers the instances of a store. Make it with [New]. It may
// be used from many goroutines at once, starts none itself and need not be closed.
type Client struct {
	store   provider.Provider
	logger  *slog.Logger
	errors  *failure.Set
	timeout time.Duration // of one storage call, repeats included; 0: none
	backlog *backlog      // nil: no limit
	policy  OverloadPolicy
	fault   error // what makes every call fail
}

// New makes a client of a store. It does not touch the store. Without a store, or with an
// option that is not allowed, every call of the client answers ErrInvalid.
func New(store provider.Provider, opts Options) *Client {
	c := &Client{store: store, logger: opts.Logger, timeout: opts.CallTimeout, policy: opts.Overload}
	if c.errors = bind.SetOf(opts.Errors); c.errors == nil {
		c.errors = bind.SetOf(orchestration.NewErrors())
	}
	if opts.MaxBacklog > 0 {
		c.backlog = newBacklog(opts.MaxBacklog, c.waiting)
	}
	if c.logger == nil {
		c.logger = slog.Default()
	}
	badLogger := check.Logger(opts.Logger)
	switch {
	case check.IsNil(store):
		c.fault = fmt.Errorf("%w: the client has no store: give client.New an open one", ErrInvalid)
	case badLogger != nil:
		c.fault = fmt.Errorf("%w: client option %w", ErrInvalid, badLogger)
	case opts.MaxBacklog < 0:
		c.fault = fmt.Errorf("%w: client option MaxBacklog is %d: give 1 or more, or 0 for no limit", ErrInvalid, opts.MaxBacklog)
	case opts.Overload.check() != nil:
		c.fault = fmt.Errorf("client option Overload: %w", opts.Overload.check())
	case opts.CallTimeout == 0:
		c.timeout = defaultCallTimeout
	case opts.CallTimeout == orchestration.Off:
		c.timeout = 0
	case opts.CallTimeout < 0:
		c.fault = fmt.Errorf("%w: client option CallTimeout is %v: give more than zero, 0 for %v, or orchestration.Off (-1) for none",
			ErrInvalid, opts.CallTimeout, defaultCallTimeout)
	}
	return c
}

var errNoClient = errors.New("there is no client: make one with client.New")

// usable refuses a nil or zero Client, one that was made with bad options, and a nil context.
func (c *Client) usable(ctx context.Context) error {
	if c == nil || (c.store == nil && c.fault == nil) {
		return fmt.Errorf("%w: %w", ErrInvalid, errNoClient)
	}
	if c.fault != nil {
		return c.fault
	}
	return invalid(check.Context(ctx))
}

// mayEnd checks what cancelling and terminating are given.
func (c *Client) mayEnd(ctx context.Context, reason string) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	return checkReason(reason)
}
