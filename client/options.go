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

// StartOption is an option of Start and StartNamed.
type StartOption interface {
	applyStart(o *startOptions) error
}

// RaiseOption is an option of Raise.
type RaiseOption interface {
	applyRaise(o *raiseOptions) error
}

// RequestIDOption is the answer of WithRequestID, which fits starts and events.
type RequestIDOption struct{ id string }

type startOptions struct {
	id        string
	policy    provider.IDPolicy
	requestID string
	delay     time.Duration
}

type raiseOptions struct{ requestID string }

type startFunc func(o *startOptions) error

func (f startFunc) applyStart(o *startOptions) error { return f(o) }

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

// WithDelay lets the orchestration begin only after d, measured by the storage's clock.
// The instance exists at once and takes events.
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
		if opt == nil {
			return invalid(check.ErrNilOption)
		}
		if err := opt.applyStart(o); err != nil {
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
		if opt == nil {
			return invalid(check.ErrNilOption)
		}
		if err := opt.applyRaise(o); err != nil {
			return err
		}
	}
	return nil
}
