package cancellation

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// causes returns all causes that activity code may see.
func causes() []error {
	return []error{
		activity.ErrOrchestrationEnded, activity.ErrOrchestrationMissing, activity.ErrCancelled, activity.ErrTimeout,
		activity.ErrLeaseLost, activity.ErrShutdown,
	}
}

// errors.Is identifies why an activity must stop. Each cause matches one sentinel only.
func TestActivity_CausesCanBeToldApart(t *testing.T) {
	t.Parallel()
	stay := func(ctx *octx) (string, error) { return "", ctx.Sleep(10 * time.Hour) }
	cases := map[string]struct {
		main func(ctx *octx) (string, error)
		do   func(r *rig, key provider.UUID)
		want error
	}{
		"its scope is cancelled": {
			func(ctx *octx) (string, error) {
				scope, cancel := ctx.WithCancel()
				begin(scope, "work", "")
				if err := receive(ctx, "go on"); err != nil {
					return "", err
				}
				cancel()
				return stay(ctx)
			}, goOn, activity.ErrCancelled,
		},
		"its scope times out": {
			func(ctx *octx) (string, error) {
				if err := receive(ctx, "go on"); err != nil { // so that it has begun
					return "", err
				}
				scope, cancel := ctx.WithTimeout(50 * time.Millisecond)
				defer cancel()
				begin(scope, "work", "")
				return stay(ctx)
			}, nil, activity.ErrCancelled,
		},
		"it loses a race": {
			func(ctx *octx) (string, error) {
				first := ctx.Go(func(ctx *octx) error { return receive(ctx, "go on") })
				slow := ctx.Go(func(ctx *octx) error { _, err := call(ctx, "work", ""); return err })
				if _, _, err := orchestration.Race(ctx, first, slow); err != nil {
					return "", err
				}
				return stay(ctx)
			}, goOn, activity.ErrCancelled,
		},
		"its call is given up": {
			func(ctx *octx) (string, error) {
				f := begin(ctx, "work", "")
				if err := receive(ctx, "go on"); err != nil {
					return "", err
				}
				f.Cancel()
				return stay(ctx)
			}, goOn, activity.ErrCancelled,
		},
		"the orchestration completes": {
			func(ctx *octx) (string, error) {
				begin(ctx, "work", "")
				return "", receive(ctx, "go on")
			}, goOn, activity.ErrOrchestrationEnded,
		},
		"the orchestration fails": {
			func(ctx *octx) (string, error) {
				begin(ctx, "work", "")
				return "", errors.Join(receive(ctx, "go on"), errors.New("as told"))
			}, goOn, activity.ErrOrchestrationEnded,
		},
		"the orchestration continues as new": {
			func(ctx *octx) (string, error) {
				if ctx.Info().Execution > 1 {
					return stay(ctx)
				}
				begin(ctx, "work", "")
				return "", errors.Join(receive(ctx, "go on"), orchestration.ContinueAsNew(ctx, none{}))
			}, goOn, activity.ErrOrchestrationEnded,
		},
		"the instance is terminated": {
			func(ctx *octx) (string, error) { return call(ctx, "work", "") },
			func(r *rig, key provider.UUID) { r.Terminate(key, "enough") }, activity.ErrOrchestrationEnded,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				l := r.listen("work", nil)
				key := r.main(func(ctx *octx, _ none) (string, error) { return c.main(ctx) })
				if c.do == nil {
					r.Raise(key, "go on", none{})
				}
				<-l.began
				asked := time.Now()
				if c.do != nil {
					c.do(r, key)
				}
				wantCause(r, r.next(l, asked).cause, c.want)
				r.Until("no attempt is left", func() bool { return r.worker.Stats().AttemptsRunning == 0 })
			})
		})
	}
}

func goOn(r *rig, key provider.UUID) {
	r.T.Helper()
	r.Raise(key, "go on", none{})
}

// wantCause compares a cause with the wanted one and fails if it matches any other.
func wantCause(r *rig, got, want error) {
	r.T.Helper()
	for _, cause := range causes() {
		if errors.Is(got, cause) != errors.Is(want, cause) {
			r.T.Errorf("saw %v, want %v", got, want)
		}
	}
}

// A deleted instance counts as missing. The notice only says that it has ended; the node learns the rest from the
// store.
func TestActivity_HearsThatItsOrchestrationIsMissing(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		l := r.listen("work", nil)
		key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
		<-l.began
		asked := time.Now()
		if _, err := r.Store.Delete(r.T.Context(), provider.DeleteRequest{Key: key, Force: true}); err != nil {
			r.T.Fatal(err)
		}
		wantCause(r, r.next(l, asked).cause, activity.ErrOrchestrationMissing)
	})
}

// A timeout names the limit that has passed. Activity and orchestration see it, also through the errors of a child and
// on another node.
func TestActivity_TimeoutTellsItsKind(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		l := r.listen("work", nil)
		limit := orchestration.WithStartToCloseTimeout(20 * time.Millisecond)
		enginetest.Orchestration(r.T, r.orchestrations, "child", func(ctx *octx, _ none) (string, error) {
			return call(ctx, "work", "child", limit)
		})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			_, own := call(ctx, "work", "own", limit)
			_, child := orchestration.CallOrchestrationNamed[string](ctx, "child", none{})
			for _, err := range []error{own, child} {
				if kind, ok := orchestration.TimeoutKind(err); !ok || kind != activity.StartToClose || !errors.Is(err, orchestration.ErrTimeout) {
					return "", errors.Join(errors.New("no start-to-close timeout"), err)
				}
			}
			scope, cancel := ctx.WithTimeout(time.Millisecond)
			defer cancel()
			err := scope.Sleep(time.Hour)
			if kind, ok := orchestration.TimeoutKind(err); ok || !errors.Is(err, orchestration.ErrTimeout) {
				return "", errors.Join(errors.New("the timeout of a scope is of kind "+string(kind)), err)
			}
			return "told", nil
		})
		for range 2 {
			<-l.began
			h := r.hear(l)
			wantCause(r, h.cause, activity.ErrTimeout)
			if timeout, ok := errors.AsType[*activity.TimeoutError](h.cause); !ok || timeout.Kind != activity.StartToClose {
				r.T.Errorf("saw %v", h.cause)
			}
		}
		if got := enginetest.Output[string](r.engine, key); got != "told" {
			r.T.Errorf("got %q", got)
		}
	})
}

// A lost lease or a shutdown never counts as a cancellation: another attempt follows.
func TestActivity_HearsOfItsNode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		do   func(r *rig)
		want error
	}{
		"its lease is lost": {func(r *rig) {
			r.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Before})
		}, activity.ErrLeaseLost},
		"its node shuts down": {func(r *rig) {
			if err := r.worker.Shutdown(r.T.Context()); err != nil {
				r.T.Error(err)
			}
			r.StartOn(r.near, r.activities, r.Options)
		}, activity.ErrShutdown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				cause := make(chan error, 1)
				attempts := make(chan activity.Info, 10)
				var runs atomic.Int64
				enginetest.Activity(r.T, r.activities, "work", func(ctx context.Context, _ string) (string, error) {
					attempts <- activity.GetInfo(ctx)
					if runs.Add(1) > 1 {
						return "another attempt", nil
					}
					<-ctx.Done()
					r.plan.Clear()
					cause <- context.Cause(ctx)
					return "", context.Cause(ctx)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
				<-attempts
				c.do(r)
				if got := enginetest.Output[string](r.engine, key); got != "another attempt" {
					r.T.Errorf("got %q", got)
				}
				wantCause(r, <-cause, c.want)
				if again := <-attempts; again.Attempt != 1 {
					r.T.Errorf("it counts as attempt %d", again.Attempt)
				}
			})
		})
	}
}
