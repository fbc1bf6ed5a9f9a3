package orchestration_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestSequentialActivities(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) (int, error) {
			total := 1
			for range n {
				v, err := orchestration.CallActivity(ctx, Double, total)
				if err != nil {
					return 0, err
				}
				total = v
			}
			return total, nil
		}, 20)
		if got := enginetest.Output[int](e, key); got != 1<<20 {
			e.T.Errorf("got %d", got)
		}
	})
}

func TestParallelActivities(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) ([]int, error) {
			futures := make([]orchestration.Future[int], n)
			for i := range futures {
				futures[i] = orchestration.StartActivity(ctx, Double, i)
			}
			return orchestration.All(ctx, futures...)
		}, 50)
		got := enginetest.Output[[]int](e, key)
		for i, v := range got {
			if v != 2*i {
				e.T.Errorf("activity %d returned %d", i, v)
			}
		}
		if len(got) != 50 {
			e.T.Errorf("got %d results", len(got))
		}
	})
}

// Each case has the attempts that an activity sees, and how the call ends.
func TestRetries(t *testing.T) {
	t.Parallel()
	quick := orchestration.RetryPolicy{InitialInterval: time.Millisecond, MaxAttempts: 4}
	excluded := quick
	excluded.NonRetryable = []string{"*orchestration_test.declinedError"}
	cases := []struct {
		name     string
		opts     []orchestration.ActivityOption
		attempt  func(n int) error
		attempts int
		want     string // part of the error; "" for success
	}{
		{"tried once without a policy", nil, func(int) error { return errRefused }, 1, "refused"},
		{
			"succeeds at the third",
			[]orchestration.ActivityOption{orchestration.WithRetry(quick)},
			func(n int) error {
				if n < 3 {
					return errRefused
				}
				return nil
			}, 3, "",
		},
		{"gives up after MaxAttempts", []orchestration.ActivityOption{orchestration.WithRetry(quick)}, func(int) error { return errRefused }, 4, "refused"},
		{
			"NonRetryable",
			[]orchestration.ActivityOption{orchestration.WithRetry(quick)},
			func(int) error { return orchestration.NonRetryable(errRefused) }, 1, "refused",
		},
		{
			"type that the policy excludes",
			[]orchestration.ActivityOption{orchestration.WithRetry(excluded)},
			func(int) error { return errors.Join(errRefused, &declinedError{Code: 7}) }, 1, "declined 7",
		},
		{
			"panic is retried",
			[]orchestration.ActivityOption{orchestration.WithRetry(quick)},
			func(n int) error {
				if n == 1 {
					panic("first attempt")
				}
				return nil
			}, 2, "",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				var mu sync.Mutex
				var attempts []int
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "try", func(ctx context.Context, _ none) (none, error) {
					n := activity.GetInfo(ctx).Attempt
					mu.Lock()
					attempts = append(attempts, n)
					mu.Unlock()
					return none{}, c.attempt(n)
				})
				key := start(e, reg, func(ctx *octx, _ none) (none, error) {
					return orchestration.CallActivityNamed[none](ctx, "try", none{}, c.opts...)
				}, none{})
				_, err := enginetest.Result[none](e, key, nil)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					e.T.Errorf("error %v, want %q", err, c.want)
				}
				if len(attempts) != c.attempts || attempts[len(attempts)-1] != c.attempts {
					e.T.Errorf("attempts %v, want %d", attempts, c.attempts)
				}
			})
		})
	}
}

// The interval doubles up to its limit; virtual time shows it exactly, with the jitter off.
func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		tries := orchestrationtest.ReplaceNamed(e, "try", func(context.Context, none) (none, error) { return none{}, errRefused })
		_, _ = orchestrationtest.Start(e, orchestration.Define("main", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "try", none{}, orchestration.WithRetry(orchestration.RetryPolicy{
				MaxAttempts: 6, MaxInterval: 5 * time.Second, Jitter: orchestration.Off,
			}))
		}), none{}).Wait(e.Context())
		var waits []time.Duration
		calls := tries.Calls()
		for i := range calls[1:] {
			waits = append(waits, calls[i+1].At.Sub(calls[i].At).Round(100*time.Millisecond))
		}
		want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Error(diff)
		}
	})
}

// A bound of less than the stored unit is still a bound.
func TestShortestStartToCloseTimeout(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, Hang)
		_, err := orchestrationtest.Start(e, orchestration.Define("main", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivity(ctx, Hang, none{}, orchestration.WithStartToCloseTimeout(1))
		}), none{}).Wait(e.Context())
		if !errors.Is(err, orchestration.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStartToCloseTimeoutEndsEachAttempt(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var causes []error
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "slow", func(ctx context.Context, _ none) (none, error) {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			return none{}, ctx.Err()
		})
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "slow", none{},
				orchestration.WithStartToCloseTimeout(time.Minute),
				orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2}))
		}, none{})
		_, err := enginetest.Result[none](e, key, nil)
		if !errors.Is(err, orchestration.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
			e.T.Errorf("the call failed with %v", err)
		}
		if len(causes) != 2 || !errors.Is(causes[1], activity.ErrTimeout) {
			e.T.Errorf("causes of the attempts: %v", causes)
		}
	})
}

// The last details of an attempt reach the next one, with and without a renewal between.
func TestHeartbeatDetailsReachTheNextAttempt(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "steps", func(ctx context.Context, _ none) (int, error) {
			at, _, err := activity.HeartbeatDetails[int](ctx)
			if err != nil {
				return 0, orchestration.NonRetryable(err)
			}
			if at == 4 {
				return at, nil
			}
			if err := errors.Join(activity.Heartbeat(ctx, at+1), activity.Heartbeat(ctx, nil)); err != nil {
				return 0, err
			}
			if at%2 == 0 {
				time.Sleep(time.Minute) //nolint:forbidigo // virtual time: the lease is renewed meanwhile
			}
			return 0, errRefused
		})
		key := start(e, reg, func(ctx *octx, _ none) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "steps", none{}, orchestration.WithRetry(orchestration.RetryPolicy{}))
		}, none{})
		if got := enginetest.Output[int](e, key); got != 4 {
			e.T.Errorf("reached %d", got)
		}
	})
}

func TestActivityThatPanicsOrExitsFailsItsCallOnly(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "panics", func(context.Context, none) (none, error) { panic("boom") })
		enginetest.Activity(e.T, reg, "exits", func(ctx context.Context, _ none) (none, error) {
			exit()
			return none{}, nil
		})
		key := start(e, reg, func(ctx *octx, _ none) ([]string, error) {
			var got []string
			for _, name := range []string{"panics", "exits"} {
				_, err := orchestration.CallActivityNamed[none](ctx, name, none{})
				if !errors.Is(err, orchestration.ErrPanic) {
					return nil, err
				}
				got = append(got, err.Error())
			}
			return got, nil
		}, none{})
		got := enginetest.Output[[]string](e, key)
		if !strings.Contains(got[0], "boom") || !strings.Contains(got[0], "activity_test.go") || !strings.Contains(got[1], "Goexit") {
			e.T.Errorf("got %q", got)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	cases := map[string]orchestration.ActivityOption{
		"negative timeout":   orchestration.WithStartToCloseTimeout(-1),
		"empty queue":        orchestration.WithQueue(""),
		"NUL in queue":       orchestration.WithQueue("a\x00"),
		"long queue":         orchestration.WithQueue(strings.Repeat("q", 513)),
		"negative attempts":  orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: -1}),
		"falling intervals":  orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 2, MaxInterval: 1}),
		"coefficient":        orchestration.WithRetry(orchestration.RetryPolicy{Coefficient: 0.5}),
		"jitter":             orchestration.WithRetry(orchestration.RetryPolicy{Jitter: 1.5}),
		"negative intervals": orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: -time.Second}),
	}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, Double)
		wrong, err := orchestrationtest.Start(e, orchestration.Define("main", func(ctx *octx, _ none) ([]string, error) {
			var wrong []string
			for name, opt := range cases {
				if _, err := orchestration.CallActivity(ctx, Double, 1, opt); !errors.Is(err, orchestration.ErrInvalid) {
					wrong = append(wrong, name)
				}
			}
			if _, err := orchestration.CallActivityNamed[none](ctx, "", none{}); !errors.Is(err, orchestration.ErrInvalid) {
				wrong = append(wrong, "empty name")
			}
			if _, err := orchestration.CallActivityNamed[none](ctx, "x", make(chan int)); !errors.Is(err, orchestration.ErrPayload) {
				wrong = append(wrong, "unencodable input")
			}
			return wrong, nil
		}), none{}).Wait(e.Context())
		if len(wrong) > 0 || err != nil {
			t.Errorf("not refused: %q, %v", wrong, err)
		}
	})
}

// A function that is not registered is a mistake of the deploy: the turn waits for it to
// be mended, the instance does not fail.
func TestUnregisteredFunctionBlocks(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivity(ctx, unregistered, none{})
		}, none{})
		b := e.WaitBlocked(key, 1).Blocked
		if b.Reason != "not-registered" || !strings.Contains(b.Message, `"unregistered"`) {
			e.T.Errorf("%+v", b)
		}
	})
}

func unregistered(context.Context, none) (none, error) { return none{}, nil }
