package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// block runs steps in a coroutine and keeps what they return in out.
func block[T any](ctx *octx, out *T, steps func(ctx *octx) (T, error)) orchestration.Future[none] {
	return ctx.Go(func(ctx *octx) error {
		v, err := steps(ctx)
		*out = v
		return err
	})
}

// long is a child that nobody waits for to the end.
func long(ctx *octx, _ none) (string, error) { return "long", ctx.Sleep(1000 * time.Hour) }

// short is a child that ends soon.
func short(ctx *octx, n int) (string, error) { return fmt.Sprint("short ", n), ctx.Sleep(time.Second) }

// Coroutines of several steps race: each case says which one wins, and what it has got. What the others wait for is cancelled.
func TestRaceOfCoroutines(t *testing.T) {
	t.Parallel()
	type result struct {
		Index int
		Got   string
		Kids  []provider.Status // of the children, the newest first
	}
	twoSteps := func(a int) func(ctx *octx) (string, error) {
		return func(ctx *octx) (string, error) {
			n, err := orchestration.CallActivity(ctx, Double, a)
			if err != nil {
				return "", err
			}
			n, err = orchestration.CallActivity(ctx, Double, n) // takes what the first step has returned
			return fmt.Sprint(n), err
		}
	}
	join := func(ctx *octx) (string, error) {
		ns, err := orchestration.All(ctx, orchestration.StartActivity(ctx, Double, 1), orchestration.StartActivity(ctx, Double, 2))
		return fmt.Sprint(ns), err
	}
	sleep := func(d time.Duration) func(ctx *octx) (string, error) {
		return func(ctx *octx) (string, error) { return fmt.Sprint(d), ctx.Sleep(d) }
	}
	kid := func(name string, in any) func(ctx *octx) (string, error) {
		return func(ctx *octx) (string, error) { return orchestration.CallOrchestrationNamed[string](ctx, name, in) }
	}
	for name, c := range map[string]struct {
		blocks []func(ctx *octx) (string, error)
		want   result
	}{
		"the first to end wins":            {[]func(ctx *octx) (string, error){sleep(3 * time.Hour), sleep(time.Hour), sleep(2 * time.Hour)}, result{1, "1h0m0s", nil}},
		"steps against a timer":            {[]func(ctx *octx) (string, error){sleep(time.Hour), twoSteps(3)}, result{1, "12", nil}},
		"a join against a timer":           {[]func(ctx *octx) (string, error){join, sleep(time.Hour)}, result{0, "[2 4]", nil}},
		"a child that wins":                {[]func(ctx *octx) (string, error){kid("short", 7), sleep(time.Hour)}, result{0, "short 7", []provider.Status{provider.StatusCompleted}}},
		"a child that loses":               {[]func(ctx *octx) (string, error){kid("long", none{}), twoSteps(1)}, result{1, "4", []provider.Status{provider.StatusCancelled}}},
		"a child that is late":             {[]func(ctx *octx) (string, error){kid("long", none{}), sleep(time.Minute)}, result{1, "1m0s", []provider.Status{provider.StatusCancelled}}},
		"a child against a child, and one": {[]func(ctx *octx) (string, error){kid("long", none{}), kid("short", 1), sleep(time.Hour)}, result{1, "short 1", []provider.Status{provider.StatusCompleted, provider.StatusCancelled}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "long", long)
				enginetest.Orchestration(e.T, reg, "short", short)
				key := start(e, reg, func(ctx *octx, _ none) (result, error) {
					got := make([]string, len(c.blocks))
					futures := make([]orchestration.Future[none], len(c.blocks))
					for i, steps := range c.blocks {
						futures[i] = block(ctx, &got[i], steps)
					}
					_, i, err := orchestration.Race(ctx, futures...)
					return result{Index: i, Got: got[i]}, errors.Join(err, ctx.Sleep(time.Hour)) // what it has open then is cancelled anyhow
				}, none{})
				got := enginetest.Output[result](e, key)
				for _, k := range children(e, key) {
					k = e.WaitEnded(k.Key)
					if got.Kids = append(got.Kids, k.Status); k.EndedAt >= e.Get(key).EndedAt {
						e.T.Errorf("%s has ended with its parent, not with the race", k.ID)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					e.T.Error(diff)
				}
			})
		})
	}
}

// Futures of different types are waited for together: each has its own type, and its own error.
func TestDifferentTypesTogether(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "short", short)
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			number := orchestration.StartActivity(ctx, Double, 21)
			text := orchestration.StartOrchestrationNamed[string](ctx, "short", 1)
			refused := orchestration.StartActivity(ctx, Refuse, "no")
			for !number.Ready() || !text.Ready() || !refused.Ready() {
				if _, err := orchestration.Select(ctx, orchestration.StartTimer(ctx, time.Second)); err != nil {
					return "", err
				}
			}
			n, err := number.Get(ctx)
			s, err2 := text.Get(ctx)
			_, err3 := refused.Get(ctx)
			if err3 == nil {
				return "", errors.New("the refusal is lost")
			}
			return fmt.Sprint(n, " ", s), errors.Join(err, err2)
		}, none{})
		if got := enginetest.Output[string](e, key); got != "42 short 1" {
			e.T.Errorf("got %q", got)
		}
	})
}

// A result belongs to the call that asked for it, not to a name and an input: two equal calls get different results, in whatever order they
// come, and so they do on another node.
func TestEqualCallsHaveTheirOwnResults(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		first := make(chan none)
		enginetest.Activity(e.T, reg, "draw", func(ctx context.Context, _ string) (int, error) {
			if event := activity.GetInfo(ctx).EventID; event != 2 {
				return int(event), nil
			}
			select {
			case <-first: // it was called first and ends last
				return 2, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]int, error) {
			a := orchestration.StartActivityNamed[int](ctx, "draw", "same")
			b := orchestration.StartActivityNamed[int](ctx, "draw", "same")
			if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
				return nil, err
			}
			return orchestration.All(ctx, a, b)
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", none{})
		e.Until("the second has ended", func() bool { return e.Get(key).HistoryLength == 4 })
		close(first)
		e.Until("the first has ended", func() bool { return e.Get(key).HistoryLength == 5 })
		e.Stop(rt)
		e.Start(reg)
		e.Raise(key, "go", none{})
		if got := enginetest.Output[[]int](e, key); !slices.Equal(got, []int{2, 3}) {
			e.T.Errorf("got %v", got)
		}
	})
}

// A parent has children, and these have children: inputs go down, outputs go up, and a parent raises an event to a child by its ID when the
// child has told that it is there.
func TestFamilyOfThreeGenerations(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		// below starts a child, waits until it is there, and sends it a word.
		below := func(ctx *octx, name, in, word string) (string, error) {
			child := orchestration.StartOrchestrationNamed[string](ctx, name, in+name+"(", orchestration.WithInstanceID(name))
			if _, err := orchestration.Events[none](ctx, "here").Receive(ctx); err != nil {
				return "", err
			}
			if _, err := orchestration.Raise(ctx, name, "word", word).Get(ctx); err != nil {
				return "", err
			}
			return child.Get(ctx)
		}
		heard := func(ctx *octx) (string, error) {
			if _, err := orchestration.Raise(ctx, ctx.Info().ParentID, "here", none{}).Get(ctx); err != nil {
				return "", err
			}
			return orchestration.Events[string](ctx, "word").Receive(ctx)
		}
		enginetest.Orchestration(e.T, reg, "leaf", func(ctx *octx, in string) (string, error) {
			word, err := heard(ctx)
			return in + word + ")", err
		})
		enginetest.Orchestration(e.T, reg, "middle", func(ctx *octx, in string) (string, error) {
			word, err := heard(ctx)
			if err != nil {
				return "", err
			}
			out, err := below(ctx, "leaf", in, word)
			return out + ")", err
		})
		key := start(e, reg, func(ctx *octx, in string) (string, error) { return below(ctx, "middle", in, "hello") }, "root ")
		if got := enginetest.Output[string](e, key); got != "root middle(leaf(hello))" {
			e.T.Errorf("got %q", got)
		}
		tree, err := e.Client(client.Options{}).Tree(e.T.Context(), "main", client.TreeLimits{})
		if err != nil || tree.Size() != 3 || tree.Children[0].ID != "middle" || tree.Children[0].Children[0].ID != "leaf" {
			e.T.Errorf("the tree is %+v, %v", tree, err)
		}
	})
}

// What code has shown is there after a failure, too.
func TestStateStaysAfterAFailure(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		s, _ := show(e, func(ctx *octx, _ none) (string, error) {
			ctx.SetStatus(progress{At: "begin"})
			orchestration.SetValue(ctx, "k", 7)
			_, err := orchestration.CallActivity(ctx, Refuse, "no")
			ctx.SetStatus(progress{At: "refused"})
			return "", err
		})
		if _, err := s.h.Wait(e.T.Context()); !errors.Is(err, client.ErrFailed) {
			e.T.Errorf("it ended with %v", err)
		}
		s.reaches("refused")
		if n, err := client.Value[int](e.T.Context(), s.h, "k"); n != 7 || err != nil {
			e.T.Errorf("the value is %d, %v", n, err)
		}
	})
}

// The next execution draws other random numbers and UUIDs than the one before: they may be keys outside.
func TestNextExecutionDrawsOtherNumbers(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, seen []string) ([]string, error) {
			seen = append(seen, ctx.NewUUID().String(), fmt.Sprint(ctx.Rand().Int64()))
			if len(seen) < 6 {
				return nil, orchestration.ContinueAsNew(ctx, seen)
			}
			return seen, ctx.Sleep(time.Second) // replays in some modes
		}, nil)
		got := enginetest.Output[[]string](e, key)
		slices.Sort(got)
		if different := len(slices.Compact(got)); different != 6 {
			e.T.Errorf("%d different of 6: %s", different, strings.Join(got, " "))
		}
	})
}

// A call of a child that is cancelled ends at once, although the child takes an hour to clean up. The child has been told.
func TestCancelledChildIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "tidy", func(ctx *octx, _ none) (none, error) {
			err := ctx.Sleep(1000 * time.Hour)
			return none{}, errors.Join(err, ctx.Detached().Sleep(time.Hour))
		})
		key := start(e, reg, func(ctx *octx, _ none) (time.Duration, error) {
			child := orchestration.StartOrchestrationNamed[none](ctx, "tidy", none{})
			if err := ctx.Sleep(time.Minute); err != nil {
				return 0, err
			}
			began := ctx.Now()
			child.Cancel()
			if _, err := child.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
				return 0, fmt.Errorf("the call ended with: %w", err)
			}
			err := ctx.Sleep(time.Second)
			return ctx.Now().Sub(began), err
		}, none{})
		if took := enginetest.Output[time.Duration](e, key); took > time.Minute {
			e.T.Errorf("the call ended after %v", took)
		}
		child := children(e, key)[0]
		if child.Status.Ended() {
			e.T.Errorf("the child has ended as %v by then", child.Status)
		}
		if got := e.WaitEnded(child.Key); got.Status != provider.StatusCancelled {
			e.T.Errorf("the child ended as %v", got.Status)
		}
	})
}
