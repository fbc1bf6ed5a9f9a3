package weaknesses

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// A child is started completely, or it exists only in the history. A started child belongs to its parent's execution
// and is cancelled with it, also when that continues as new. Children that outlive their parent do not exist yet.
func TestWeakness08_StartIsNeverHalf(t *testing.T) {
	t.Parallel()
	all := claims{
		"in the same batch as the message that ends the execution": sameBatch,
		"in the turn of a cancellation, for cleaning up":           startedForCleanUp,
		"two in one turn, one of them given up":                    givenUpAtOnce,
		"outstanding at continue-as-new":                           func(e *engine) { outstanding(e, continued) },
		"outstanding at the end":                                   func(e *engine) { outstanding(e, returned) },
		"outstanding at a failure":                                 func(e *engine) { outstanding(e, failed) },
	}
	for name, end := range map[string]func(*octx, int) error{
		"continue-as-new": continued, "return": returned, "failure": failed,
	} {
		all["in the same turn as "+name] = func(e *engine) { sameTurn(e, end) }
	}
	inEveryStore(t, all)
}

func continued(ctx *octx, in int) error { return orchestration.ContinueAsNew(ctx, in) }

func returned(*octx, int) error { return nil }

func failed(*octx, int) error { return errRefused }

// noChild fails if an instance of the ID exists, or if the ID is not free.
func noChild(e *engine, id string) {
	e.T.Helper()
	if i, ok := byID(e, id); ok {
		e.T.Fatalf("%s is there: %+v", id, i)
	}
	wantStatus(e, e.Create(id, "child", none{}), provider.StatusCompleted)
}

// sameTurn starts a child of each kind and ends at once, in a first turn and in a later one.
func sameTurn(e *engine, end func(*octx, int) error) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", func(*octx, none) (none, error) { return none{}, nil })
	key := start(e, reg, func(ctx *octx, n int) (none, error) {
		if n == 2 {
			return none{}, nil
		}
		if n == 1 {
			if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
				return none{}, err
			}
		}
		orchestration.StartOrchestrationNamed[none](ctx, "child", none{})
		orchestration.StartOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("plain"))
		orchestration.StartOrchestrationNamed[none](ctx.Detached(), "child", none{}, orchestration.WithInstanceID("detached"))
		return none{}, end(ctx, n+1)
	}, 0)
	ended(e, key)
	if list := children(e, key); len(list) != 0 {
		e.T.Errorf("children of an execution that had ended: %+v", list)
	}
	noChild(e, "plain")
	noChild(e, "detached")
	if s := stats(e); provider.CountersOf(e.Store).Dropped+s.DeadLetters != 0 {
		e.T.Errorf("left behind: %+v", s)
	}
}

// sameBatch starts a child at the first event and ends at the second, both in one turn.
func sameBatch(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", func(*octx, none) (none, error) { return none{}, nil })
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (none, error) {
		box := orchestration.Events[none](ctx, "event")
		if _, err := box.Receive(ctx); err != nil || n == 1 {
			return none{}, err
		}
		orchestration.StartOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("plain"))
		if _, err := box.Receive(ctx); err != nil {
			return none{}, err
		}
		return none{}, orchestration.ContinueAsNew(ctx, 1)
	})
	key := e.Create("main", "main", 0)
	for range 3 {
		e.Raise(key, "event", none{})
	}
	e.Start(reg)
	wantStatus(e, key, provider.StatusCompleted)
	noChild(e, "plain")
}

// startedForCleanUp starts a child after its own cancellation: the cancelled scope refuses it, a detached one runs it.
func startedForCleanUp(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, n int) (int, error) { return orchestration.CallActivity(ctx, Double, n) })
	key := start(e, reg, func(ctx *octx, _ none) (int, error) {
		if err := ctx.Sleep(100 * time.Hour); err == nil {
			return 0, errors.New("slept to the end")
		}
		refused := orchestration.StartOrchestrationNamed[int](ctx, "child", 1, orchestration.WithInstanceID("plain"))
		if _, err := refused.Get(ctx.Detached()); !errors.Is(err, orchestration.ErrCancelled) {
			return 0, err
		}
		undo := ctx.Detached()
		return orchestration.CallOrchestrationNamed[int](undo, "child", 21, orchestration.WithInstanceID("undo"))
	}, none{})
	until(e, "it sleeps", func() bool { return e.Get(key).HistoryLength == 2 })
	e.Cancel(key, "enough")
	want(e, key, 42)
	if _, ok := byID(e, "plain"); ok || strings.Count(kinds(e, key, 1), "ChildStarted") != 1 {
		e.T.Errorf("a child was started in a cancelled scope: %s", kinds(e, key, 1))
	}
}

// givenUpAtOnce cancels one of two children in the turn that starts them.
func givenUpAtOnce(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", func(*octx, none) (none, error) { return none{}, nil })
	key := start(e, reg, func(ctx *octx, _ none) (none, error) {
		wanted := orchestration.StartOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("wanted"))
		scope, cancel := ctx.WithCancel()
		orchestration.StartOrchestrationNamed[none](scope, "child", none{}, orchestration.WithInstanceID("given up"))
		cancel()
		return wanted.Get(ctx)
	}, none{})
	wantStatus(e, key, provider.StatusCompleted)
	if list := children(e, key); len(list) != 1 || list[0].ID != "wanted" {
		e.T.Errorf("%+v", list)
	}
	noChild(e, "given up")
}

// outstanding ends an execution while a child from an earlier turn runs. The child is cancelled and cleans up.
func outstanding(e *engine, end func(*octx, int) error) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "child", cleaning)
	key := start(e, reg, func(ctx *octx, n int) (none, error) {
		if n > 0 {
			return none{}, nil
		}
		orchestration.StartOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("child"))
		if _, err := orchestration.Events[none](ctx, "end").Receive(ctx); err != nil {
			return none{}, err
		}
		return none{}, end(ctx, n+1)
	}, 0)
	child := await(e, "child")
	e.Raise(key, "end", none{})
	ended(e, key)
	wantStatus(e, child, provider.StatusCancelled)
	if got := kinds(e, child, 1); !strings.Contains(got, "CancelRequested TimerCancelled ActivityScheduled ActivityCompleted") {
		e.T.Errorf("the child could not clean up: %s", got)
	}
}
