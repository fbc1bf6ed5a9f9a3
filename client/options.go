package client

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// IDPolicy says what a start does when its ID is in use.
type IDPolicy uint8

// The ID policies. The zero value is Reject.
const (
	// Reject answers ErrExists.
	Reject IDPolicy = iota
	// UseExisting answers a handle of the instance that is there, running or ended.
	UseExisting
	// ReplaceEnded starts a new instance if the old one has ended, and else answers
	// ErrExists. The old one stays readable by its key.
	ReplaceEnded
)

// stored is the policy as the storage knows it.
func (p IDPolicy) stored() (provider.IDPolicy, error) {
	switch p {
	case Reject:
		return provider.IDReject, nil
	case UseExisting:
		return provider.IDUseExisting, nil
	case ReplaceEnded:
		return provider.IDReplaceEnded, nil
	default:
		return 0, fmt.Errorf("%w: ID policy %d: give Reject, UseExisting or ReplaceEnded", ErrInvalid, p)
	}
}

// StartOption is an option of Start and StartNamed: one that a function of this package made, or a
// transaction of the caller, made by the package of the store, such as postgres.InTx.
type StartOption interface {
	StartOption() // tells it from other values
}

// RaiseOption is an option of Raise: one that a function of this package made, or a
// transaction of the caller, made by the package of the store, such as postgres.InTx.
type RaiseOption interface {
	RaiseOption() // tells it from other values
}

// What this package makes itself, beside provider.Tx.
type (
	startSetting interface {
		applyStart(o *startOptions) error
	}
	raiseSetting interface {
		applyRaise(o *raiseOptions) error
	}
)

// RequestIDOption is the answer of WithRequestID, which fits starts and events.
type RequestIDOption struct{ id string }

type startOptions struct {
	id        string
	policy    provider.IDPolicy
	requestID string
	delay     time.Duration
	overload  *OverloadPolicy // nil: that of the client
	tx        *provider.Tx    // nil: a transaction of the store's own
}

type raiseOptions struct {
	requestID string
	tx        *provider.Tx
}

type startFunc func(o *startOptions) error

func (f startFunc) applyStart(o *startOptions) error { return f(o) }

// StartOption makes f a [StartOption].
func (f startFunc) StartOption() {}

// WithID chooses the instance's ID: 1 to 512 bytes of UTF-8 without NUL. Without it the
// ID is a UUID of version 7.
func WithID(id string) StartOption {
	return startFunc(func(o *startOptions) error {
		o.id = id
		return checkName("instance ID", id)
	})
}

// WithIDPolicy says what to do when the ID is in use. Without it the start is rejected.
func WithIDPolicy(p IDPolicy) StartOption {
	return startFunc(func(o *startOptions) (err error) {
		o.policy, err = p.stored()
		return err
	})
}

// WithDelay lets the code of the orchestration begin only after d, measured by the storage's clock. The instance exists at once, takes
// events, and shows the delay as a timer. Cancelled before, it ends at once, and its code never begins.
//
// Upgrade nodes before clients that use it: a node of an earlier release leaves such a start to newer nodes.
func WithDelay(d time.Duration) StartOption {
	return startFunc(func(o *startOptions) error {
		if d < 0 {
			return fmt.Errorf("%w: start delay %v is negative: give zero or more", ErrInvalid, d)
		}
		o.delay = d
		return nil
	})
}

// WithRequestID makes a start or an event repeatable: asked for again with the same
// request ID, it is stored or handled once only. A start needs [WithID], too, to be
// found again; an event's request ID must differ from those of other events to the
// instance, which remembers the last 10,000. Without this option each call is another request,
// whose repeats after storage failures are recognised all the same.
func WithRequestID(id string) RequestIDOption { return RequestIDOption{id: id} }

// StartOption makes r a [StartOption].
func (r RequestIDOption) StartOption() {}

// RaiseOption makes r a [RaiseOption].
func (r RequestIDOption) RaiseOption() {}

func (r RequestIDOption) applyStart(o *startOptions) error {
	o.requestID = r.id
	return checkName("request ID", r.id)
}

func (r RequestIDOption) applyRaise(o *raiseOptions) error {
	o.requestID = r.id
	return checkName("request ID", r.id)
}

func (o *startOptions) apply(opts []StartOption) error {
	for _, opt := range opts {
		var err error
		switch opt := opt.(type) {
		case nil:
			err = invalid(check.ErrNilOption)
		case startSetting:
			err = opt.applyStart(o)
		case provider.Tx:
			o.tx = &opt
		default:
			err = strangeOption(opt)
		}
		if err != nil {
			return err
		}
	}
	if o.requestID != "" && o.id == "" {
		return fmt.Errorf("%w: WithRequestID without WithID: a repeat finds the first start by its instance ID; give both", ErrInvalid)
	}
	return nil
}

func (o *raiseOptions) apply(opts []RaiseOption) error {
	for _, opt := range opts {
		var err error
		switch opt := opt.(type) {
		case nil:
			err = invalid(check.ErrNilOption)
		case raiseSetting:
			err = opt.applyRaise(o)
		case provider.Tx:
			o.tx = &opt
		default:
			err = strangeOption(opt)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// strangeOption refuses what only looks like an option.
func strangeOption(opt any) error {
	return fmt.Errorf("%w: option of type %T: give what functions of package client or InTx of the store's package made", ErrInvalid, opt)
}
