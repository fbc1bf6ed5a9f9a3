// Package propagate calls propagators of headers. Their faults never reach the callers.
package propagate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// reserved begins the keys of the engine itself.
const reserved = "perdure."

// Check returns why a header is not allowed: ErrTooLarge, or what an ErrInvalid would say.
func Check(h header.Map) error {
	for _, key := range slices.Sorted(maps.Keys(h)) {
		if err := check.Name("header key", key); err != nil {
			return err
		}
		if strings.HasPrefix(key, reserved) {
			return fmt.Errorf("header key %s begins with %q, which is reserved: choose another one", check.Quote(key), reserved)
		}
		if err := check.Text("header "+check.Quote(key), h[key]); err != nil {
			return err
		}
	}
	if n := len(history.EncodeHeader(h)); n > header.MaxBytes {
		return failure.New(failure.ErrTooLarge, "header has %d bytes, at most %d fit: store the data elsewhere and pass a reference", n, header.MaxBytes)
	}
	return nil
}

// Inject returns a header, as it is stored, with what was given and what the propagators add. It calls tell for each
// propagator whose part is left out. The given entries have passed Check.
func Inject(ctx context.Context, all []header.Propagator, given header.Map, report func(error)) []byte {
	if len(all) == 0 {
		return history.EncodeHeader(given)
	}
	h := maps.Clone(given)
	for _, p := range all {
		own := header.Map{}
		err := inject(ctx, p, own)
		maps.Copy(own, h) // what is there already counts
		if err == nil {
			err = Check(own)
		}
		if err != nil {
			report(fmt.Errorf("propagator %T: its part of the header is left out: %w", p, err))
			continue
		}
		h = own
	}
	return history.EncodeHeader(h)
}

// Add returns a stored header with what the span of the message adds, as far as there is room.
func Add(stored []byte, more header.Map) []byte {
	h := header.Map(history.DecodeHeader(stored))
	if h == nil {
		h = header.Map{}
	}
	maps.Copy(h, more)
	if Check(h) != nil {
		return stored
	}
	return history.EncodeHeader(h)
}

// Extract returns the context of an activity with what the propagators take from a stored header. It calls tell for each
// propagator that is left out.
func Extract(ctx context.Context, all []header.Propagator, stored []byte, report func(error)) context.Context {
	for _, p := range all {
		with, err := extract(ctx, p, stored)
		if err != nil {
			report(fmt.Errorf("propagator %T: the header is not extracted: %w", p, err))
			continue
		}
		ctx = with //nolint:fatcontext // each propagator adds its part
	}
	return ctx
}

// extract calls one propagator with a header of its own.
func extract(ctx context.Context, p header.Propagator, stored []byte) (with context.Context, err error) {
	h := header.Map(history.DecodeHeader(stored))
	if h == nil {
		h = header.Map{}
	}
	maps.DeleteFunc(h, func(key, _ string) bool { return strings.HasPrefix(key, reserved) })
	defer recovered(&err)
	with = p.Extract(ctx, h)
	if bind.AttemptOf(with) != bind.AttemptOf(ctx) {
		return nil, errNotDerived
	}
	return with, nil
}

var errNotDerived = errors.New("it returned no context that is derived from the one it was given")

func inject(ctx context.Context, p header.Propagator, h header.Map) (err error) {
	defer recovered(&err)
	p.Inject(ctx, h)
	return nil
}

// recovered turns a panic into an error. It must be deferred.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it panicked: %v", p)
	}
}

// CheckAll returns why an option Propagators is not allowed.
func CheckAll(all []header.Propagator) error {
	for i, p := range all {
		if check.IsNil(p) {
			return fmt.Errorf("option Propagators: number %d is nil: leave it out", i+1)
		}
	}
	return nil
}
