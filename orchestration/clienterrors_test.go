package orchestration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
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
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				other := orchestration.Define("other", func(ctx *octx, _ string) (none, error) { return none{}, ctx.Sleep(time.Hour) })
				orchestrationtest.Start(e, other, "", client.WithID("taken"))
				own := e.Client()
				orchestrationtest.ReplaceNamed(e, "start", func(ctx context.Context, _ none) (none, error) {
					_, err := client.Start(ctx, own, other, c.input, c.start...)
					return none{}, err
				}, orchestrationtest.Times(c.runs))
				retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Second})
				found, err := orchestrationtest.Start(e, orchestration.Define("main", func(ctx *octx, _ none) (bool, error) {
					_, err := orchestration.CallActivityNamed[none](ctx, "start", none{}, retry)
					return errors.Is(err, c.want), nil
				}), none{}).Wait(e.Context())
				if !found || err != nil {
					t.Errorf("%v is found: %v, %v", c.want, found, err)
				}
			})
		})
	}
}
