package access

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// MaxReason bounds the reason of a cancellation or termination, in bytes.
const MaxReason = 4 << 10

// Invalid wraps the error of a check in provider.ErrInvalid. nil stays nil.
func Invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", provider.ErrInvalid, err)
}

// Name refuses an ID or name that no storage would take.
func Name(what, name string) error { return Invalid(check.Name(what, name)) }

// Reason checks a reason, which may be empty.
func Reason(reason string) error {
	if len(reason) > MaxReason {
		return fmt.Errorf("%w: the reason has %d bytes: shorten it to %d", provider.ErrTooLarge, len(reason), MaxReason)
	}
	return Invalid(check.Text("reason", reason))
}

// Option returns the error of applying options. Those of options themselves say that they are invalid.
func Option(err error) error {
	if errors.Is(err, check.ErrNilOption) {
		return Invalid(err)
	}
	return err
}

// TimeBound sets a time bound of a filter in the storage's form, whose zero means none.
func TimeBound(stored *provider.Time, field string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return fmt.Errorf("%w: filter %s is in the year %d: give 1 to 9999", provider.ErrInvalid, field, year)
	}
	if *stored = provider.TimeOf(t); *stored == 0 {
		*stored = 1 // the epoch itself is a time like others
	}
	return nil
}
