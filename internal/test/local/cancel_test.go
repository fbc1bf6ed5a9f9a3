package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// stopper is an activity that begins, and ends when it is cancelled.
type stopper struct {
	began chan struct{}
	heard chan error
}

func (r *rig) stopper(name string, answer func(cause error) (string, error)) *stopper {
	s := &stopper{began: make(chan struct{}, 100), heard: make(chan error, 100)}
	r.script(name, func(ctx context.Context, _ int) (string, error) {
		s.began <- struct{}{}
		<-ctx.Done()
		s.heard <- context.Cause(ctx)
		return answer(context.Cause(ctx))
	})
	return s
}

func obey(cause error) (string, error) { return "", cause }

// cancelIn starts a local activity, cancels it when a second one has ended, and returns how its call ended.
func cancelIn(ctx *octx, how orchestration.Cancellation) (string, error) {
	scope, cancel := ctx.WithCancel()
	f := begin(scope, "stop", orchestration.WithCancellation(how))
	if _, err := call(ctx, "quick"); err != nil {
		return "", err
	}
	cancel()
	out, err := f.Get(ctx)
	switch {
	case err == nil:
		return "completed " + out, nil
	case errors.Is(err, orchestration.ErrCancelled):
		return "cancelled", nil
	}
	return "", err
}

// begun lets the quick activity end when the other has begun.
func (r *rig) begun(s *stopper) {
	r.script("quick", func(ctx context.Context, _ int) (string, error) {
		select {
		case <-s.began:
			return "", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}

// cancel_try_cancel: the call ends at once without an event, and the activity is cancelled.
func TestLocalActivity_CancelTryCancel(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		s := r.stopper("stop", obey)
		r.begun(s)
		key := r.main(func(ctx *octx, _ none) (string, error) { return cancelIn(ctx, orchestration.TryCancel) })
		if got := enginetest.Output[string](r.engine, key); got != "cancelled" {
			r.T.Errorf("call %s", got)
		}
		if cause := <-s.heard; !errors.Is(cause, activity.ErrCancelled) && !errors.Is(cause, activity.ErrOrchestrationEnded) {
			r.T.Errorf("it saw %v", cause)
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
	})
}

// cancel_wait_completed: the call ends with the result of the cancelled activity.
func TestLocalActivity_CancelWaitCompleted(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		s := r.stopper("stop", func(error) (string, error) { return "all the same", nil })
		r.begun(s)
		key := r.main(func(ctx *octx, _ none) (string, error) { return cancelIn(ctx, orchestration.WaitForEnd) })
		if got := enginetest.Output[string](r.engine, key); got != "completed all the same" {
			r.T.Errorf("call %s", got)
		}
		if cause := <-s.heard; !errors.Is(cause, activity.ErrCancelled) {
			r.T.Errorf("it saw %v", cause)
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
	})
}

// With WaitForEnd an activity that obeys ends the call as cancelled, without a retry.
func TestLocalActivity_CancelWaitObeyed(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		s := r.stopper("stop", obey)
		r.begun(s)
		key := r.main(func(ctx *octx, _ none) (string, error) { return cancelIn(ctx, orchestration.WaitForEnd) })
		if got := enginetest.Output[string](r.engine, key); got != "cancelled" {
			r.T.Errorf("call %s", got)
		}
	})
}

// cancel_abandon: the call ends at once, and the activity keeps running without a cancellation.
func TestLocalActivity_CancelAbandon(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		began, goOn := make(chan struct{}, 1), make(chan struct{})
		ended := make(chan error, 1)
		r.script("stop", func(ctx context.Context, _ int) (string, error) {
			began <- struct{}{}
			<-goOn
			ended <- ctx.Err()
			return "", nil
		})
		r.begun(&stopper{began: began})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			if out, err := cancelIn(ctx, orchestration.Abandon); err != nil {
				return out, err
			}
			_, err := orchestration.Events[none](ctx, "go").Receive(ctx)
			return "", err
		})
		r.Until("the first turn is stored", func() bool { return r.Get(key).HistoryLength > 0 })
		close(goOn)
		if err := <-ended; err != nil {
			r.T.Errorf("it was cancelled: %v", err)
		}
		r.Raise(key, "go", none{})
		enginetest.Output[string](r.engine, key)
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded EventReceived ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
	})
}

// cancel_failing: the call is cancelled while it waits for a retry inside the turn.
func TestLocalActivity_CancelFailing(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]orchestration.Cancellation{"try": orchestration.TryCancel, "wait": orchestration.WaitForEnd} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(r *rig) {
				failed := make(chan struct{}, 10)
				runs := r.script("stop", func(context.Context, int) (string, error) {
					failed <- struct{}{}
					return "", errRefused
				})
				r.script("quick", func(ctx context.Context, _ int) (string, error) {
					<-failed
					return "", hold(ctx, 10*time.Millisecond)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) {
					scope, cancel := ctx.WithCancel()
					f := begin(scope, "stop", orchestration.WithCancellation(how),
						retries(orchestration.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaxAttempts: 3}))
					if _, err := call(ctx, "quick"); err != nil {
						return "", err
					}
					cancel()
					if _, err := f.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
						return "", err
					}
					return "cancelled", nil
				})
				if got := enginetest.Output[string](r.engine, key); got != "cancelled" || len(runs.All()) != 1 {
					r.T.Errorf("call %s after %d attempts", got, len(runs.All()))
				}
			})
		})
	}
}

// The same happens while the retry waits in the queue: the task is removed.
func TestLocalActivity_CancelFailingInTheQueue(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		runs := r.script("stop", func(context.Context, int) (string, error) { return "", errRefused })
		key := r.main(func(ctx *octx, _ none) (string, error) {
			scope, cancel := ctx.WithCancel()
			f := begin(scope, "stop", retries(orchestration.RetryPolicy{InitialInterval: time.Hour}))
			if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
				return "", err
			}
			cancel()
			if _, err := f.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
				return "", err
			}
			return "cancelled", nil
		})
		r.Until("the retry is in the queue", func() bool { return len(r.Tasks(key)) == 1 })
		r.Raise(key, "go", none{})
		if got := enginetest.Output[string](r.engine, key); got != "cancelled" || len(runs.All()) != 1 {
			r.T.Errorf("call %s after %d attempts", got, len(runs.All()))
		}
		if !strings.Contains(r.kinds(key), "LocalQueued ActivityScheduled EventReceived ActivityCancelRequested") {
			r.T.Errorf("history is %s", r.kinds(key))
		}
	})
}

// The loser of a race is cancelled and leaves nothing.
func TestLocalActivity_RaceLoser(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		s := r.stopper("stop", obey)
		r.begun(s)
		key := r.main(func(ctx *octx, _ none) (string, error) {
			_, i, err := orchestration.Race(ctx, begin(ctx, "stop"), begin(ctx, "quick"))
			if i != 1 {
				return "", errors.New("the wrong one won")
			}
			return "raced", err
		})
		enginetest.Output[string](r.engine, key)
		if cause := <-s.heard; cause == nil {
			r.T.Error("it was not cancelled")
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
	})
}

// Local activities, short or long, do not delay a cancellation that waits in the inbox.
func TestLocalActivity_CancelIsHeardMeanwhile(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]time.Duration{"one long": time.Hour, "endless short ones": 10 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(r *rig) {
				began := make(chan struct{}, 1)
				r.script("work", func(ctx context.Context, _ int) (string, error) {
					select {
					case began <- struct{}{}:
					default:
					}
					return "", hold(ctx, each)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) {
					for {
						if _, err := call(ctx, "work", orchestration.WithStartToCloseTimeout(2*time.Hour)); err != nil {
							return "", err
						}
					}
				})
				<-began
				asked := time.Now()
				r.Cancel(key, "enough")
				_, err := enginetest.Result[string](r.engine, key, nil)
				if !errors.Is(err, orchestration.ErrCancelled) {
					r.T.Errorf("ended with %v", err)
				}
				if took := time.Since(asked); took > 1500*time.Millisecond {
					r.T.Errorf("the cancellation took %v, want little more than the second of a turn", took)
				}
				if !strings.Contains(r.kinds(key), history.KindLocalQueued.String()) {
					r.T.Errorf("history is %s", r.kinds(key))
				}
			})
		})
	}
}

// An activity that returns in the moment when its turn's time is over has its own result. It was taken for a cancelled one, since
// its context had ended.
func TestLocalActivity_EndsWithItsTurn(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		const instances = 200
		r.script("work", func(ctx context.Context, _ int) (string, error) { return "done", hold(ctx, time.Second) })
		r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
		keys := make([]provider.UUID, instances)
		for i := range keys {
			keys[i] = r.Create(fmt.Sprint("instance ", i), "main", none{})
		}
		for _, key := range keys {
			if got := enginetest.Output[string](r.engine, key); got != "done" {
				r.T.Errorf("it ended with %q", got)
			}
		}
	})
}

// The start-to-close timeout applies inside the turn, also to code that does not return.
func TestLocalActivity_StartToClose(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"obeys": false, "does not come back": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(r *rig) {
				goOn := make(chan struct{})
				r.script("slow", func(ctx context.Context, _ int) (string, error) {
					if deaf {
						<-goOn
					}
					return "", hold(ctx, time.Hour)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) {
					return call(ctx, "slow", orchestration.WithStartToCloseTimeout(100*time.Millisecond))
				})
				began := time.Now()
				_, err := enginetest.Result[string](r.engine, key, nil)
				if took := time.Since(began); took > 2*time.Second {
					r.T.Errorf("it took %v", took)
				}
				if kind, is := orchestration.TimeoutKind(err); !is || kind != activity.StartToClose {
					r.T.Errorf("ended with %v", err)
				}
				if n := len(r.node.Leaked()); deaf != (n == 1) {
					r.T.Errorf("%d leaked", n)
				}
				close(goOn)
			})
		})
	}
}
