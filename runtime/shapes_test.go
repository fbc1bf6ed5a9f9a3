package runtime_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

type (
	deep[T any] struct {
		Items []struct{ Inner map[string]*struct{ Bad T } }
	}
	closed  struct{ _ int }
	animal  interface{ Sound() string }
	wrapped struct {
		deep[int]

		Skipped func() `json:"-"`
	}
)

func takes[T any](r *runtime.Registry) error {
	return runtime.AddActivity(r, activity.Define("a", func(context.Context, T) (none, error) { return none{}, nil }))
}

func answers[T any](r *runtime.Registry) error {
	return runtime.AddActivity(r, activity.Define("a", func(context.Context, none) (out T, err error) { return out, nil }))
}

func begins[T any](r *runtime.Registry) error {
	return runtime.AddOrchestration(r, orchestration.Define("a", func(*octx, T) (none, error) { return none{}, nil }))
}

func ends[T any](r *runtime.Registry) error {
	return runtime.AddOrchestration(r, orchestration.Define("a", func(*octx, none) (out T, err error) { return out, nil }))
}

// Inputs and outputs that could not be read back are refused when they are registered,
// with the path to the field, however deep it lies.
func TestHazard45_RegistrationNamesTheField(t *testing.T) {
	t.Parallel()
	const path = ".Items[].Inner[].Bad: "
	cases := map[string]struct {
		add  func(*runtime.Registry) error
		want []string
	}{
		"func":             {takes[deep[func()]], []string{"input", path, "func"}},
		"chan":             {answers[deep[chan int]], []string{"output", path, "chan"}},
		"interface":        {begins[deep[animal]], []string{"input", path, "animal"}},
		"context":          {ends[deep[context.Context]], []string{"output", path, "Context"}},
		"complex":          {takes[deep[complex128]], []string{"input", path, "complex128"}},
		"interface itself": {takes[io.Reader], []string{"input", "Reader"}},
		"error":            {answers[error], []string{"output", "error"}},
		"func itself":      {begins[func()], []string{"input", "func"}},
		"map key":          {ends[map[closed]int], []string{"output", "key"}},
		"nothing exported": {takes[[]closed], []string{"input", "closed", "exported"}},
		"embedded":         {takes[struct{ deep[chan int] }], []string{"input", path, "chan"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.add(runtime.NewRegistry())
			if !errors.Is(err, runtime.ErrRegistration) {
				t.Fatalf("returned %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
		})
	}
	for name, add := range map[string]func(*runtime.Registry) error{
		"any": takes[map[string]any], "nothing": ends[none], "skipped": begins[wrapped], "recursive": answers[*deep[[]byte]],
	} {
		if err := add(runtime.NewRegistry()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
