package programs

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/orchestration"
)

// call runs a statement that calls an activity. It returns false for any other statement.
func (t *thread) call(ctx *octx, s *Statement) bool {
	retry := func(attempts int) orchestration.ActivityOption {
		return orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: attempts, InitialInterval: t.w.unit, Jitter: t.w.jitter})
	}
	switch s.Do {
	case doCall:
		got, err := callNamed[int](ctx, s, actEcho, s.N)
		t.seef(ctx, s, "%d %s", got, class(err))
	case doBulk:
		got, err := callNamed[string](ctx, s, actRepeat, strings.Repeat("bulk", 256*s.N))
		t.seef(ctx, s, "%d %s", len(got), class(err))
	case doRetry:
		got, err := callNamed[int](ctx, s, actFlaky, s.N%5, retry(3))
		t.seef(ctx, s, "attempt %d %s", got, class(err))
	case doFinal:
		_, err := callNamed[int](ctx, s, actFinal, none{}, retry(5))
		t.seef(ctx, s, "%s", class(err))
	case doPanic:
		_, err := callNamed[int](ctx, s, actPanic, none{})
		t.seef(ctx, s, "%s", class(err))
	case doSlow:
		_, err := callNamed[int](ctx, s, actHang, none{},
			orchestration.WithStartToCloseTimeout(t.w.unit), retry(1+s.N%2))
		t.seef(ctx, s, "%s", class(err))
	case doDenied:
		_, err := callNamed[int](ctx, s, actDeny, s.N)
		t.seef(ctx, s, "%s", class(err))
	case doFan:
		t.fan(ctx, s)
	default:
		return false
	}
	return true
}

// fan waits for many activities at once.
func (t *thread) fan(ctx *octx, s *Statement) {
	futures := make([]orchestration.Future[int], s.N)
	for i := range futures {
		name := actEcho
		if i%3 == 2 {
			name = actDeny
		}
		futures[i] = startNamed[int](ctx, s, name, i)
	}
	got, err := orchestration.All(ctx, futures...)
	sum := 0
	for i, n := range got {
		sum += i * n
	}
	t.seef(ctx, s, "%d %s", sum, class(err))
}

// startNamed starts an activity as the statement demands.
func startNamed[Out any](ctx *octx, s *Statement, name string, in any, opts ...orchestration.ActivityOption) orchestration.Future[Out] {
	if s.Local {
		return orchestration.StartLocalNamed[Out](ctx, name, in, opts...)
	}
	return orchestration.StartActivityNamed[Out](ctx, name, in, opts...)
}

func callNamed[Out any](ctx *octx, s *Statement, name string, in any, opts ...orchestration.ActivityOption) (Out, error) {
	return startNamed[Out](ctx, s, name, in, opts...).Get(ctx)
}

// ring has an event sent to this instance. A repeated ring has the same request ID.
func (t *thread) ring(ctx *octx, s *Statement) (box string, f orchestration.Future[none]) {
	box = fmt.Sprint("box ", s.ID)
	return box, orchestration.StartActivityNamed[none](ctx, actRing, Ring{
		ID: ctx.Info().ID, Key: ctx.Info().Key, Box: box, Value: s.N, Request: fmt.Sprintf("%d/%d", s.ID, t.w.runs[s.ID]),
	})
}
