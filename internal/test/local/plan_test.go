package local

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/faulty"
)

var errRefused = errors.New("refused")

func ok(context.Context, int) (string, error) { return "ok", nil }

// complete_immediately: the result is stored with the turn that called the activity.
func TestLocalActivity_CompleteImmediately(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		runs := r.script("quick", ok)
		key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "quick") })
		if got := enginetest.Output[string](r.engine, key); got != "ok" {
			r.T.Errorf("got %q", got)
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
		if n := r.stats().TurnsCommitted; n != 1 {
			r.T.Errorf("it took %d commits, want 1", n)
		}
		if all := runs.All(); len(all) != 1 || !all[0].info.Local || all[0].info.Attempt != 1 || all[0].info.EventID != 0 {
			r.T.Errorf("runs were %+v", all)
		}
	})
}

// serial: three in sequence are three events and one commit.
func TestLocalActivity_Serial(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		runs := r.script("quick", ok)
		key := r.main(func(ctx *octx, _ none) (string, error) {
			for range 3 {
				if _, err := call(ctx, "quick"); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		enginetest.Output[string](r.engine, key)
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded LocalEnded LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
		if n := r.stats().TurnsCommitted; n != 1 || len(runs.All()) != 3 {
			r.T.Errorf("%d runs took %d commits, want 3 and 1", len(runs.All()), n)
		}
		keys := make(map[string]bool)
		for _, run := range runs.All() {
			keys[run.key] = true
		}
		if len(keys) != 3 {
			r.T.Errorf("three calls have the idempotency keys %v", keys)
		}
	})
}

// concurrent: several in one turn, each with its event.
func TestLocalActivity_Concurrent(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		const n = 10
		all := make(chan struct{})
		var arrived atomic.Int64
		runs := r.script("meet", func(ctx context.Context, _ int) (string, error) {
			if arrived.Add(1) == n {
				close(all)
			}
			select {
			case <-all: // none would continue if they ran one after the other
				return "met", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			futures := make([]orchestration.Future[string], n)
			for i := range futures {
				futures[i] = begin(ctx, "meet")
			}
			_, err := orchestration.All(ctx, futures...)
			return "done", err
		})
		enginetest.Output[string](r.engine, key)
		if got := strings.Count(r.kinds(key), "LocalEnded"); got != n || len(runs.All()) != n {
			r.T.Errorf("%d runs left %d events: %s", len(runs.All()), got, r.kinds(key))
		}
		if got := r.stats().TurnsCommitted; got != 1 {
			r.T.Errorf("it took %d commits, want 1", got)
		}
	})
}

// complete_eventually: an activity that outlasts its turn continues as a task and does not run again.
func TestLocalActivity_CompleteEventually(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		r.brief()
		stored := make(chan struct{})
		runs := r.script("long", func(ctx context.Context, _ int) (string, error) {
			select {
			case <-stored:
				return "late", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
		key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "long") })
		r.Until("its turn has ended without it", func() bool { return len(r.Tasks(key)) == 1 })
		close(stored)
		if got := enginetest.Output[string](r.engine, key); got != "late" {
			r.T.Errorf("got %q", got)
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalQueued ActivityScheduled ActivityCompleted ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
		if all := runs.All(); len(all) != 1 {
			r.T.Errorf("it ran %d times", len(all))
		}
	})
}

// retry_on_error: five attempts in total, all inside the turn.
func TestLocalActivity_RetryOnError(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		runs := r.script("flaky", func(context.Context, int) (string, error) { return "", errRefused })
		key := r.main(func(ctx *octx, _ none) (string, error) {
			return call(ctx, "flaky", retries(orchestration.RetryPolicy{InitialInterval: time.Millisecond, MaxAttempts: 5}))
		})
		if _, err := enginetest.Result[string](r.engine, key, nil); err == nil || !strings.Contains(err.Error(), "refused") {
			r.T.Errorf("ended with %v", err)
		}
		all := runs.All()
		if len(all) != 5 || all[4].info.Attempt != 5 || all[4].key != all[0].key {
			r.T.Errorf("attempts were %+v", all)
		}
		if got := eventOf[*history.LocalEnded](r, key); got.Attempt != 5 {
			r.T.Errorf("stored %+v", got)
		}
		if n := r.stats().TurnsCommitted; n != 1 {
			r.T.Errorf("it took %d commits, want 1", n)
		}
	})
}

// non_retryable_error_from_activity and non_retryable_error_in_options: neither is retried.
func TestLocalActivity_NonRetryableErrorFromActivity(t *testing.T) {
	t.Parallel()
	testNonRetryable(t, orchestration.NonRetryable(errRefused), orchestration.RetryPolicy{InitialInterval: time.Millisecond})
}

func TestLocalActivity_NonRetryableErrorInOptions(t *testing.T) {
	t.Parallel()
	testNonRetryable(t, &declinedError{}, orchestration.RetryPolicy{
		InitialInterval: time.Millisecond, NonRetryable: []string{"*local.declinedError"},
	})
}

type declinedError struct{}

func (*declinedError) Error() string { return "declined" }

func testNonRetryable(t *testing.T, answer error, policy orchestration.RetryPolicy) {
	t.Helper()
	everyMode(t, func(r *rig) {
		runs := r.script("refuse", func(context.Context, int) (string, error) { return "", answer })
		key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "refuse", retries(policy)) })
		if _, err := enginetest.Result[string](r.engine, key, nil); err == nil {
			r.T.Error("the call succeeded")
		}
		if n := len(runs.All()); n != 1 {
			r.T.Errorf("%d attempts, want 1", n)
		}
	})
}

// backoff_with_persistent_timer: a retry beyond the turn's time waits in the queue with the right attempt number.
func TestLocalActivity_BackoffWithPersistentTimer(t *testing.T) {
	t.Parallel()
	everyStore(t, func(r *rig) {
		r.Options.LocalActivityTime = 4 * time.Second // the first two attempts end in this time, on a busy machine, too
		runs := r.script("slow to mend", func(_ context.Context, attempt int) (string, error) {
			if attempt < 4 {
				return "", errRefused
			}
			return "mended", nil
		})
		var began, ended time.Time
		key := r.main(func(ctx *octx, _ none) (string, error) {
			began = ctx.Now()
			out, err := call(ctx, "slow to mend", retries(orchestration.RetryPolicy{
				InitialInterval: 100 * time.Millisecond, Coefficient: 42, MaxInterval: 4200 * time.Millisecond,
			}))
			ended = ctx.Now()
			return out, err
		})
		if got := enginetest.Output[string](r.engine, key); got != "mended" {
			r.T.Errorf("got %q", got)
		}
		var attempts []int
		var local []bool
		keys := make(map[string]bool)
		for _, run := range runs.All() {
			attempts, local = append(attempts, run.info.Attempt), append(local, run.info.Local)
			keys[run.key] = true
		}
		if len(attempts) != 4 || attempts[3] != 4 || !local[1] || local[2] || len(keys) != 1 {
			r.T.Errorf("attempts %v, local %v, idempotency keys %v", attempts, local, keys)
		}
		if q := eventOf[*history.LocalQueued](r, key); q.Attempts != 2 || q.Delay != 4_200_000 {
			r.T.Errorf("queued as %+v", q)
		}
		if done := eventOf[*history.ActivityCompleted](r, key); done.Attempt != 4 {
			r.T.Errorf("completed as %+v", done)
		}
		if took := ended.Sub(began); took < 8500*time.Millisecond {
			r.T.Errorf("three delays took %v", took)
		}
	})
}

// The limit on the time of all attempts counts from the call.
func TestLocalActivity_MaxElapsed(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		runs := r.script("flaky", func(context.Context, int) (string, error) { return "", errRefused })
		key := r.main(func(ctx *octx, _ none) (string, error) {
			return call(ctx, "flaky", retries(orchestration.RetryPolicy{
				InitialInterval: 100 * time.Millisecond, Coefficient: 1, MaxElapsed: 350 * time.Millisecond,
			}))
		})
		if _, err := enginetest.Result[string](r.engine, key, nil); err == nil || !strings.Contains(err.Error(), "refused") {
			r.T.Errorf("ended with %v", err)
		}
		if n := len(runs.All()); n != 4 {
			r.T.Errorf("%d attempts, want 4", n)
		}
	})
}

// one_success_one_fail: the activity that ended has its event. The other became a task and was lost with its node; it
// begins again with the same attempt.
func TestLocalActivity_OneSuccessOneFail(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		good := r.script("good", ok)
		bad := &enginetest.Notes[run]{}
		enginetest.Activity(r.T, r.reg, "bad", func(ctx context.Context, _ string) (string, error) {
			if bad.Add(run{activity.GetInfo(ctx), activity.IdempotencyKey(ctx)}) > 1 {
				return "", errRefused
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		enginetest.Orchestration(r.T, r.reg, "main", func(ctx *octx, _ none) (string, error) {
			one, two := begin(ctx, "good"), begin(ctx, "bad", orchestration.WithStartToCloseTimeout(time.Hour))
			if _, err := two.Get(ctx); err == nil {
				return "", nil
			}
			return one.Get(ctx)
		})
		plan := faulty.NewPlan(1)
		r.StartOn(faulty.Wrap(r.Store, plan), r.reg, r.Options)
		key := r.Create("main", "main", none{})
		r.Until("the turn is stored", func() bool { return len(r.Tasks(key)) == 1 })
		plan.StartOutage()
		r.Start(r.reg)
		if got := enginetest.Output[string](r.engine, key); got != "ok" {
			r.T.Errorf("got %q", got)
		}
		plan.EndOutage()
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded LocalQueued ActivityScheduled ActivityFailed ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
		if n := len(good.All()); n != 1 {
			r.T.Errorf("the one that ended ran %d times", n)
		}
		if all := bad.All(); len(all) != 2 || all[1].info.Attempt != 1 || all[1].info.Deliveries != 2 || all[1].key != all[0].key {
			r.T.Errorf("the other ran as %+v", all)
		}
	})
}

// An activity inside a turn sees its attempt and has some calls refused.
func TestLocalActivity_Refusals(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		do   func(ctx context.Context) (string, error)
		want string
	}{
		"pending":    {func(context.Context) (string, error) { return "", activity.ErrPending }, "call it with CallActivity"},
		"parked":     {func(context.Context) (string, error) { return "", activity.ErrParked }, "call it with CallActivity"},
		"completer":  {func(ctx context.Context) (string, error) { return "", activity.Defer[string](ctx).Complete("x") }, "call it with CallActivity"},
		"token":      {func(ctx context.Context) (string, error) { return activity.Token(ctx), nil }, "call it with CallActivity"},
		"panic":      {func(context.Context) (string, error) { panic("oh no") }, "oh no"},
		"goexit":     {goexit, "runtime.Goexit"},
		"oversize":   {func(context.Context) (string, error) { return strings.Repeat("x", 3<<20), nil }, "limit"},
		"onComplete": {onComplete, "before the commit that records it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(r *rig) {
				r.script("refused", func(ctx context.Context, _ int) (string, error) { return c.do(ctx) })
				key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "refused") })
				if _, err := enginetest.Result[string](r.engine, key, nil); err == nil || !strings.Contains(err.Error(), c.want) {
					r.T.Errorf("ended with %v, want %q in it", err, c.want)
				}
			})
		})
	}
}

// A turn with much to store ends early. Its commit never becomes too large, and everything is stored in the end.
func TestLocalActivity_MuchToStore(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes, under the race detector")
	}
	t.Parallel()
	everyMode(t, func(r *rig) {
		const n, size = 24, 19 << 20 / 10
		r.script("much", func(context.Context, int) (string, error) { return strings.Repeat("x", size), nil })
		key := r.main(func(ctx *octx, _ none) (string, error) {
			for range n {
				if out, err := call(ctx, "much"); err != nil || len(out) != size {
					return "", err
				}
			}
			return "stored", nil
		})
		if i := r.EndedOrBlocked(key); i.Blocked != nil {
			r.T.Fatalf("the instance is blocked: %s", i.Blocked.Message)
		}
		if got := enginetest.Output[string](r.engine, key); got != "stored" {
			r.T.Errorf("got %q", got)
		}
		if commits := r.stats().TurnsCommitted; commits < 2 || commits > n {
			r.T.Errorf("it took %d commits", commits)
		}
	})
}
