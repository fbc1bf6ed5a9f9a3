package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// slow registers a child that ends on the event "go", and that needs a while to clean up when it is cancelled. Its output says which it was.
func slow(e *enginetest.Engine, reg *runtime.Registry) {
	enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, _ none) (string, error) {
		got, err := orchestration.Events[string](ctx, "go").Receive(ctx)
		if err == nil {
			return got, nil
		}
		return "cleaned up", ctx.Detached().Sleep(50 * time.Millisecond)
	})
}

// childOf waits until a parent has a child that waits, and returns it.
func childOf(e *enginetest.Engine, parent provider.UUID) provider.Instance {
	e.T.Helper()
	var child provider.Instance
	e.Until("the child waits", func() bool {
		list := children(e, parent)
		if len(list) == 1 {
			child = list[0]
		}
		return len(list) == 1 && child.HistoryLength > 0
	})
	return child
}

// What giving up a child does is an option of its call: ask it to end and go on, wait for its own end, or leave it alone.
func TestCancellationOfAChild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  []orchestration.ChildOption
		want  string // of the parent
		child string // its output
		asked bool
	}{
		"default": {nil, " cancelled", "cleaned up", true},
		"try":     {[]orchestration.ChildOption{orchestration.WithCancellation(orchestration.TryCancel)}, " cancelled", "cleaned up", true},
		"wait":    {[]orchestration.ChildOption{orchestration.WithCancellation(orchestration.WaitForEnd)}, "cleaned up ", "cleaned up", true},
		"abandon": {[]orchestration.ChildOption{orchestration.WithCancellation(orchestration.Abandon)}, " cancelled", "went", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryStore(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				slow(e, reg)
				key := start(e, reg, func(ctx *octx, _ none) (string, error) {
					scope, cancel := ctx.WithCancel()
					child := orchestration.StartOrchestrationNamed[string](scope, "slow", none{}, c.opts...)
					_, _ = orchestration.Events[none](ctx, "cancel").Receive(ctx)
					cancel()
					got, err := child.Get(ctx)
					if err != nil && !errors.Is(err, orchestration.ErrCancelled) {
						return "", err
					}
					kind := ""
					if err != nil {
						kind = "cancelled"
					}
					_, _ = orchestration.Events[none](ctx, "end").Receive(ctx)
					return got + " " + kind, nil
				}, none{})
				child := childOf(e, key)
				e.Raise(key, "cancel", none{})
				if !c.asked {
					e.Until("the cancellation is handled", func() bool { return e.Get(key).HistoryLength > 2 })
					e.Raise(child.Key, "go", "went")
				}
				if got := enginetest.Output[string](e, child.Key); got != c.child {
					e.T.Errorf("the child ends with %q", got)
				}
				e.Raise(key, "end", none{})
				if got := enginetest.Output[string](e, key); got != c.want {
					e.T.Errorf("the parent has %q, want %q", got, c.want)
				}
				kinds := kinds(e.History(key, 1))
				if strings.Contains(kinds, "ChildCancelRequested") != c.asked || strings.Contains(kinds, "ChildCompleted") == (name == "default" || name == "try") {
					e.T.Errorf("history %s", kinds)
				}
			})
		})
	}
}

// A child that is given up in the turn in which it was started never begins. Code that waits for its end gets one.
func TestAChildThatNeverBegins(t *testing.T) {
	t.Parallel()
	for _, how := range []orchestration.Cancellation{orchestration.TryCancel, orchestration.WaitForEnd, orchestration.Abandon} {
		t.Run(fmt.Sprint(how), func(t *testing.T) {
			t.Parallel()
			enginetest.EveryStore(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				slow(e, reg)
				key := start(e, reg, func(ctx *octx, _ none) (string, error) {
					child := orchestration.StartChildNamed[string](ctx, "slow", none{}, orchestration.WithCancellation(how))
					child.Cancel()
					_, err := child.Get(ctx)
					_, started := child.Started.Get(ctx)
					return fmt.Sprint(errors.Is(err, orchestration.ErrCancelled), errors.Is(started, orchestration.ErrCancelled)), nil
				}, none{})
				want := "true true"
				if how == orchestration.Abandon {
					want = "true false"
				}
				if got := enginetest.Output[string](e, key); got != want {
					e.T.Errorf("got %q, want %q", got, want)
				}
				if n := len(children(e, key)); n != 0 && how != orchestration.Abandon {
					e.T.Errorf("there are %d children", n)
				}
			})
		})
	}
}

// The close policy is obeyed at each end of the parent: by its function, by continue-as-new, when handlers go on, and from outside.
func TestHazard119_TheClosePolicyIsObeyedAtEachEnd(t *testing.T) {
	t.Parallel()
	ends := map[string]func(e *enginetest.Engine, key provider.UUID){
		"return":   func(e *enginetest.Engine, key provider.UUID) { e.Raise(key, "end", "return") },
		"fail":     func(e *enginetest.Engine, key provider.UUID) { e.Raise(key, "end", "fail") },
		"continue": func(e *enginetest.Engine, key provider.UUID) { e.Raise(key, "end", "continue") },
		"handlers": func(e *enginetest.Engine, key provider.UUID) {
			e.Raise(key, "run", none{})
			e.Raise(key, "end", "return")
		},
		"cancel":    func(e *enginetest.Engine, key provider.UUID) { e.Cancel(key, "enough") },
		"terminate": func(e *enginetest.Engine, key provider.UUID) { e.Terminate(key, "enough") },
	}
	for name, end := range ends {
		for _, policy := range []orchestration.ClosePolicy{orchestration.CloseCancel, orchestration.CloseAbandon} {
			t.Run(fmt.Sprint(name, policy), func(t *testing.T) {
				t.Parallel()
				enginetest.EveryStore(t, func(e *enginetest.Engine) {
					reg := registry(e.T)
					slow(e, reg)
					key := start(e, reg, func(ctx *octx, round int) (none, error) {
						orchestration.HandleEvent(ctx, "run", func(ctx *octx, _ none) error { return ctx.Sleep(20 * time.Millisecond) })
						if round == 0 {
							opts := []orchestration.ChildOption{orchestration.WithClosePolicy(policy)}
							if name == "cancel" { // else the policy alone decides, also while handlers go on
								opts = append(opts, orchestration.WithCancellation(orchestration.Abandon))
							}
							orchestration.StartOrchestrationNamed[string](ctx, "slow", none{}, opts...)
						}
						how, err := orchestration.Events[string](ctx, "end").Receive(ctx)
						switch {
						case err != nil:
							return none{}, err
						case how == "fail":
							return none{}, errRefused
						case how == "continue":
							return none{}, orchestration.ContinueAsNew(ctx, 1)
						}
						return none{}, nil
					}, 0)
					child := childOf(e, key)
					end(e, key)
					if name == "continue" {
						e.Until("it continues", func() bool { return e.Get(key).Execution == 2 })
					} else {
						e.WaitEnded(key)
					}
					want := "cleaned up"
					if policy == orchestration.CloseAbandon {
						e.Raise(child.Key, "go", "went")
						want = "went"
					}
					if got := enginetest.Output[string](e, child.Key); got != want {
						e.T.Errorf("the child ends with %q, want %q", got, want)
					}
					if name == "continue" {
						e.Raise(key, "end", "return")
						e.WaitEnded(key)
					}
				})
			})
		}
	}
}

// Deleting a parent names a child that runs on.
func TestHazard119_DeletingAParentNamesItsChild(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		slow(e, reg)
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			child := orchestration.StartChildNamed[string](ctx, "slow", none{}, orchestration.WithInstanceID("kid"), orchestration.WithClosePolicy(orchestration.CloseAbandon))
			_, err := child.Started.Get(ctx)
			return none{}, err
		}, none{})
		e.WaitEnded(key)
		child := childOf(e, key)
		h := client.HandleOf[none](e.Client(client.Options{}), "main", key)
		_, err := h.Delete(e.T.Context())
		if !errors.Is(err, client.ErrRunning) || !strings.Contains(err.Error(), `its child slow as "kid" runs`) {
			e.T.Errorf("deleting the parent: %v", err)
		}
		e.Raise(child.Key, "go", "went")
		e.WaitEnded(child.Key)
		if n, err := h.Delete(e.T.Context()); n != 2 || err != nil {
			e.T.Errorf("deleting both: %d, %v", n, err)
		}
	})
}

// A child begins with the attributes of its call. It has the header of its parent, and what the call adds.
func TestAttributesAndHeaderOfAChild(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		slow(e, reg)
		when := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			for _, opt := range []orchestration.ChildOption{
				orchestration.WithAttribute("perdure.limit", 1), orchestration.WithAttribute("", 1), orchestration.WithAttribute("x", "\x00"),
				orchestration.WithHeader("perdure.trace", "x"), orchestration.WithHeader("k", strings.Repeat("x", 5000)),
				orchestration.WithClosePolicy(2), orchestration.WithCancellation(-1), nil,
			} {
				if _, err := orchestration.CallOrchestrationNamed[string](ctx, "slow", none{}, opt); !errors.Is(err, orchestration.ErrInvalid) {
					return "", fmt.Errorf("option %T: %w", opt, err)
				}
			}
			return orchestration.CallOrchestrationNamed[string](ctx, "slow", none{}, orchestration.WithAttribute("region", "us"),
				orchestration.WithAttribute("region", "eu"), orchestration.WithAttribute("weight", 7), orchestration.WithAttribute("big", true),
				orchestration.WithAttribute("due", when), orchestration.WithHeader("tenant", "acme"))
		}, none{})
		child := childOf(e, key)
		want := []provider.Attribute{
			{Name: "big", Kind: provider.AttributeBool, Number: 1},
			{Name: "due", Kind: provider.AttributeInstant, Number: int64(provider.TimeOf(when))},
			{Name: "region", Kind: provider.AttributeText, Text: "eu"},
			{Name: "weight", Kind: provider.AttributeInt, Number: 7},
		}
		if diff := cmp.Diff(want, e.Get(child.Key).Attributes); diff != "" {
			e.T.Error(diff)
		}
		began := e.History(child.Key, 1)[0].Body.(*history.ExecutionStarted)
		if diff := cmp.Diff(map[string]string{"tenant": "acme"}, history.DecodeHeader(began.Header)); diff != "" {
			e.T.Error(diff)
		}
		e.Raise(child.Key, "go", "went")
		if got := enginetest.Output[string](e, key); got != "went" {
			e.T.Errorf("got %q", got)
		}
	})
}

// The start of a child is told once, and before its end. A refused start settles both futures. A reply that nobody waits for any more changes
// nothing.
func TestHazard119_TheStartOfAChildHasItsOwnReply(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		slow(e, reg)
		if err := runtime.AddOrchestration(reg, Square); err != nil {
			e.T.Fatal(err)
		}
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			child := orchestration.StartChildNamed[string](ctx, "slow", none{}, orchestration.WithInstanceID("kid"))
			begun, err := child.Started.Get(ctx)
			if err != nil || begun.ID != "kid" || begun.Key == "" || child.Ready() {
				return "", fmt.Errorf("the start: %+v, %w", begun, err)
			}
			again := orchestration.StartChildNamed[string](ctx, "slow", none{}, orchestration.WithInstanceID("kid"))
			if _, err := again.Started.Get(ctx); !errors.Is(err, orchestration.ErrExists) {
				return "", fmt.Errorf("a second start: %w", err)
			}
			if _, err := again.Get(ctx); !errors.Is(err, orchestration.ErrExists) {
				return "", fmt.Errorf("a second child: %w", err)
			}
			quick := orchestration.StartChild(ctx, Square, 3)
			quick.Started.Cancel() // gives up the wait only
			if nine, err := quick.Get(ctx); nine != 9 || err != nil {
				return "", fmt.Errorf("a child whose start nobody waits for: %d, %w", nine, err)
			}
			if which, err := orchestration.Select(ctx, child, quick.Started); which != 1 || err != nil {
				return "", fmt.Errorf("case %d, %w", which, err)
			}
			if _, err := begun.Raise(ctx, "go", "went").Get(ctx); err != nil {
				return "", err
			}
			return child.Get(ctx)
		}, none{})
		if got := enginetest.Output[string](e, key); got != "went" {
			e.T.Errorf("got %q", got)
		}
		got := kinds(e.History(key, 1))
		if strings.Count(got, "ReplyReceived") != 3 { // of two starts and the event
			e.T.Errorf("history %s", got)
		}
	})
}

// A reset at each event gives the new execution what it still waits for: the reply to the start of a child, its end, or both.
func TestHazard119_ResetKeepsStartsAndEnds(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		slow(e, reg)
		enginetest.Orchestration(e.T, reg, "told", func(ctx *octx, id string) (string, error) {
			child := orchestration.StartChildNamed[string](ctx, "slow", none{}, orchestration.WithInstanceID(id),
				orchestration.WithClosePolicy(orchestration.CloseAbandon), orchestration.WithCancellation(orchestration.WaitForEnd))
			if _, err := orchestration.Events[none](ctx, "first").Receive(ctx); err != nil {
				return "", err
			}
			begun, err := child.Started.Get(ctx)
			if err != nil {
				return "", err
			}
			if _, err := orchestration.Events[none](ctx, "second").Receive(ctx); err != nil {
				return "", err
			}
			if _, err := begun.Raise(ctx, "go", "went").Get(ctx); err != nil && !errors.Is(err, orchestration.ErrEnded) {
				return "", err
			}
			return child.Get(ctx)
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		last := int64(10)
		for at := int64(2); at <= last; at++ {
			for _, over := range []bool{false, true} {
				id := fmt.Sprint("kid-", at, over)
				h := startOf[string](e, c, "told", fmt.Sprint("told-", at, over), id)
				e.Until("the child waits", func() bool { return len(children(e, h.Key())) == 1 })
				e.Raise(h.Key(), "first", none{})
				if over {
					e.Raise(h.Key(), "second", none{})
					if got, err := ended(e, h); got != "went" || err != nil {
						e.T.Fatal(got, err)
					}
				} else {
					e.Until("the first event is there", func() bool { return strings.Contains(kinds(events(e, h)), "EventReceived") })
				}
				if _, err := client.Reset(e.T.Context(), h, at); errors.Is(err, client.ErrBadPoint) {
					continue
				} else if err != nil {
					e.T.Fatal(at, err)
				}
				if !over { // later events are carried
					e.Raise(h.Key(), "second", none{})
				}
				if got, err := ended(e, h); got != "went" || err != nil {
					e.T.Errorf("reset at %d of %s: %q, %v", at, kinds(events(e, h)), got, err)
				}
			}
		}
	})
}

// A child that outlives its parent starts also if the parent ends, or continues as new, in the same turn.
func TestHazard119_AChildThatOutlivesStartsWithTheEnd(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "late", func(ctx *octx, _ none) (string, error) { return "late", nil })
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, round int) (none, error) {
			orchestration.StartOrchestrationNamed[string](ctx, "late", none{}, orchestration.WithClosePolicy(orchestration.CloseAbandon),
				orchestration.WithInstanceID(fmt.Sprint(ctx.Info().ID, "/late ", round)))
			if round > 0 {
				return none{}, orchestration.ContinueAsNew(ctx, round-1)
			}
			return none{}, nil
		})
		e.Start(reg)
		e.WaitEnded(e.Create("one", "main", 1))
		for round := range 2 {
			h, err := client.Lookup[string](e.T.Context(), e.Client(client.Options{}), fmt.Sprint("one/late ", round))
			if err != nil {
				e.T.Fatal(err)
			}
			if got, err := h.Wait(e.T.Context()); err != nil || got != "late" {
				e.T.Errorf("%q, %v", got, err)
			}
		}
	})
}

// A release that asks for the start of a child, where the one before did not, gets no reply by a reset: a roll-back would find an event that its code
// does not wait for.
func TestHazard119_AResetInventsNoReply(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		release := func(started bool) *runtime.Registry {
			reg := registry(e.T)
			slow(e, reg)
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
				if started {
					return orchestration.StartChildNamed[string](ctx, "slow", none{}).Get(ctx)
				}
				return orchestration.StartOrchestrationNamed[string](ctx, "slow", none{}).Get(ctx)
			})
			return reg
		}
		rt := e.Start(release(false))
		key := e.Create("one", "main", none{})
		child := childOf(e, key)
		e.Stop(rt)
		rt = e.Start(release(true))
		reset(e, client.HandleOf[string](e.Client(client.Options{}), "one", key), 3)
		e.Until("it has opened", func() bool { return e.Get(key).Execution == 2 && e.Get(key).InboxMessages == 0 })
		e.Stop(rt)
		e.Start(release(false))
		e.Raise(child.Key, "go", "went")
		if got := enginetest.Output[string](e, key); got != "went" {
			e.T.Error(got)
		}
	})
}
