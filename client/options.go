package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// IDPolicy says what a start does when its ID is in use.
type IDPolicy uint8

// The ID policies. The zero value is Reject.
const (
	// Reject returns ErrExists.
	Reject IDPolicy = iota
	// UseExisting returns a handle of the existing instance, running or ended.
	UseExisting
	// ReplaceEnded starts a new instance if the old one has ended, else it returns
	// ErrExists. The old one stays readable by its key.
	ReplaceEnded
	// UseRunning returns a handle of the existing instance if it runs, and starts a new one if it has ended: the events and the update of the
	// start go to whichever it is, once, also if answers of the storage are lost and the start is repeated with its request ID.
	// If somebody else replaces the ended one in between, the error is ErrOutcomeUnknown.
	UseRunning
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
	case UseRunning:
		return provider.IDUseExisting, nil
	default:
		return 0, fmt.Errorf("%w: ID policy %d: give Reject, UseExisting, ReplaceEnded or UseRunning", ErrInvalid, p)
	}
}

// StartOption is an option of Start and StartNamed. Functions of this package make one. The package of the
// store makes one from a transaction of the caller, as postgres.InTx does. The method is exported because
// the package of the store has it, too. Other types that have it are refused.
type StartOption interface {
	StartOption()
}

// RaiseOption is an option of Raise, and of a start, too. WithRequestID makes one. The package of
// the store makes one from a transaction of the caller, as postgres.InTx does.
type RaiseOption interface {
	StartOption
	RaiseOption()
}

type startOptions struct {
	raiseOptions

	id       string
	policy   provider.IDPolicy
	replaces provider.UUID // with IDReplaceEnded: only this instance

	useRunning  bool // with IDUseExisting: an ended instance is replaced
	updateNamed bool // update has an ID of the caller, who may have sent it before

	delay    time.Duration
	overload *OverloadPolicy // nil: that of the client

	end func(error) // of the span; nil: none has begun

	system    bool   // the orchestration is one of perdure itself
	version   string // of the code
	versioned bool   // false: the newest

	withinAct bool // an act of the principal, which is checked and in the audit, needs the start

	kind   Act    // "": ActStart
	detail string // for the audit; "": the name
	alone  bool   // it is not part of a transaction of the caller

	attributes []provider.Attribute
	limit      reserved.Limit          // For is 0: none
	graced     bool                    // its Grace is given
	messages   []history.Body          // delivered with the start, or to the existing instance
	update     *history.UpdateReceived // of messages; nil: none
	resend     bool                    // an instance that the request ID names may lack the update

	started *history.ExecutionStarted // of the request
}

type raiseOptions struct {
	requestID string
	tx        *provider.Tx // nil: a transaction of the store's own
	header    header.Map
}

type startFunc func(o *startOptions) error

// StartOption makes f a [StartOption].
func (f startFunc) StartOption() {}

type raiseFunc func(o *raiseOptions) error

// StartOption makes f a [StartOption].
func (f raiseFunc) StartOption() {}

// RaiseOption makes f a [RaiseOption].
func (f raiseFunc) RaiseOption() {}

// WithID chooses the instance's ID: 1 to 512 bytes of UTF-8 without NUL. Without it the
// ID is a UUID of version 7. The part before the first exclamation mark is a tag: a
// store over several databases keeps the instances of a tag together.
func WithID(id string) StartOption {
	return startFunc(func(o *startOptions) error {
		o.id = id
		return access.Name("instance ID", id)
	})
}

// WithVersion chooses the version of the orchestration's code: see orchestration.Version. The empty version is code without
// one. Without the option, Start takes the version of its function, and StartNamed the newest that a node has registered.
func WithVersion(version string) StartOption {
	return startFunc(func(o *startOptions) error {
		o.version, o.versioned = version, true
		return access.Invalid(check.OptionalName("version", version))
	})
}

// WithIDPolicy says what to do when the ID is in use. Without it the start is rejected.
func WithIDPolicy(p IDPolicy) StartOption {
	return startFunc(func(o *startOptions) (err error) {
		o.policy, err = p.stored()
		o.useRunning = p == UseRunning
		return err
	})
}

// WithDelay delays the code of the orchestration by d, measured by the storage's clock. The instance exists at once, receives
// events, and shows the delay as a timer. If it is cancelled within the delay, it ends at once, and its code never begins.
//
// Upgrade nodes before clients that use it: nodes of earlier releases leave delayed starts to newer
// ones.
func WithDelay(d time.Duration) StartOption {
	return startFunc(func(o *startOptions) error {
		if d < 0 {
			return fmt.Errorf("%w: start delay %v is negative: give zero or more", ErrInvalid, d)
		}
		o.delay = d
		return nil
	})
}

// WithRequestID makes a start or an event repeatable: repeated with the same
// request ID, it is stored or handled once only. A start must have [WithID], too, so that it is
// found again. An event's request ID must differ from those of other events to the
// instance, which remembers the last 10,000. Without this option each call is another request;
// the client's own repeats after storage failures are recognised all the same.
func WithRequestID(id string) RaiseOption {
	return raiseFunc(func(o *raiseOptions) error {
		o.requestID = id
		return access.Name("request ID", id)
	})
}

func (o *startOptions) apply(opts []StartOption) error {
	err := bind.Apply(opts, func(opt StartOption) error {
		if f, ok := opt.(startFunc); ok {
			return f(o)
		}
		return o.set(opt)
	})
	switch {
	case errors.Is(err, check.ErrNilOption):
		return access.Invalid(err)
	case err == nil && o.alone && o.tx != nil:
		return fmt.Errorf("%w: a transaction cannot be part of many starts, which are made at the same time: start these one by one", ErrInvalid)
	case err == nil && o.requestID != "" && o.id == "":
		return fmt.Errorf("%w: WithRequestID without WithID: a repeat finds the first start by its instance ID; give both", ErrInvalid)
	case err == nil:
		err = o.checkLimit()
	}
	return err
}

func (o *raiseOptions) apply(opts []RaiseOption) error {
	err := bind.Apply(opts, func(opt RaiseOption) error { return o.set(opt) })
	if errors.Is(err, check.ErrNilOption) {
		return access.Invalid(err)
	}
	return err
}

// set applies an option of both starts and events.
func (o *raiseOptions) set(opt StartOption) error {
	switch opt := opt.(type) {
	case raiseFunc:
		return opt(o)
	case headerOption:
		return addHeader(&o.header, opt)
	case provider.Tx:
		o.tx = &opt
		return nil
	}
	return fmt.Errorf("%w: option of type %T: give what functions of package client or InTx of the store's package made", ErrInvalid, opt)
}
