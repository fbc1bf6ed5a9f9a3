package orchestration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// every retries without end, every hour.
var every = orchestration.RetryPolicy{InitialInterval: time.Hour, MaxInterval: time.Hour, Coefficient: 1, Jitter: orchestration.Off}

// A child that fails is tried again as the policy says, after a durable timer.
func TestRetryOrchestration(t *testing.T) {
	t.Parallel()
	with := func(change func(*orchestration.RetryPolicy)) orchestration.RetryPolicy {
		p := every
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		policy orchestration.RetryPolicy
		fails  int
		err    error
		want   string // the children, the hours that passed, and the outcome
	}{
		"succeeds":      {every, 2, errors.New("busy"), "kid kid~2 kid~3: 2h 7 <nil>"},
		"at once":       {every, 0, nil, "kid: 0h 7 <nil>"},
		"attempts":      {with(func(p *orchestration.RetryPolicy) { p.MaxAttempts = 2 }), 9, errors.New("busy"), "kid kid~2: 1h 0 busy"},
		"elapsed":       {with(func(p *orchestration.RetryPolicy) { p.MaxElapsed = 150 * time.Minute }), 9, errors.New("busy"), "kid kid~2 kid~3: 2h 0 busy"},
		"non-retryable": {every, 9, orchestration.NonRetryable(errors.New("no")), "kid: 0h 0 no"},
		"named":         {with(func(p *orchestration.RetryPolicy) { p.NonRetryable = []string{"refused"} }), 9, errRefused, "kid: 0h 0 refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				if err := runtime.AddError(reg, "refused", errRefused); err != nil {
					e.T.Fatal(err)
				}
				enginetest.Orchestration(e.T, reg, "flaky", func(ctx *octx, n int) (int, error) {
					id, tries, _ := strings.Cut(ctx.Info().ID, "~")
					if id != "kid" {
						return 0, fmt.Errorf("ID %s", ctx.Info().ID)
					}
					if try := max(1, len(tries)*int(tries0(tries))); try <= c.fails {
						return 0, c.err
					}
					return n, nil
				})
				key := start(e, reg, func(ctx *octx, _ none) (string, error) {
					began := ctx.Now()
					got, err := orchestration.RetryOrchestrationNamed[int](ctx, c.policy, "flaky", 7, orchestration.WithInstanceID("kid"))
					return fmt.Sprintf("%.0fh %d %v", ctx.Now().Sub(began).Hours(), got, err), nil
				}, none{})
				got := enginetest.Output[string](e, key)
				var ids []string
				for _, child := range children(e, key) {
					ids = append(ids, child.ID)
				}
				slices.Sort(ids)
				if got := strings.Join(ids, " ") + ": " + got; got != c.want {
					e.T.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// tries0 reads the number of a try.
func tries0(text string) int64 {
	if text == "" {
		return 1
	}
	return int64(text[0] - '0')
}

// An ID in use, a cancellation and a termination end the tries, and so does a policy that is not valid.
func TestHazard118_WhatEndsTheTries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(e *enginetest.Engine, parent, child provider.UUID)
		want error
	}{
		"cancelled":      {func(e *enginetest.Engine, _, child provider.UUID) { e.Cancel(child, "enough") }, orchestration.ErrCancelled},
		"scope":          {func(e *enginetest.Engine, parent, _ provider.UUID) { e.Cancel(parent, "enough") }, orchestration.ErrCancelled},
		"terminated":     {func(e *enginetest.Engine, _, child provider.UUID) { e.Terminate(child, "enough") }, orchestration.ErrTerminated},
		"ID in use":      {nil, orchestration.ErrExists},
		"invalid policy": {nil, orchestration.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				slow(e, reg)
				policy, id := every, "kid"
				switch {
				case name == "ID in use":
					id = "main"
				case c.end == nil:
					policy.MaxAttempts = -1
				}
				enginetest.Orchestration(e.T, reg, "waits", func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(1000 * time.Hour) })
				key := start(e, reg, func(ctx *octx, _ none) (string, error) {
					_, err := orchestration.RetryOrchestrationNamed[none](ctx, policy, "waits", none{}, orchestration.WithInstanceID(id))
					if !errors.Is(err, c.want) {
						return "", err
					}
					return "ended", nil
				}, none{})
				if c.end != nil {
					c.end(e, key, childOf(e, key).Key)
				}
				if got := enginetest.Output[string](e, key); got != "ended" {
					e.T.Errorf("got %q", got)
				}
				if all := kinds(e.History(key, 1)); strings.Contains(all, "Timer") || strings.Count(all, "ChildStarted") > 1 {
					e.T.Errorf("history %s", all)
				}
			})
		})
	}
}

// An ID that leaves no room for the numbers of later tries is refused before the first one.
func TestRetryOrchestrationRefusesALongID(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "fails", func(*octx, none) (none, error) { return none{}, errors.New("busy") })
		twice := orchestration.RetryPolicy{InitialInterval: time.Second, Jitter: orchestration.Off, MaxAttempts: 2}
		key := start(e, reg, func(ctx *octx, _ none) ([]string, error) {
			var got []string
			for _, n := range []int{505, 506} {
				_, err := orchestration.RetryOrchestrationNamed[none](ctx, twice, "fails", none{}, orchestration.WithInstanceID(strings.Repeat("i", n)))
				got = append(got, fmt.Sprint(err))
			}
			return got, nil
		}, none{})
		got := enginetest.Output[[]string](e, key)
		if got[0] != "busy" || !strings.Contains(got[1], "instance ID has 506 bytes: give at most 505") {
			e.T.Errorf("got %q", got)
		}
		if all := children(e, key); len(all) != 2 {
			e.T.Errorf("%d children", len(all))
		}
	})
}

// After a reset at any event no two tries run that were not asked to stop. With an ID of the code no two run at all.
func TestHazard118_NoTwoTriesAfterAReset(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprint("own ID ", own), func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "fails", func(ctx *octx, _ none) (none, error) {
					err := ctx.Sleep(time.Second)
					if err != nil { // it cleans up, and two may run meanwhile
						_ = ctx.Detached().Sleep(10 * time.Second)
					}
					return none{}, errors.Join(errors.New("busy"), err)
				})
				enginetest.Orchestration(e.T, reg, "tries", func(ctx *octx, id string) (string, error) {
					policy := orchestration.RetryPolicy{InitialInterval: time.Second, Jitter: orchestration.Off, MaxAttempts: 3}
					var opts []orchestration.ChildOption
					if own {
						opts = append(opts, orchestration.WithInstanceID(id))
					}
					_, err := orchestration.RetryOrchestrationNamed[none](ctx, policy, "fails", none{}, opts...)
					return fmt.Sprint(err), nil
				})
				e.Start(reg)
				c := e.Client(client.Options{})
				for _, length := range []int64{2, 3, 6, 9} {
					for at := int64(1); at <= length+1; at++ {
						id := fmt.Sprint("kid-", length, "-", at)
						h := startOf[string](e, c, "tries", fmt.Sprint("tries-", length, "-", at), id)
						e.Until("it has got there", func() bool { return e.Get(h.Key()).HistoryLength >= length })
						if _, err := client.Reset(e.T.Context(), h, at); errors.Is(err, client.ErrBadPoint) {
							e.Terminate(h.Key(), "")
							continue
						} else if err != nil {
							e.T.Fatal(err)
						}
						for !e.Get(h.Key()).Status.Ended() {
							noTwo(e, h.Key(), own)
							e.Until("time passes", elapsed(400*time.Millisecond))
						}
						noTwo(e, h.Key(), own)
						if got, err := ended(e, h); err != nil || got != "busy" && !strings.Contains(got, "in use") {
							e.T.Errorf("reset at %d of %d: %q, %v", at, length, got, err)
						}
					}
				}
			})
		})
	}
}

// elapsed returns a condition that is true once a time has passed.
func elapsed(d time.Duration) func() bool {
	began := time.Now()
	return func() bool { return time.Since(began) >= d }
}

// noTwo fails the test if two tries run. Those that were asked to stop count with an ID of the code only.
func noTwo(e *enginetest.Engine, parent provider.UUID, own bool) {
	e.T.Helper()
	var running []string
	for _, child := range children(e, parent) {
		// Beside its start or its timer only the request can wait in its inbox.
		asked := child.InboxMessages > 1 || slices.ContainsFunc(e.History(child.Key, 1), func(event history.Event) bool {
			return event.Body.Kind() == history.KindCancelRequested
		})
		if !child.Status.Ended() && (own || !asked) {
			running = append(running, child.ID)
		}
	}
	if len(running) > 1 {
		e.T.Errorf("%v run", running)
	}
}
