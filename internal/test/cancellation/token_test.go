package cancellation

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// stopped reports whether a cause is one that an ending execution gives its activities. The first of them depends on
// the way: the cancelled call, or the end that followed it.
func stopped(cause error) bool {
	return errors.Is(cause, activity.ErrCancelled) || errors.Is(cause, activity.ErrOrchestrationEnded)
}

// The context of an activity is what the design calls its cancellation token.
func TestActivity_CancellationToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(r *rig){
		"activity_receives_cancellation_token":                   receivesToken,
		"cancellation_token_triggered_on_orchestration_cancel":   hearsOfTheCancel,
		"cancellation_token_triggered_on_orchestration_complete": hearsOfTheEnd,
		"activity_completes_before_cancellation_check":           completesBefore,
		"multiple_activities_cancelled_together":                 heardTogether,
		"activity_spawns_child_tasks_with_cancellation":          childrenHear,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, test)
		})
	}
}

func receivesToken(r *rig) {
	enginetest.Activity(r.T, r.activities, "work", func(ctx context.Context, _ string) (string, error) {
		if err := ctx.Err(); err != nil || ctx.Done() == nil {
			return "", errors.Join(errors.New("cancelled from the beginning"), err)
		}
		return "not cancelled", nil
	})
	key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	if got := enginetest.Output[string](r.engine, key); got != "not cancelled" {
		r.T.Errorf("got %q", got)
	}
}

func hearsOfTheCancel(r *rig) {
	l := r.listen("work", nil)
	key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "one") })
	<-l.began
	asked := time.Now()
	r.Cancel(key, "enough")
	if h := r.next(l, asked); !stopped(h.cause) {
		r.T.Errorf("saw %v", h.cause)
	}
	if i := r.WaitEnded(key); i.Status != provider.StatusCancelled {
		r.T.Errorf("ended as %v", i.Status)
	}
}

func hearsOfTheEnd(r *rig) {
	l := r.listen("work", nil)
	asked := make(chan time.Time, 1)
	key := r.main(func(ctx *octx, _ none) (string, error) {
		slow := begin(ctx, "work", "loser")
		_, err := orchestration.Select(ctx, slow, orchestration.Events[none](ctx, "first"))
		return "the other was first", err
	})
	<-l.began
	asked <- time.Now()
	r.Raise(key, "first", none{})
	if h := r.next(l, <-asked); !errors.Is(h.cause, activity.ErrOrchestrationEnded) {
		r.T.Errorf("saw %v", h.cause)
	}
	if got := enginetest.Output[string](r.engine, key); got != "the other was first" {
		r.T.Errorf("got %q", got)
	}
}

// completesBefore: the activity ends before its cancellation could reach it. A call that waits for the end takes its
// result.
func completesBefore(r *rig) {
	if r.way != deaf {
		return // otherwise it would be cancelled
	}
	if !r.Virtual { // the activity must end before a renewal, on a busy machine, too
		r.Options.Lease = time.Minute
	}
	began, asked := make(chan struct{}), make(chan struct{})
	enginetest.Activity(r.T, r.activities, "work", func(ctx context.Context, _ string) (string, error) {
		close(began)
		<-asked
		r.pause(50 * time.Millisecond) // for the turn that cancels the call; the next renewal is far
		return "completed", ctx.Err()
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		return call(ctx, "work", "", orchestration.WithCancellation(orchestration.WaitForEnd))
	})
	<-began
	r.Cancel(key, "enough")
	close(asked)
	if got := enginetest.Output[string](r.engine, key); got != "completed" {
		r.T.Errorf("got %q", got)
	}
	if s := r.worker.Stats(); s.AttemptsCompleted != 1 || s.AttemptsDiscarded != 0 {
		r.T.Errorf("%d attempts completed, %d discarded", s.AttemptsCompleted, s.AttemptsDiscarded)
	}
}

func heardTogether(r *rig) {
	if !r.Virtual { // the two that obey must come back in this time, on a busy machine, too
		r.Options.Leaks.GracePeriod = 5 * time.Second
	}
	l := r.listen("work", nil)
	stubborn := make(chan struct{})
	enginetest.Activity(r.T, r.activities, "stubborn", func(ctx context.Context, in string) (string, error) {
		l.began <- in
		<-ctx.Done()
		l.heard <- heard{in, context.Cause(ctx), time.Now()}
		<-stubborn
		return "", context.Cause(ctx)
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		_, err := orchestration.All(ctx, begin(ctx, "work", "a"), begin(ctx, "work", "b"), begin(ctx, "stubborn", "c"))
		return "", err
	})
	for range 3 {
		<-l.began
	}
	asked := time.Now()
	r.Cancel(key, "enough")
	names := map[string]bool{}
	for range 3 {
		h := r.next(l, asked)
		names[h.name] = stopped(h.cause)
	}
	if !names["a"] || !names["b"] || !names["c"] {
		r.T.Errorf("saw: %v", names)
	}
	r.WaitEnded(key)
	// Each ends by itself: two obey, and the third is abandoned after its grace period.
	r.Until("all are done with", func() bool { return r.worker.Stats().AttemptsRunning == 0 })
	if s := r.worker.Stats(); s.AttemptsLeaked != 1 {
		r.T.Errorf("%d were left behind", s.AttemptsLeaked)
	}
	close(stubborn)
	r.Until("the late one has come back", func() bool { return r.worker.Stats().ResultsLate == 1 })
}

func childrenHear(r *rig) {
	var heardOf enginetest.Notes[error]
	began, ended := make(chan struct{}), make(chan time.Time, 1)
	enginetest.Activity(r.T, r.activities, "work", func(ctx context.Context, _ string) (string, error) {
		var children sync.WaitGroup
		for range 3 {
			children.Go(func() {
				inner, cancel := context.WithCancel(ctx)
				defer cancel()
				<-inner.Done()
				heardOf.Add(context.Cause(inner))
			})
		}
		close(began)
		children.Wait()
		ended <- time.Now()
		return "", context.Cause(ctx)
	})
	key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	<-began
	asked := time.Now()
	r.Cancel(key, "enough")
	if took := (<-ended).Sub(asked); took > r.within() {
		r.T.Errorf("the children ended after %v", took)
	}
	for _, cause := range heardOf.All() {
		if !stopped(cause) {
			r.T.Errorf("a child saw %v", cause)
		}
	}
	r.WaitEnded(key)
}
