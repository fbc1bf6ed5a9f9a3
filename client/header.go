package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/propagate"
	"github.com/perdure/perdure/internal/replay"
)

// CancelOption is an option of Cancel. [WithHeader] makes one.
type CancelOption interface {
	CancelOption()
}

// HeaderOption is an option of a start, an event, an update or a request to cancel.
type HeaderOption interface {
	RaiseOption
	CancelOption
	UpdateOption
}

type headerOption struct{ key, value string }

// StartOption makes o a [StartOption].
func (o headerOption) StartOption() {}

// RaiseOption makes o a [RaiseOption].
func (o headerOption) RaiseOption() {}

// CancelOption makes o a [CancelOption].
func (o headerOption) CancelOption() {}

func (o headerOption) applyUpdate(u *updateOptions) {
	if err := addHeader(&u.header, o); u.bad == nil {
		u.bad = err
	}
}

// WithHeader adds a key to the header of a start, an event, an update or a request to cancel; see package header for what
// may be in one. The last value given for a key counts, before what Options.Propagators add. A start's header reaches the
// activities and children of the instance. Those of an event, of an update and of a request to cancel are shown in the
// history only. An instance that exists already, as with [UseExisting], keeps its header.
//
// A store that nodes of earlier releases may use stores no headers: see the command upgrade. They are then left out, and the
// log says so once.
func WithHeader(key, value string) HeaderOption { return headerOption{key, value} }

// addHeader adds the key of an option.
func addHeader(to *header.Map, o headerOption) error {
	if *to == nil {
		*to = make(header.Map)
	}
	(*to)[o.key] = o.value
	err := propagate.Check(*to)
	if errors.Is(err, ErrTooLarge) {
		return err
	}
	return access.Invalid(err)
}

// applyCancel collects the header of a request to cancel.
func applyCancel(to *header.Map, opts []CancelOption) error {
	err := bind.Apply(opts, func(opt CancelOption) error {
		if o, ok := opt.(headerOption); ok {
			return addHeader(to, o)
		}
		return fmt.Errorf("%w: option of type %T: give what functions of package client made", ErrInvalid, opt)
	})
	if errors.Is(err, check.ErrNilOption) {
		return access.Invalid(err)
	}
	return err
}

// header returns the header of a call as it is stored, nil for none. Keys of a span are added last and override others.
func (c *Client) header(ctx context.Context, given, traced header.Map, inTx bool) []byte {
	if len(given)+len(traced) == 0 && len(c.propagators) == 0 {
		return nil
	}
	stored := propagate.Inject(ctx, c.propagators, given, func(err error) {
		c.store.Logger.Warn("header left out", "err", err)
	})
	if len(traced) > 0 {
		stored = propagate.Add(stored, traced)
	}
	if stored != nil && c.allowed(ctx, inTx) < replay.LevelOfHandlers {
		c.store.noHeaders.Do(func() {
			c.store.Logger.Warn("headers are left out: nodes of earlier releases may use the store; finish the upgrade with perdure upgrade --finish")
		})
		return nil
	}
	return stored
}
