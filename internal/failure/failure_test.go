package failure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/payload"
)

var (
	errDeclined = errors.New("card declined")
	errStock    = errors.New("out of stock")
)

type limitError struct {
	Limit int
	Cause error `json:"-"`
}

func (e *limitError) Error() string { return fmt.Sprintf("limit of %d reached", e.Limit) }
func (e *limitError) Unwrap() error { return e.Cause }

type codeError int

func (e codeError) Error() string { return fmt.Sprintf("code %d", int(e)) }

type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

func newSet(tb testing.TB) *Set {
	tb.Helper()
	s := new(Set)
	for _, err := range []error{
		s.AddSentinel("declined", errDeclined), s.AddSentinel("stock", errStock), s.AddSentinel("not-exist", fs.ErrNotExist),
		AddType[*limitError](s, "limit"), AddType[codeError](s, "code"),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// store sends err through its encoding to another process.
func store(t interface{ Fatal(args ...any) }, s *Set, err error) (history.Failure, error) {
	f, failed := history.DecodeFailure(history.EncodeFailure(s.Encode(err)))
	if failed != nil {
		t.Fatal(failed)
	}
	return f, s.Decode(f)
}

func TestSentinelOfUser(t *testing.T) {
	s := newSet(t)
	for _, err := range []error{
		errDeclined, fmt.Errorf("charging: %w", errDeclined), errors.Join(errStock, errDeclined),
		NonRetryable(errDeclined), fmt.Errorf("a: %w", fmt.Errorf("b: %w", NonRetryable(errDeclined))),
		New(ErrTimeout, "charging: %w", errDeclined), &Error{Message: "m", Causes: []error{errDeclined}},
	} {
		_, got := store(t, s, err)
		if !errors.Is(got, errDeclined) || got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
		if errors.Is(got, errStock) != errors.Is(err, errStock) {
			t.Errorf("%v is out of stock, too", got)
		}
		if IsNonRetryable(got) != IsNonRetryable(err) {
			t.Errorf("%v: the mark is wrong", err)
		}
	}
	if _, got := store(t, nil, errDeclined); errors.Is(got, errDeclined) || got.Error() != "card declined" {
		t.Errorf("without registration: %v", got)
	}
}

func TestTypeOfUser(t *testing.T) {
	s := newSet(t)
	f, got := store(t, s, fmt.Errorf("paying: %w", &limitError{Limit: 7, Cause: errStock}))
	limit, ok := errors.AsType[*limitError](got)
	if !ok || limit.Limit != 7 || !errors.Is(got, errStock) || got.Error() != "paying: limit of 7 reached" {
		t.Errorf("got %v from %+v", got, f)
	}
	inner := f.Causes[0]
	if inner.Type != "limit" || !inner.Registered || string(inner.Details) != `{"Limit":7}` {
		t.Errorf("stored %+v", inner)
	}
	_, got = store(t, s, codeError(404))
	if code, ok := errors.AsType[codeError](got); !ok || code != 404 {
		t.Errorf("got %v", got)
	}
}

// A process that does not know an error passes it on so that the next one does.
func TestPassingThroughAnotherProcess(t *testing.T) {
	s := newSet(t)
	for _, err := range []error{errDeclined, &limitError{Limit: 3}, New(ErrExists, "id"), ErrPoisoned} {
		f := s.Encode(fmt.Errorf("child: %w", err))
		var other Set
		again := other.Encode(other.Decode(f))
		if !reflect.DeepEqual(again, f) {
			t.Errorf("%v: %+v became %+v", err, f, again)
		}
	}
	newer := history.Failure{Code: "of-a-newer-release", Message: "m", Causes: []history.Failure{{Code: "timeout", Message: "timed out"}}}
	got := s.Decode(newer)
	if !errors.Is(got, ErrTimeout) || !reflect.DeepEqual(s.Encode(got), newer) {
		t.Errorf("%+v became %+v", newer, s.Encode(got))
	}
}

func TestDetailsThatNoLongerFit(t *testing.T) {
	s := newSet(t)
	f := history.Failure{Type: "limit", Registered: true, Message: "m", Details: []byte(`{"Limit":"seven"}`)}
	got := s.Decode(f)
	if _, ok := errors.AsType[*limitError](got); ok || !errors.Is(got, payload.ErrDecode) || got.Error() != "m" {
		t.Errorf("got %#v", got)
	}
	if again := s.Encode(got); !reflect.DeepEqual(again, f) {
		t.Errorf("stored again as %+v", again)
	}
}

func TestEngineSentinels(t *testing.T) {
	codes := []string{
		"cancelled", "timeout", "poisoned", "worker-lost", "terminated", "forked", "payload",
		"too-large", "history-full", "exists", "panic", "not-registered", "invalid",
		"not-found", "ended", "inbox-full", "outcome-unknown",
	}
	if len(engine) != len(codes) {
		t.Errorf("%d sentinels, %d codes", len(engine), len(codes))
	}
	for _, code := range codes {
		by := sentinelBy(code)
		if by == nil {
			t.Errorf("no sentinel %q", code)
			continue
		}
		kind := by.err
		if f, got := store(t, nil, kind); !same(got, kind) || f.Code != code || f.Type != "" {
			t.Errorf("%v became %#v by %+v", kind, got, f)
		}
		for _, err := range []error{fmt.Errorf("charging: %w", kind), New(kind, "after %d s", 3), NonRetryable(kind), errors.Join(errStock, kind)} {
			f, got := store(t, nil, err)
			sameText := got.Error() == err.Error() || f.Code == code && got.Error() == by.message
			if !errors.Is(got, kind) || !sameText || IsNonRetryable(got) != IsNonRetryable(err) {
				t.Errorf("%v became %v", err, got)
			}
			for _, other := range engine {
				if other.code != code && errors.Is(got, other.err) {
					t.Errorf("%v is %v", got, other.err)
				}
			}
		}
	}
	if !IsNonRetryable(ErrPoisoned) || IsNonRetryable(ErrTimeout) || IsNonRetryable(ErrWorkerLost) {
		t.Error("marks of the engine's errors are wrong")
	}
}

// same asks for the very same value.
func same(a, b error) bool { return a == b } //nolint:errorlint // see the comment

func TestNew(t *testing.T) {
	err := New(ErrTimeout, "after %d s: %w", 3, errStock)
	if err.Error() != "after 3 s: out of stock" || !errors.Is(err, ErrTimeout) || !errors.Is(err, errStock) {
		t.Errorf("got %v", err)
	}
	err = New(errDeclined, "no engine error")
	if f := newSet(t).Encode(err); !errors.Is(err, errDeclined) || f.Code != "" || f.Causes[0].Type != "declined" {
		t.Errorf("got %v, %+v", err, f)
	}
}

// The engine's cancellation is recognised by its own sentinel only.
func TestContextErrorsAreOrdinary(t *testing.T) {
	s := newSet(t)
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, fmt.Errorf("query: %w", context.Canceled)} {
		f, got := store(t, s, err)
		if errors.Is(got, ErrCancelled) || errors.Is(got, ErrTimeout) || errors.Is(got, context.Canceled) || f.Code != "" {
			t.Errorf("%v became %#v", err, got)
		}
		if _, ok := errors.AsType[*Error](got); !ok {
			t.Errorf("%v became a %T", err, got)
		}
	}
}

// An Is method is not stored, but the registered sentinels that it accepts are.
func TestIsMethod(t *testing.T) {
	s := newSet(t)
	_, got := store(t, s, &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT})
	if !errors.Is(got, fs.ErrNotExist) || errors.Is(got, errDeclined) {
		t.Errorf("got %#v", got)
	}
}

func TestTypeNames(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{errors.New("x"), ""},
		{fmt.Errorf("x"), ""},
		{fmt.Errorf("x: %w", errStock), ""},
		{fmt.Errorf("x: %w %w", errStock, errStock), ""},
		{errors.Join(errStock), ""},
		{&plainError{"x"}, "*failure.plainError"},
		{context.DeadlineExceeded, "context.deadlineExceededError"},
		{&Error{Type: "Own"}, "Own"},
		{syscall.ENOENT, "syscall.Errno"},
		{&Error{Type: strings.Repeat("t", 600)}, strings.Repeat("t", 497) + "... (600 bytes)"},
	}
	for _, tt := range tests {
		if f, _ := store(t, nil, tt.err); f.Type != tt.want {
			t.Errorf("type of %T is %q, want %q", tt.err, f.Type, tt.want)
		}
	}
}

func TestMessageIsMadeValid(t *testing.T) {
	f, got := store(t, nil, &Error{Type: "a\xffb", Message: "bad \xff\xfe text"})
	if !utf8.ValidString(got.Error()) || !strings.HasPrefix(got.Error(), "bad ") || f.Type != "a\uFFFDb" {
		t.Errorf("got %q, %q", got, f.Type)
	}
}

func TestNonRetryable(t *testing.T) {
	if NonRetryable(nil) != nil || IsNonRetryable(nil) || IsNonRetryable(errStock) {
		t.Error("nil or a plain error is marked")
	}
	err := fmt.Errorf("a: %w", NonRetryable(NonRetryable(&limitError{Limit: 1})))
	if _, ok := errors.AsType[*limitError](err); !ok || !IsNonRetryable(err) || err.Error() != "a: limit of 1 reached" {
		t.Errorf("got %v", err)
	}
	if !IsNonRetryable(&Error{NonRetryable: true}) || !IsNonRetryable(errors.Join(errStock, NonRetryable(errDeclined))) {
		t.Error("the mark is not found")
	}
}

func TestDecodeSharesNothing(t *testing.T) {
	f := history.Failure{Message: "m", Details: []byte(`{"a":1}`)}
	got, _ := errors.AsType[*Error](new(Set).Decode(f))
	clear(f.Details)
	if string(got.Details) != `{"a":1}` {
		t.Errorf("details changed to %q", got.Details)
	}
}

func BenchmarkEncode(b *testing.B) {
	s := newSet(b)
	err := fmt.Errorf("charging: %w", &limitError{Limit: 7})
	b.ReportAllocs()
	for b.Loop() {
		s.Encode(err)
	}
}

func BenchmarkDecode(b *testing.B) {
	s := newSet(b)
	f := s.Encode(fmt.Errorf("charging: %w", &limitError{Limit: 7}))
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Decode(f)
	}
}
