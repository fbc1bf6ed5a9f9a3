package heartbeats

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An attempt without a heartbeat during the timeout is cancelled, fails and is retried. Attempts with heartbeats keep
// running. The next attempt has the details of the last one.
func TestHeartbeating_MissedBeatsTimeOut(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		var causes enginetest.Notes[error]
		var begun enginetest.Notes[any]
		reg := registry(e, func(ctx context.Context, _ int) (int, error) {
			done, _, _ := activity.HeartbeatDetails[int](ctx)
			begun.Add(done)
			limit := activity.GetInfo(ctx).HeartbeatTimeout
			for i := range 12 { // longer than the timeout altogether
				if err := activity.Heartbeat(ctx, done+i+1); err != nil {
					return 0, orchestration.NonRetryable(err)
				}
				if err := await(ctx, limit/10); err != nil { // a busy machine may be late
					return 0, orchestration.NonRetryable(err)
				}
			}
			silent := time.Now()
			<-ctx.Done()
			causes.Add(context.Cause(ctx))
			if took := time.Since(silent); e.Virtual && (took < limit/2 || took > limit) {
				e.T.Errorf("ended after %v of silence", took)
			}
			return 0, context.Cause(ctx)
		}, nil, orchestration.WithHeartbeatTimeout(5*time.Second),
			orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond}))
		e.Start(reg)
		_, err := enginetest.Result[int](e, e.Create("main", "main", 1), reg.Errors())
		if kind, ok := orchestration.TimeoutKind(err); !ok || kind != activity.NoHeartbeat || !errors.Is(err, orchestration.ErrTimeout) ||
			!strings.Contains(err.Error(), "no heartbeat within its heartbeat timeout of 5s") {
			e.T.Errorf("ended with %v", err)
		}
		ended(e, &begun, 0, 12)
		for _, cause := range causes.All() {
			if timeout, ok := errors.AsType[*activity.TimeoutError](cause); !ok || timeout.Kind != activity.NoHeartbeat {
				e.T.Errorf("the cause was %v", cause)
			}
		}
	})
}

// An attempt that never sends a heartbeat is cancelled, too. If it does not obey, it is abandoned and retried after the
// grace period.
func TestHeartbeating_HangingAttemptIsRetried(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		freed := make(chan struct{})
		rt := e.Start(registry(e, func(ctx context.Context, n int) (int, error) {
			if activity.GetInfo(ctx).Attempt == 1 {
				<-freed
			}
			return n, nil
		}, nil, orchestration.WithHeartbeatTimeout(time.Minute), again))
		begun := time.Now()
		enginetest.Output[int](e, e.Create("main", "main", 1))
		if took := time.Since(begun); took < 70*time.Second || took > 71*time.Second { // timeout and grace period
			e.T.Errorf("took %v", took)
		}
		if s := rt.Stats(); s.AttemptsLeaked != 1 || s.AttemptsRetried != 1 {
			e.T.Errorf("%+v", s)
		}
		close(freed)
	})
}

// An outage of the store does not time out an attempt that sends heartbeats.
func TestHeartbeating_OutageIsNoSilence(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		store := &renewals{Full: e.Store}
		reg := registry(e, busy(40*time.Second), nil, orchestration.WithHeartbeatTimeout(time.Second))
		e.StartOn(away(store, 2*time.Second, 20*time.Second), reg, e.Options)
		if got := enginetest.Output[int](e, e.Create("main", "main", 1)); got != 1 {
			e.T.Errorf("got %d", got)
		}
		if n := len(store.withDetails()); n < 5 {
			e.T.Errorf("%d details were sent", n)
		}
	})
}

// The next heartbeat returns a cancellation.
func TestHeartbeating_CancelComesBack(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		answers := make(chan error, 1)
		begun := make(chan struct{})
		e.Start(registry(e, func(ctx context.Context, _ int) (int, error) {
			close(begun)
			for i := 0; ; i++ {
				if err := activity.Heartbeat(ctx, i); err != nil {
					answers <- err
					return 0, err
				}
				<-time.After(10 * time.Millisecond) // the heartbeat reports it, not the context
			}
		}, nil))
		key := e.Create("main", "main", 1)
		<-begun
		e.Cancel(key, "enough")
		if err := <-answers; !errors.Is(err, activity.ErrCancelled) && !errors.Is(err, activity.ErrOrchestrationEnded) {
			e.T.Errorf("the heartbeat returned %v", err)
		}
		e.WaitEnded(key)
	})
}

// The heartbeat timeout bounds a pending activity as well: the heartbeats of its completer count.
func TestHeartbeating_PendingThatIsSilentTimesOut(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		completers := make(chan activity.Completer[int], 2)
		reg := registry(e, func(ctx context.Context, _ int) (int, error) {
			completers <- activity.Defer[int](ctx)
			return 0, activity.ErrPending
		}, nil, orchestration.WithHeartbeatTimeout(time.Minute))
		e.Start(reg)
		key := e.Create("main", "main", 1)
		c := <-completers
		for range 10 {
			time.Sleep(50 * time.Second) //nolint:forbidigo // virtual time
			if err := c.Heartbeat("there"); err != nil {
				e.T.Fatal(err)
			}
		}
		silent := time.Now()
		_, err := enginetest.Result[int](e, key, reg.Errors())
		if kind, _ := orchestration.TimeoutKind(err); kind != activity.NoHeartbeat {
			e.T.Errorf("ended with %v", err)
		}
		if took := time.Since(silent); took < time.Minute || took > time.Minute+time.Second {
			e.T.Errorf("after %v", took)
		}
		if err := c.Complete(1); !errors.Is(err, activity.ErrTimeout) {
			e.T.Errorf("a late completion returned %v", err)
		}
	})
}

// The holder of an activity's token keeps it alive by heartbeats, independent of the node's renewals. Without them the
// attempt times out.
func TestHeartbeating_TokenBeatsCount(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]bool{"pending": true, "code that runs": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, runtime.Options{Lease: 6 * time.Second}, func(e *engine) {
				limit, often, beats := 3*time.Second, time.Second, 6
				if !e.Virtual { // a busy machine is late by seconds, and one heartbeat may be missed
					limit, often, beats = 8*time.Second, 1300*time.Millisecond, 8
					e.Options.Lease = 12 * time.Second // a third of it is less than the limit
				}
				tokens := make(chan string, 1)
				reg := registry(e, func(ctx context.Context, _ int) (int, error) {
					tokens <- activity.Token(ctx)
					if held {
						return 0, activity.ErrPending
					}
					<-ctx.Done()
					return 0, context.Cause(ctx)
				}, nil, orchestration.WithHeartbeatTimeout(limit))
				e.Start(reg)
				key := e.Create("main", "main", 1)
				c, token := caller(e, reg), <-tokens
				for range beats { // longer than the limit altogether
					time.Sleep(often + 7*time.Millisecond) //nolint:forbidigo // the time of the test: virtual, or short
					if err := client.HeartbeatActivity(e.T.Context(), c, token, nil); err != nil {
						e.T.Fatal(err)
					}
				}
				silent := time.Now()
				_, err := enginetest.Result[int](e, key, reg.Errors())
				if kind, _ := orchestration.TimeoutKind(err); kind != activity.NoHeartbeat {
					e.T.Errorf("ended with %v", err)
				}
				// A heartbeat that meets a renewal of the node may be missed, so there is time for two more.
				if took := time.Since(silent); e.Virtual && (took < limit-20*time.Millisecond || took > limit+100*time.Millisecond) {
					e.T.Errorf("timed out after %v of silence", took)
				}
			})
		})
	}
}
