package dispatcher_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// pendingActivity waits until an instance has one pending activity in a state, and returns it as it is shown.
func pendingActivity(e *enginetest.Engine, h client.Handle[int], state client.ActivityState) (client.ActivityRef, client.Activity) {
	e.T.Helper()
	var ref client.ActivityRef
	var shown client.Activity
	e.Until("the activity is "+string(state), func() bool {
		d, err := h.Describe(e.T.Context())
		if err != nil {
			e.T.Fatal(err)
		}
		if len(d.Activities) != 1 || d.Activities[0].State != state {
			return false
		}
		ref, shown = d.Ref(&d.Activities[0]), d.Activities[0]
		return true
	})
	return ref, shown
}

// theActivity is an activity that ends in the way that its test wants, and notes what becomes of its attempts.
type theActivity struct {
	begun  chan int // attempts
	parks  bool
	fails  bool
	causes chan error // why the context of an attempt ended
	ran    atomic.Int64
}

func newActivity() *theActivity {
	return &theActivity{begun: make(chan int, 100), causes: make(chan error, 100)}
}

// run hangs in the first attempt until its context ends, unless the test wants another end. Later ones succeed.
func (a *theActivity) run(ctx context.Context, n int) (int, error) {
	attempt := activity.GetInfo(ctx).Attempt
	a.begun <- attempt
	switch {
	case attempt > 1:
	case a.parks:
		return 0, activity.ErrParked
	case a.fails:
		return 0, errors.New("not yet")
	default:
		<-ctx.Done()
		a.causes <- context.Cause(ctx)
	}
	a.ran.Add(1)
	return n, nil
}

func startSingle(e *enginetest.Engine, n int) client.Handle[int] {
	e.T.Helper()
	h, err := client.StartNamed[int](e.T.Context(), e.Client(client.Options{}), "single", n)
	if err != nil {
		e.T.Fatal(err)
	}
	return h
}

func slowRetry() orchestration.ActivityOption {
	return orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 2 * time.Hour, MaxAttempts: 10})
}

// An operator ends a running attempt: with an output, an error, a retry or a pause. Its code learns that, its result is dropped, and the
// orchestration goes on with what the operator has chosen.
func TestHazard86_ActsOnARunningActivity(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]struct {
		do     func(ctx context.Context, p client.PendingActivity) error
		output int
		failed bool
		begun  int // attempts
		cause  error
	}{
		"complete": {func(ctx context.Context, p client.PendingActivity) error { return p.Complete(ctx, 42, "by hand") }, 42, false, 1, activity.ErrAlreadyCompleted},
		"fail": {func(ctx context.Context, p client.PendingActivity) error {
			return p.Fail(ctx, errors.New("the printer burns"), "")
		}, 0, true, 1, activity.ErrAlreadyCompleted},
		"retry": {func(ctx context.Context, p client.PendingActivity) error { return p.Retry(ctx, "") }, 4, false, 2, activity.ErrLeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				a := newActivity()
				e.Start(single(e, a.run))
				h := startSingle(e, 4)
				<-a.begun
				ref, shown := pendingActivity(e, h, client.ActivityRunning)
				if shown.Owner == "" || ref.Attempt != 1 {
					e.T.Errorf("%+v", shown)
				}
				if err := act.do(e.T.Context(), h.Activity(ref)); err != nil {
					e.T.Fatal(err)
				}
				got, err := h.Wait(e.T.Context())
				if got != act.output || errors.Is(err, client.ErrFailed) != act.failed || !act.failed && err != nil {
					e.T.Errorf("got %d, %v", got, err)
				}
				if cause := <-a.causes; !errors.Is(cause, act.cause) {
					e.T.Errorf("the code learned %v", cause)
				}
				if n := len(a.begun) + 1; n != act.begun {
					e.T.Errorf("%d attempts", n)
				}
				results(e, h.Key())
			})
		})
	}
}

// A paused activity does not run until it is resumed, whatever it was: running, waiting for its retry, or parked. It is shown as paused.
func TestHazard86_PausedActivityDoesNotRun(t *testing.T) {
	t.Parallel()
	for state, set := range map[client.ActivityState]func(a *theActivity){
		client.ActivityRunning: func(*theActivity) {},
		client.ActivityQueued:  func(a *theActivity) { a.fails = true },
		client.ActivityParked:  func(a *theActivity) { a.parks = true },
	} {
		for how, end := range map[string]func(ctx context.Context, p client.PendingActivity) error{
			"resume": func(ctx context.Context, p client.PendingActivity) error { return p.Resume(ctx, "") },
			"retry":  func(ctx context.Context, p client.PendingActivity) error { return p.Retry(ctx, "") },
		} {
			t.Run(string(state)+" "+how, func(t *testing.T) {
				t.Parallel()
				enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
					a := newActivity()
					set(a)
					e.Start(single(e, a.run, slowRetry()))
					h := startSingle(e, 4)
					<-a.begun
					ref, _ := pendingActivity(e, h, state)
					if err := h.Activity(ref).Pause(e.T.Context(), "look first"); err != nil {
						e.T.Fatal(err)
					}
					time.Sleep(3 * time.Hour) //nolint:forbidigo // virtual time
					if n := len(a.begun); n != 0 {
						e.T.Fatalf("%d attempts of a paused activity", n)
					}
					ref, shown := pendingActivity(e, h, client.ActivityPaused)
					if !shown.NotBefore.IsZero() || shown.Owner != "" {
						e.T.Errorf("%+v", shown)
					}
					if err := end(e.T.Context(), h.Activity(ref)); err != nil {
						e.T.Fatal(err)
					}
					if got, err := h.Wait(e.T.Context()); got != 4 || err != nil {
						e.T.Errorf("got %d, %v", got, err)
					}
					if n := len(a.begun); n != 1 {
						e.T.Errorf("%d more attempts", n)
					}
					results(e, h.Key())
				})
			})
		}
	}
}

// An act names the attempt and the state that a page has shown. It changes nothing once they are others, and says what is pending now.
func TestHazard88_StalePageChangesNothing(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		a := newActivity()
		a.fails = true
		e.Start(single(e, a.run, slowRetry()))
		h := startSingle(e, 4)
		<-a.begun
		ref, _ := pendingActivity(e, h, client.ActivityQueued)
		if ref.Attempt != 2 {
			e.T.Errorf("%+v", ref)
		}
		for name, stale := range map[string]client.ActivityRef{
			"another attempt": {Execution: 1, EventID: ref.EventID, Attempt: 1},
			"another state":   {Execution: 1, EventID: ref.EventID, Attempt: 2, State: client.ActivityRunning},
		} {
			p := h.Activity(stale)
			for act, err := range map[string]error{
				"retry": p.Retry(e.T.Context(), ""), "pause": p.Pause(e.T.Context(), ""), "resume": p.Resume(e.T.Context(), ""),
				"complete": p.Complete(e.T.Context(), 1, ""), "fail": p.Fail(e.T.Context(), errors.New("x"), ""),
			} {
				if !errors.Is(err, client.ErrConflict) {
					e.T.Errorf("%s, %s: %v", name, act, err)
				}
			}
		}
		again, _ := pendingActivity(e, h, client.ActivityQueued)
		if again != ref {
			e.T.Errorf("a stale page has changed %+v to %+v", ref, again)
		}
		for name, gone := range map[string]client.ActivityRef{
			"another execution": {Execution: 2, EventID: ref.EventID, Attempt: 2},
			"another event":     {Execution: 1, EventID: 99, Attempt: 2},
		} {
			if err := h.Activity(gone).Retry(e.T.Context(), ""); !errors.Is(err, client.ErrNotFound) {
				e.T.Errorf("%s: %v", name, err)
			}
		}
		if err := h.Activity(ref).Complete(e.T.Context(), 7, ""); err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(e.T.Context()); got != 7 || err != nil {
			e.T.Errorf("got %d, %v", got, err)
		}
		if err := h.Activity(ref).Fail(e.T.Context(), errors.New("late"), ""); !errors.Is(err, client.ErrNotFound) {
			e.T.Errorf("after its end: %v", err)
		}
	})
}
