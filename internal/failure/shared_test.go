package failure

import (
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// The errors that the engine shares with the storage keep their identity without a name.
func TestSharedSentinels(t *testing.T) {
	for err, code := range map[error]string{
		provider.ErrInvalid: "invalid", provider.ErrTooLarge: "too-large", provider.ErrExists: "exists",
		&provider.ExistsError{ID: "order-42"}: "exists",
	} {
		f, got := store(t, nil, fmt.Errorf("starting: %w", err))
		kind := sentinelBy(code)
		if !errors.Is(got, kind.err) || !errors.Is(err, kind.err) || IsNonRetryable(got) != kind.final {
			t.Errorf("%v became %v by %+v", err, got, f)
		}
	}
}

// Earlier releases stored them under a name if they had one. This release reads those names and no
// longer writes them.
func TestSharedSentinelsUnderAName(t *testing.T) {
	s := &Set{}
	if err := s.AddSentinel("taken", provider.ErrExists); err != nil {
		t.Fatal(err)
	}
	old := history.Failure{Type: "taken", Registered: true, Message: "already exists"}
	got := s.Decode(old)
	if !errors.Is(got, provider.ErrExists) || got.Error() != old.Message {
		t.Errorf("%+v is read as %v", old, got)
	}
	if again := s.Encode(got); again.Type != old.Type || !again.Registered || again.Code != "" {
		t.Errorf("it is stored again as %+v", again)
	}
	if f := s.Encode(provider.ErrExists); f.Code != "exists" || f.Registered {
		t.Errorf("the error itself is stored as %+v", f)
	}
}

// A mark changes no text: what is stored of the bare error has another one.
func TestMarkedSharedErrorKeepsItsText(t *testing.T) {
	t.Parallel()
	_, got := store(t, newSet(t), NonRetryable(ErrExists))
	if got.Error() != ErrExists.Error() || !errors.Is(got, ErrExists) || !IsNonRetryable(got) {
		t.Errorf("%v became %v", NonRetryable(ErrExists), got)
	}
}
