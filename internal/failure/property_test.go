package failure

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// trees generates errors of at most the given depth.
func trees(depth int) *rapid.Generator[error] {
	leaf := rapid.OneOf(
		rapid.SampledFrom([]error{errDeclined, errStock, fs.ErrNotExist, &fs.PathError{Op: "open", Path: "p", Err: fs.ErrNotExist}}),
		rapid.Custom(func(t *rapid.T) error { return errors.New(rapid.String().Draw(t, "text")) }),
		rapid.Custom(func(t *rapid.T) error { return &limitError{Limit: rapid.Int().Draw(t, "limit")} }),
		rapid.Custom(func(t *rapid.T) error { return codeError(rapid.Int().Draw(t, "code")) }),
		rapid.Custom(func(t *rapid.T) error { return &plainError{rapid.String().Draw(t, "plain")} }),
		rapid.SampledFrom(kinds()),
	)
	if depth <= 1 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[error] { return trees(depth - 1) })
	return rapid.OneOf(
		leaf,
		rapid.Custom(func(t *rapid.T) error { return fmt.Errorf("wrapped: %w", inner.Draw(t, "inner")) }),
		rapid.Custom(func(t *rapid.T) error { return errors.Join(inner.Draw(t, "a"), inner.Draw(t, "b")) }),
		rapid.Custom(func(t *rapid.T) error { return NonRetryable(inner.Draw(t, "inner")) }),
		rapid.Custom(func(t *rapid.T) error { return &limitError{Limit: 1, Cause: inner.Draw(t, "inner")} }),
		rapid.Custom(func(t *rapid.T) error {
			return New(rapid.SampledFrom(kinds()).Draw(t, "kind"), "engine: %w", inner.Draw(t, "inner"))
		}),
		rapid.Custom(func(t *rapid.T) error {
			return &Error{
				Type: rapid.String().Draw(t, "type"), Message: rapid.String().Draw(t, "message"), Details: rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "details"),
				NonRetryable: rapid.Bool().Draw(t, "mark"), Causes: []error{inner.Draw(t, "inner")},
			}
		}),
	)
}

func kinds() []error {
	return []error{
		ErrCancelled, ErrTimeout, ErrPoisoned, ErrWorkerLost, ErrTerminated, ErrPayload,
		ErrTooLarge, ErrHistoryFull, ErrExists, ErrPanic, ErrNotRegistered, ErrInvalid,
	}
}

func TestRoundTripProperty(t *testing.T) {
	s := newSet(t)
	tree := trees(6)
	rapid.Check(t, func(t *rapid.T) {
		err := tree.Draw(t, "err")
		f, got := store(t, s, err)
		if got.Error() != err.Error() {
			t.Fatalf("message %q became %q", err, got)
		}
		for _, target := range append(kinds(), errDeclined, errStock, fs.ErrNotExist) {
			if errors.Is(err, target) != errors.Is(got, target) {
				t.Fatalf("errors.Is(%v) was %v", target, errors.Is(err, target))
			}
		}
		if IsNonRetryable(err) != IsNonRetryable(got) {
			t.Fatalf("the mark was %v", IsNonRetryable(err))
		}
		sameAs[*limitError](t, err, got)
		sameAs[codeError](t, err, got)
		if again := s.Encode(got); !reflect.DeepEqual(again, f) {
			t.Fatalf("stored again, %+v is %+v", f, again)
		}
		// A process that knows no name passes everything on.
		var unknown *Set
		if again := unknown.Encode(unknown.Decode(f)); !reflect.DeepEqual(again, f) {
			t.Fatalf("passed on, %+v is %+v", f, again)
		}
	})
}

func sameAs[T error](t *rapid.T, before, after error) {
	a, inBefore := errors.AsType[T](before)
	b, inAfter := errors.AsType[T](after)
	if inBefore != inAfter || inBefore && a.Error() != b.Error() {
		t.Fatalf("%T was %v, is %v", a, a, b)
	}
}
