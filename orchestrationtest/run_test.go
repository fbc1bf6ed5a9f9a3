package orchestrationtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// checkOut replaces all that Checkout calls, and runs it with an approval after 25 hours.
func checkOut(t *testing.T, e *orchestrationtest.Env) []client.HistoryEvent {
	t.Helper()
	began := time.Now()
	charges := orchestrationtest.Replace(e, Charge, func(_ context.Context, o order) (receipt, error) {
		return receipt{"R-" + o.ID}, nil
	}, orchestrationtest.FailFirst(2, errors.New("no line")), orchestrationtest.Delay(time.Minute), orchestrationtest.Times(3))
	letters := orchestrationtest.Replace(e, (*mailer)(nil).Send, nil, orchestrationtest.Times(1))
	deliveries := orchestrationtest.Replace(e, Deliver, func(ctx *orchestration.Context, o order) (string, error) {
		return "to the door of " + o.ID, ctx.Sleep(time.Hour)
	})
	h := orchestrationtest.Start(e, Checkout, order{"17", 4200})
	e.After(25*time.Hour, func() error { return h.Raise(e.Context(), "approval", "ann") })
	if got, err := h.Wait(e.Context()); got != "to the door of 17" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	if took := time.Since(began); took != 26*time.Hour {
		t.Errorf("it took %v, want 26h", took)
	}
	var at []time.Duration
	for i, c := range charges.Calls() {
		if c.In.ID != "17" || c.Attempt != i+1 || (c.Err != nil) != (i < 2) || i == 2 && c.Out.Number != "R-17" {
			t.Errorf("charge %d: %+v", i, c)
		}
		at = append(at, c.At.Sub(began))
	}
	if want := []time.Duration{0, 61 * time.Minute, 122 * time.Minute}; !slices.Equal(at, want) {
		t.Errorf("charges after %v, want %v", at, want)
	}
	if calls := letters.Calls(); len(calls) != 1 || calls[0].In != "R-17 approved by ann" {
		t.Errorf("letters %+v", calls)
	}
	if calls := deliveries.Calls(); len(calls) != 1 || calls[0].Out != "to the door of 17" || calls[0].At.Sub(began) != 25*time.Hour {
		t.Errorf("deliveries %+v", calls)
	}
	return e.History(h)
}

// Functions, methods without a receiver and children are replaced.
func TestReplace(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		if events := checkOut(t, e); len(events) < 8 || events[0].Name != "Checkout" {
			t.Errorf("%d events: %+v", len(events), events)
		}
	})
}

// The histories with the timers of production are the same.
func TestHazard143_TimersOfProduction(t *testing.T) {
	var histories [3][]client.HistoryEvent
	t.Run("kit", func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) { histories[0] = checkOut(t, e) })
	})
	t.Run("production", func(t *testing.T) {
		orchestrationtest.RunWithTimers(t, func(e *orchestrationtest.Env) { histories[1] = checkOut(t, e) })
	})
	t.Run("once", func(t *testing.T) {
		orchestrationtest.RunOnce(t, func(e *orchestrationtest.Env) { histories[2] = checkOut(t, e) })
	})
	plain := func(events []client.HistoryEvent) (kinds []string) {
		for _, e := range events {
			kinds = append(kinds, e.Time.Format(time.DateTime)+" "+e.Kind+" "+e.Name+" "+string(e.Output)+" "+e.Duration.String())
		}
		return kinds
	}
	for i := range histories {
		if got, want := plain(histories[i]), plain(histories[0]); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("history %d:\n%q\nwant\n%q", i, got, want)
		}
	}
}

// The result of Define is replaced, and what is registered on another queue under the name is left alone.
func TestReplaceDefined(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		other := activity.Define("pack", func(context.Context, string) (int, error) { return 1000, nil })
		orchestrationtest.AddActivity(e, pack)
		orchestrationtest.AddActivity(e, pack, runtime.OnQueue("gifts"))
		orchestrationtest.AddActivity(e, other, runtime.OnQueue("others"))
		packs := orchestrationtest.Replace(e, pack, func(context.Context, string) (int, error) { return 2, nil })
		h := orchestrationtest.Start(e, func3, "17")
		if got, err := h.Wait(e.Context()); got != 1004 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if n := len(packs.Calls()); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

// func3 packs on three queues.
func func3(ctx *orchestration.Context, id string) (int, error) {
	sum := 0
	for _, queue := range []string{orchestration.DefaultQueue, "gifts", "others"} {
		n, err := orchestration.CallActivity(ctx, pack, id, orchestration.WithQueue(queue))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// What is called by name is replaced by name, and by its version.
func TestReplaceNamed(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		byName := orchestration.Define("by name", func(ctx *orchestration.Context, _ int) (string, error) {
			a, err := orchestration.CallActivityNamed[string](ctx, "far", 1, orchestration.WithQueue("moon"))
			if err != nil {
				return "", err
			}
			b, err := orchestration.CallOrchestrationNamed[string](ctx, "near", 1)
			if err != nil {
				return "", err
			}
			c, err := orchestration.CallOrchestrationNamed[string](ctx, "near", 1, orchestration.Version("2"))
			return a + b + c, err
		})
		orchestrationtest.ReplaceNamed(e, "far", func(context.Context, int) (string, error) { return "a", nil }, orchestrationtest.OnQueue("moon"))
		orchestrationtest.ReplaceNamed(e, "near", func(*orchestration.Context, int) (string, error) { return "b", nil })
		orchestrationtest.ReplaceNamed(e, "near", func(*orchestration.Context, int) (string, error) { return "c", nil }, orchestrationtest.OfVersion("2"))
		if got, err := orchestrationtest.Start(e, byName, 1).Wait(e.Context()); got != "abc" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// Every version of a child is replaced, unless one is named.
func TestHazard141_EveryVersion(t *testing.T) {
	child := func(name string) func(*orchestration.Context, int) (string, error) {
		return func(*orchestration.Context, int) (string, error) { return name, nil }
	}
	plain, second := orchestration.Define("child", child("plain")), orchestration.Define("child", child("second"), orchestration.Version("2"))
	parent := orchestration.Define("parent", func(ctx *orchestration.Context, _ int) (string, error) {
		a, err := orchestration.CallOrchestration(ctx, plain, 1)
		if err != nil {
			return "", err
		}
		b, err := orchestration.CallOrchestration(ctx, second, 1)
		return a + " " + b, err
	})
	for _, c := range []struct {
		want    string
		replace func(e *orchestrationtest.Env)
	}{
		{"plain second", func(*orchestrationtest.Env) {}},
		{"fake fake", func(e *orchestrationtest.Env) { orchestrationtest.Replace(e, plain, child("fake")) }},
		{"plain fake", func(e *orchestrationtest.Env) { orchestrationtest.Replace(e, second, child("fake")) }},
		{"fake second", func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, plain, child("fake"), orchestrationtest.OfVersion(""))
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				orchestrationtest.AddOrchestration(e, plain)
				orchestrationtest.AddOrchestration(e, second)
				c.replace(e)
				if got, err := orchestrationtest.Start(e, parent, 1).Wait(e.Context()); got != c.want || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}

// A version that is neither registered nor named is replaced, too, as soon as code calls it.
func TestHazard141_CalledVersion(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		child := orchestration.Define("child", func(*orchestration.Context, int) (string, error) { return "real", nil })
		fakes := orchestrationtest.Replace(e, child, func(*orchestration.Context, int) (string, error) { return "fake", nil })
		parent := orchestration.Define("parent", func(ctx *orchestration.Context, _ int) (string, error) {
			first, err := orchestration.CallOrchestration(ctx, child, 1)
			if err != nil {
				return "", err
			}
			second, err := orchestration.CallOrchestration(ctx, child, 1, orchestration.Version("2"))
			return first + " " + second, err
		})
		if got, err := orchestrationtest.Start(e, parent, 1).Wait(e.Context()); got != "fake fake" || err != nil || time.Since(began) != 0 {
			t.Errorf("%q, %v after %v", got, err, time.Since(began))
		}
		if n := len(fakes.Calls()); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

// A function given to After runs when all else that is due at its moment has been done, and sees what activities have written. A run of the
// race detector sees no race.
func TestAfterComesLast(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		const hour, hours = time.Hour, 20
		done := 0
		for n := range hours {
			for range 2 {
				e.After(time.Duration(n+1)*hour, func() error {
					if done != n+1 {
						return fmt.Errorf("%d activities have ended after %d hours", done, n+1)
					}
					return nil
				})
			}
		}
		orchestrationtest.ReplaceNamed(e, "work", func(context.Context, int) (int, error) {
			done++
			return done, nil
		}, orchestrationtest.Delay(hour))
		code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
			for range hours - 1 {
				if _, err := orchestration.CallActivityNamed[int](ctx, "work", 1); err != nil {
					return 0, err
				}
			}
			return orchestration.CallActivityNamed[int](ctx, "work", 1)
		})
		if n, err := orchestrationtest.Start(e, code, 1).Wait(e.Context()); n != hours || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// Options of nodes hold for all of them, and a header goes from the context of a client to an activity. Calls say which instance called.
func TestWithRuntime(t *testing.T) {
	t.Parallel()
	type tenant struct{}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		calls := orchestrationtest.Replace(e, Hello, func(ctx context.Context, _ string) (string, error) {
			name, _ := ctx.Value(tenant{}).(string)
			return name + " on " + activity.GetInfo(ctx).Node, nil
		})
		orchestrationtest.AddOrchestration(e, Greet)
		h, err := client.Start(context.WithValue(e.Context(), tenant{}, "acme"), e.Client(), Greet, "Ann")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(e.Context()); !strings.HasPrefix(got, "acme on here-") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if c := calls.Calls()[0]; c.InstanceID != h.ID() {
			t.Errorf("%+v, want a call of %q", c, h.ID())
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) {
		o.Name, o.Propagators = "here", []header.Propagator{header.Value("tenant", tenant{})}
	}))
}

// A run goes on after a restart, and the activity that it has cancelled is tried again.
func TestRestart(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		slow := orchestrationtest.ReplaceNamed(e, "slow", func(context.Context, int) (int, error) { return 7, nil }, orchestrationtest.Delay(time.Hour))
		code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
			if err := ctx.Sleep(time.Hour); err != nil {
				return 0, err
			}
			return orchestration.CallActivityNamed[int](ctx, "slow", 1)
		})
		h := orchestrationtest.Start(e, code, 1)
		e.After(30*time.Minute, func() error { e.Restart(); return nil })
		e.After(90*time.Minute, func() error { e.Restart(); return nil })
		if got, err := h.Wait(e.Context()); got != 7 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if calls := slow.Calls(); len(calls) != 2 || !errors.Is(calls[0].Err, activity.ErrShutdown) {
			t.Errorf("%+v", calls)
		}
	})
}

// What is started or registered later runs, too, and what runs meanwhile goes on.
func TestRegisteredLater(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		slow := orchestrationtest.ReplaceNamed(e, "slow", func(context.Context, int) (int, error) { return 7, nil }, orchestrationtest.Delay(time.Hour))
		first := orchestration.Define("first", func(ctx *orchestration.Context, _ int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "slow", 1)
		})
		h := orchestrationtest.Start(e, first, 1)
		e.After(time.Minute, func() error {
			orchestrationtest.AddActivity(e, Hello)
			got, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
			if got != "Hello, Ann!" {
				t.Errorf("%q", got)
			}
			return err
		})
		if got, err := h.Wait(e.Context()); got != 7 || err != nil || len(slow.Calls()) != 1 {
			t.Errorf("%d, %v, %d calls", got, err, len(slow.Calls()))
		}
	})
}

// A blocked instance is allowed if the test says so.
func TestAllowBlocked(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.AllowBlocked()
		h := orchestrationtest.Start(e, orchestration.Define("panics", func(*orchestration.Context, int) (int, error) { panic("no") }), 1)
		_, err := h.Wait(e.Context())
		if blocked, ok := errors.AsType[*client.BlockedError](err); !ok || blocked.Reason != "panic" {
			t.Error(err)
		}
	})
}

// A function of the outer test that ends a test works, and an activity that runs at the end is cancelled.
func TestEnd(t *testing.T) {
	t.Parallel()
	cancelled := false
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		running := make(chan struct{})
		wait := activity.Define("wait", func(ctx context.Context, _ int) (int, error) {
			close(running)
			<-ctx.Done()
			cancelled = true
			return 0, context.Cause(ctx)
		})
		orchestrationtest.AddActivity(e, wait)
		orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
			return orchestration.CallActivity(ctx, wait, 1)
		}), 1)
		<-running
	})
	if !cancelled {
		t.Error("the activity was not cancelled")
	}
}

// A client may begin with a call that needs the level of a store whose nodes have started.
func TestClientStartsTheNode(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
			orchestration.HandleUpdate(ctx, "add", func(_ *orchestration.Context, n int) (int, error) { return n + 1, nil })
			return 0, ctx.Sleep(time.Hour)
		})
		orchestrationtest.AddOrchestration(e, code)
		_, update, err := client.StartAndUpdate[int](e.Context(), e.Client(), code, 1, "add", 6)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := update.Wait(e.Context()); got != 7 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	})
}
