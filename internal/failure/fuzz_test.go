package failure

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/history"
)

type fuzzedError struct {
	Code int
	Next *fuzzedError
}

func (*fuzzedError) Error() string { return "fuzzed" }

var errFuzzed = errors.New("fuzzed sentinel")

// FuzzDecode turns any stored failure into an error: it can be shown and compared, and
// is stored again as it was.
func FuzzDecode(f *testing.F) {
	set := &Set{}
	if err := errors.Join(set.AddSentinel("sentinel", errFuzzed), AddType[*fuzzedError](set, "type")); err != nil {
		f.Fatal(err)
	}
	for _, err := range []error{
		errFuzzed, &fuzzedError{Code: 1, Next: &fuzzedError{}}, ErrCancelled, New(ErrTimeout, "late: %w", errFuzzed),
		NonRetryable(errors.Join(errFuzzed, ErrPanic, errors.New("plain"))),
	} {
		f.Add(history.EncodeFailure(set.Encode(err)))
	}
	f.Add(history.EncodeFailure(history.Failure{Type: "type", Registered: true, Details: []byte(`{"Code":"no"}`), Code: "timeout"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		stored, err := history.DecodeFailure(data)
		if err != nil {
			return
		}
		for _, s := range []*Set{set, nil} {
			decoded := s.Decode(stored)
			_ = decoded.Error()
			_ = errors.Is(decoded, ErrCancelled) || errors.Is(decoded, errFuzzed) || IsNonRetryable(decoded)
			// An error beyond a limit is cut once and then remains the same.
			first := s.Encode(decoded)
			second := s.Encode(s.Decode(first))
			if diff := cmp.Diff(first, second); diff != "" {
				t.Fatalf("stored again it changed:\n%s", diff)
			}
		}
	})
}
