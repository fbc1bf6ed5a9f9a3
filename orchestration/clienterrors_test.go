package orchestration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// The orchestration finds the errors of a client that its activity returns. Those that retrying cannot mend are not retried.
func TestErrorsOfClientsCrossTheStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start []client.StartOption
		input string
		want  error
		runs  int
	}{
		"invalid":   {[]client.StartOption{client.WithID("")}, "", client.ErrInvalid, 1},
		"too large": {nil, strings.Repeat("x", 3<<20), client.ErrTooLarge, 1},
		"in use":    {[]client.StartOption{client.WithID("taken")}, "", client.ErrExists, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				reg := registry(e.T)
				own, runs := e.Client(client.Options{}), 0
				e.Create("taken", "other", none{})
				enginetest.Activity(e.T, reg, "start", func(ctx context.Context, _ none) (none, error) {
					runs++
					_, err := client.StartNamed[none](ctx, own, "other", c.input, c.start...)
					return none{}, err
				})
				retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Second})
				key := start(e, reg, func(ctx *octx, _ none) (bool, error) {
					_, err := orchestration.CallActivityNamed[none](ctx, "start", none{}, retry)
					return errors.Is(err, c.want), nil
				}, none{})
				if found := enginetest.Output[bool](e, key); !found || runs != c.runs {
					e.T.Errorf("%v is found: %v, after %d attempts", c.want, found, runs)
				}
			})
		})
	}
}
