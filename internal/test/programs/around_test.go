package programs

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// around is an interceptor with a state of its own, which decides what calls it makes. They show nothing to the code of the program. An
// interceptor that ran otherwise on a replay would make other calls, and the history would not fit.
type around struct {
	orchestration.InterceptorBase

	seen int
}

func newAround(*octx) orchestration.Interceptor { return &around{} }

// more reports whether it makes a call of its own now.
func (a *around) more(every int) bool {
	a.seen++
	return a.seen%every == 0
}

func (a *around) effect(ctx *octx) {
	n, err := orchestration.SideEffect(ctx, func() (int, error) { return 1, nil })
	a.seen += n // as often on a replay
	if err != nil {
		a.seen++
	}
}

func (a *around) Main(ctx *octx, in json.RawMessage, next func(*octx, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	a.effect(ctx)
	return next(ctx, in)
}

func (a *around) Event(ctx *octx, e orchestration.Incoming, next func(*octx, orchestration.Incoming) error) error {
	if a.more(2) {
		a.effect(ctx)
	}
	return next(ctx, e)
}

func (a *around) Update(
	ctx *octx, u orchestration.Incoming, next func(*octx, orchestration.Incoming) (json.RawMessage, error),
) (json.RawMessage, error) {
	out, err := next(ctx, u)
	if a.more(2) {
		a.effect(ctx)
	}
	return out, err
}

func (a *around) Activity(
	ctx *octx, call orchestration.ActivityCall, next func(*octx, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	if a.more(3) {
		orchestration.StartActivityNamed[int](ctx, actEcho, a.seen)
	}
	return next(ctx, call)
}

func (a *around) Local(
	ctx *octx, call orchestration.ActivityCall, next func(*octx, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	if a.more(4) {
		orchestration.StartTimer(ctx, forever)
	}
	return next(ctx, call)
}

func (a *around) Child(
	ctx *octx, call orchestration.ChildCall, next func(*octx, orchestration.ChildCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	if a.more(2) {
		a.effect(ctx)
	}
	return next(ctx, call)
}

func (a *around) Timer(ctx *octx, d time.Duration, next func(*octx, time.Duration) orchestration.Future[none]) orchestration.Future[none] {
	if a.more(3) {
		orchestration.StartTimer(ctx, forever)
	}
	return next(ctx, d)
}
