package heartbeats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// A client sees the reported details of an activity within 80 % of its heartbeat timeout. It also sees attempt, node,
// last failure and the time of the next attempt.
func TestClientSeesPendingActivities(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		// In real time the states in between must last until the test has seen them, on a busy machine, too.
		backOff, timeout := 2*time.Second, 3*time.Second
		if !e.Virtual {
			backOff, timeout = 6*time.Second, 5*time.Second
		}
		at, goOn := make(chan struct{}, 1), make(chan struct{})
		reg := registry(e, func(ctx context.Context, n int) (int, error) {
			attempt := activity.GetInfo(ctx).Attempt
			for i := range 3 {
				_ = activity.Heartbeat(ctx, map[string]int{"attempt": attempt, "page": i})
			}
			at <- struct{}{}
			for {
				select {
				case <-goOn:
					if attempt == 3 {
						return n, nil
					}
					return 0, fmt.Errorf("attempt %d: %w\nwith a stack", attempt, errDeclined)
				case <-time.After(100 * time.Millisecond):
					_ = activity.Heartbeat(ctx, map[string]int{"attempt": attempt, "page": 3})
				}
			}
		}, nil, orchestration.WithHeartbeatTimeout(timeout),
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: backOff, Coefficient: 1, Jitter: orchestration.Off}))
		rt := e.Start(reg)
		c := caller(e, reg)
		key := e.Create("main", "main", 1)
		for attempt := 1; attempt <= 3; attempt++ {
			<-at
			e.Until("the details are seen", func() bool {
				a := pending(e, c, "main")
				details, ok, err := client.HeartbeatDetails[map[string]int](&a)
				return err == nil && ok && details["attempt"] == attempt && details["page"] == 3
			})
			a := pending(e, c, "main")
			if a.State != client.ActivityRunning || a.Attempt != int64(attempt) || a.Owner != rt.Owner() || len(a.Attempts) != attempt-1 {
				e.T.Errorf("while attempt %d runs: %+v", attempt, a)
			}
			goOn <- struct{}{}
			if attempt < 3 {
				checkQueued(e, c, attempt, backOff)
			}
		}
		enginetest.Output[int](e, key)
		checkListed(e, c, rt.Owner())
	})
}

func checkQueued(e *engine, c *client.Client, attempt int, backOff time.Duration) {
	e.T.Helper()
	var a client.Activity
	e.Until("it waits for its next attempt", func() bool {
		a = pending(e, c, "main")
		return a.State == client.ActivityQueued
	})
	if _, _, err := client.HeartbeatDetails[string](&a); !errors.Is(err, orchestration.ErrPayload) {
		e.T.Errorf("details of another type returned %v", err)
	}
	last := a.Attempts[len(a.Attempts)-1]
	late := 8 * time.Second
	if !e.Virtual {
		late = 20 * time.Second
	}
	if wait := a.NotBefore.Sub(last.Ended); a.Attempt != int64(attempt+1) || wait < backOff-100*time.Millisecond || wait > backOff+late {
		e.T.Errorf("after attempt %d: %+v, the next one begins after %v", attempt, a, wait)
	}
	if a.Failure == nil || !strings.HasPrefix(a.Failure.Message, fmt.Sprintf("attempt %d: declined", attempt)) || len(a.Heartbeat) == 0 {
		e.T.Errorf("after attempt %d: %+v", attempt, a)
	}
}

// checkListed checks the event that ended the call.
func checkListed(e *engine, c *client.Client, owner string) {
	e.T.Helper()
	for event, err := range c.History(e.T.Context(), "main", 0) {
		if err != nil {
			e.T.Fatal(err)
		}
		if event.Kind != "ActivityCompleted" {
			continue
		}
		if len(event.Attempts) != 3 || event.Attempt != 3 {
			e.T.Fatalf("listed %+v", event)
		}
		for i, a := range event.Attempts {
			want := fmt.Sprintf("attempt %d: declined", i+1)
			if i == 2 {
				want = ""
			}
			if a.Number != int64(i+1) || a.Node != owner || a.Failure != want || a.Began.After(a.Ended) || i > 0 && a.Began.Before(event.Attempts[i-1].Ended) {
				e.T.Errorf("attempt %d is listed as %+v", i+1, a)
			}
		}
	}
}

// ends returns the event that ended the only call.
func ends(e *engine, c *client.Client) (end client.HistoryEvent) {
	e.T.Helper()
	for event, err := range c.History(e.T.Context(), "main", 0) {
		if err != nil {
			e.T.Fatal(err)
		}
		if event.Kind == "ActivityCompleted" || event.Kind == "ActivityFailed" {
			end = event
		}
	}
	return end
}

// A call lists its last ten attempts, and none if it had only one.
func TestTenAttemptsAreListed(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]int{1: 0, 2: 2, 10: 10, 13: 10} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
				long := strings.Repeat("é", 500)
				reg := registry(e, func(ctx context.Context, _ int) (int, error) {
					return 0, fmt.Errorf("%d %s: %w", activity.GetInfo(ctx).Attempt, long, errDeclined)
				}, nil, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: attempts}))
				e.Start(reg)
				_, err := enginetest.Result[int](e, e.Create("main", "main", 1), reg.Errors())
				if !errors.Is(err, errDeclined) {
					e.T.Errorf("ended with %v", err)
				}
				end := ends(e, caller(e, reg))
				if len(end.Attempts) != want {
					e.T.Fatalf("%d are listed, want %d", len(end.Attempts), want)
				}
				for i, a := range end.Attempts {
					if n := attempts - want + i + 1; a.Number != int64(n) || !strings.HasPrefix(a.Failure, fmt.Sprint(n, " é")) || len(a.Failure) > 200 {
						e.T.Errorf("%+v, want number %d", a, n)
					}
				}
			})
		})
	}
}

// A call that ends by its token, or without its last attempt, also lists its attempts.
func TestAttemptsOfOtherEndsAreListed(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		tokens := make(chan string, 1)
		reg := registry(e, func(ctx context.Context, _ int) (int, error) {
			if activity.GetInfo(ctx).Attempt == 1 {
				return 0, errDeclined
			}
			tokens <- activity.Token(ctx)
			return 0, activity.ErrParked
		}, nil, again)
		e.Start(reg)
		key := e.Create("main", "main", 1)
		c, token := caller(e, reg), <-tokens
		e.Until("it is parked", func() bool { return pending(e, c, "main").State == client.ActivityParked })
		if err := client.CompleteActivity(e.T.Context(), c, token, 5); err != nil {
			e.T.Fatal(err)
		}
		enginetest.Output[int](e, key)
		if list := ends(e, c).Attempts; len(list) != 1 || list[0].Number != 1 || list[0].Failure != "declined" {
			e.T.Errorf("listed %+v", list)
		}
	})
}
