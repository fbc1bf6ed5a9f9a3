package client

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/amount"
)

// OverloadPolicy says what a start does while more work waits in the store than [Options].MaxBacklog allows.
type OverloadPolicy uint8

// The overload policies. The zero value is Block.
const (
	// Block waits until less work waits, bounded by the context only. Starts of a client wait in the order in which they came.
	Block OverloadPolicy = iota
	// Refuse returns ErrOverloaded; errors.As finds an *OverloadedError that says when to try again.
	Refuse
	// Admit stores the start nevertheless.
	Admit
)

func (p OverloadPolicy) check() error {
	if p > Admit {
		return fmt.Errorf("%w: overload policy %d: give Block, Refuse or Admit", ErrInvalid, p)
	}
	return nil
}

// WithOverload overrides Options.Overload for one start. If the client has no MaxBacklog it changes nothing.
func WithOverload(p OverloadPolicy) StartOption {
	return startFunc(func(o *startOptions) error {
		o.overload = &p
		return p.check()
	})
}

// OverloadedError describes the backlog. It is ErrOverloaded.
type OverloadedError struct {
	Turns      int64         // at the last look at the store, and starts of this client since
	Activities int64         // at the last look
	Most       string        // the largest part of it: `orchestration "Checkout"`, or `activity "Charge" of queue "default"`; "" if nothing waited
	Limit      int           // Options.MaxBacklog
	RetryAfter time.Duration // until the client looks again; an earlier start is refused, too
}

func (e *OverloadedError) Error() string {
	most := ""
	if e.Most != "" {
		most = ", most of it " + e.Most + ","
	}
	return fmt.Sprintf("%v: %s and %s%s and the limit is %d: start again later, or run more nodes",
		ErrOverloaded, amount.Of(e.Turns, "turn"), amount.Of(e.Activities, "activity"), most, e.Limit)
}

// Is makes it ErrOverloaded.
func (e *OverloadedError) Is(target error) bool { return target == ErrOverloaded }
