package cancellation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// The call chooses when it ends after its cancellation: at once, when the activity has ended, or at once without
// cancelling the activity.
func TestActivity_CallChoosesItsCancellation(t *testing.T) {
	t.Parallel()
	slow := func(r *rig, rest time.Duration) *listener {
		return r.listen("work", func(error) (string, error) {
			r.pause(rest)
			return "tidied up", nil
		})
	}
	t.Run("TryCancel", func(t *testing.T) {
		t.Parallel()
		everyStore(t, func(r *rig) {
			l := slow(r, r.ample())
			g := r.giveUp(l, orchestration.TryCancel)
			if h := r.next(l, g.asked); !errors.Is(h.cause, activity.ErrCancelled) {
				r.T.Errorf("saw %v", h.cause)
			}
			if g.answer != "cancelled" || (r.Virtual && g.took >= time.Second) {
				r.T.Errorf("the call returned %q after %v", g.answer, g.took)
			}
			g.end()
		})
	})
	t.Run("WaitForEnd", func(t *testing.T) {
		t.Parallel()
		everyStore(t, func(r *rig) {
			rest := r.ample()
			l := slow(r, rest)
			g := r.giveUp(l, orchestration.WaitForEnd)
			if h := r.hear(l); !errors.Is(h.cause, activity.ErrCancelled) {
				r.T.Errorf("saw %v", h.cause)
			}
			if g.answer != "tidied up" || g.took < rest {
				r.T.Errorf("the call returned %q after %v", g.answer, g.took)
			}
			g.end()
		})
	})
	t.Run("Abandon", func(t *testing.T) {
		t.Parallel()
		everyStore(t, func(r *rig) {
			l := r.listen("work", nil)
			g := r.giveUp(l, orchestration.Abandon)
			if g.answer != "cancelled" || (r.Virtual && g.took >= time.Second) {
				r.T.Errorf("the call returned %q after %v", g.answer, g.took)
			}
			// Only the end of the execution stops it. A wrong cancellation would come before, with a renewal at the latest.
			r.pause(r.renewed())
			g.end()
			if h := r.hear(l); !errors.Is(h.cause, activity.ErrOrchestrationEnded) {
				r.T.Errorf("saw %v", h.cause)
			}
		})
	})
}

// givenUp is a call that ended because its scope was cancelled.
type givenUp struct {
	answer string
	asked  time.Time
	took   time.Duration
	end    func() // ends the execution
}

// giveUp cancels the scope of a call once its activity runs. It returns when the call has. The execution keeps running.
func (r *rig) giveUp(l *listener, c orchestration.Cancellation) (g givenUp) {
	r.T.Helper()
	type note struct {
		answer string
		at     time.Time
	}
	answered := make(chan note, 10)
	enginetest.Activity(r.T, r.activities, "note", func(_ context.Context, answer string) (string, error) {
		answered <- note{answer, time.Now()}
		return "", nil
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		scope, cancel := ctx.WithCancel()
		f := begin(scope, "work", "one", orchestration.WithCancellation(c))
		if err := receive(ctx, "stop"); err != nil {
			return "", err
		}
		cancel()
		cancel()
		f.Cancel() // once is enough
		got, err := f.Get(scope)
		if errors.Is(err, orchestration.ErrCancelled) {
			got = "cancelled"
		} else if err != nil {
			return "", err
		}
		if _, err := call(ctx, "note", got); err != nil {
			return "", err
		}
		return got, receive(ctx, "end")
	})
	<-l.began
	g.asked = time.Now()
	r.Raise(key, "stop", none{})
	n := <-answered
	g.answer, g.took = n.answer, n.at.Sub(g.asked)
	g.end = func() {
		r.T.Helper()
		r.Raise(key, "end", none{})
		if got := enginetest.Output[string](r.engine, key); got != g.answer {
			r.T.Errorf("the execution returned %q, want %q", got, g.answer)
		}
	}
	return g
}

// A call that waits for the end of its activity also returns when the activity does not run. Its task may wait in the
// queue or for its next attempt. The call may also be cancelled in the turn that made it, or its node may be lost.
func TestActivity_WaitForEndIsAlwaysAnswered(t *testing.T) {
	t.Parallel()
	wait := orchestration.WithCancellation(orchestration.WaitForEnd)
	cases := map[string]struct {
		call  func(ctx *octx) orchestration.Future[string]
		ready func(tasks []provider.TaskInfo) bool
	}{
		"queued": {
			func(ctx *octx) orchestration.Future[string] { return begin(ctx, "nobody has it", "", wait) },
			func(tasks []provider.TaskInfo) bool { return len(tasks) == 1 },
		},
		"in the same turn": {
			func(ctx *octx) orchestration.Future[string] {
				f := begin(ctx, "work", "", wait)
				f.Cancel()
				return f
			}, nil,
		},
		"in retry back-off": {
			func(ctx *octx) orchestration.Future[string] {
				return begin(ctx, "refuse", "", wait, orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Hour}))
			},
			func(tasks []provider.TaskInfo) bool { return len(tasks) == 1 && tasks[0].Attempt == 2 },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, func(r *rig) {
				l := r.listen("work", nil)
				enginetest.Activity(r.T, r.activities, "refuse", func(context.Context, string) (string, error) {
					return "", errors.New("refused")
				})
				key := r.main(func(ctx *octx, _ none) (string, error) {
					f := c.call(ctx)
					if err := receive(ctx, "stop"); err != nil {
						return "", err
					}
					f.Cancel()
					_, err := f.Get(ctx)
					if !errors.Is(err, orchestration.ErrCancelled) {
						return "", err
					}
					return "cancelled", nil
				})
				if c.ready != nil {
					r.Until("the task is there", func() bool { return c.ready(r.Tasks(key)) })
				}
				r.Raise(key, "stop", none{})
				if got := enginetest.Output[string](r.engine, key); got != "cancelled" {
					r.T.Errorf("the call returned %q", got)
				}
				if len(l.began) != 0 {
					r.T.Error("it was run")
				}
			})
		})
	}
}
