package runtime_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// Double is an activity.
func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// Twice is an orchestration.
func Twice(ctx *octx, n int) (int, error) { return orchestration.CallActivity(ctx, Double, n) }

// Shop has methods to register.
type Shop struct{ factor int }

// Price is an activity.
func (s *Shop) Price(_ context.Context, n int) (int, error) { return s.factor * n, nil }

// Checkout is an orchestration.
func (s *Shop) Checkout(ctx *octx, n int) (int, error) {
	return orchestration.CallActivity(ctx, s.Price, n)
}
