package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// limited registers code for limits: "waits" ends when it is cancelled, "stays" does not, and "rounds" continues as new so many times, after
// 40 minutes each.
func limited(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(t, reg, "waits", func(ctx *orchestration.Context, _ int) (int, error) {
		return orchestration.Events[int](ctx, "go").Receive(ctx)
	})
	enginetest.Orchestration(t, reg, "stays", func(ctx *orchestration.Context, _ int) (int, error) {
		return orchestration.Events[int](ctx, "go").Receive(ctx.Detached())
	})
	enginetest.Orchestration(t, reg, "rounds", func(ctx *orchestration.Context, n int) (int, error) {
		if err := ctx.Sleep(40 * time.Minute); err != nil {
			return 0, err
		}
		if n > 0 {
			return 0, orchestration.ContinueAsNew(ctx, n-1)
		}
		return 7, nil
	})
	return reg
}

func begin(t testing.TB, c *client.Client, name string, in int, opts ...client.StartOption) client.Handle[int] {
	t.Helper()
	h, err := client.StartNamed[int](t.Context(), c, name, in, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// endsBy waits for the end and checks what the caller is told, and when the instance ended.
func endsBy(t testing.TB, h client.Handle[int], from, to time.Duration, all ...error) {
	t.Helper()
	_, err := h.Wait(t.Context())
	for _, want := range append(all, client.ErrFailed) {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	d, err := h.Describe(t.Context())
	if took := d.EndedAt.Sub(d.CreatedAt); err != nil || took < from || took > to {
		t.Errorf("ended %v after its start (%v), want %v to %v", took, err, from, to)
	}
}

// TestHazard120_NodesEnforceTimeLimits: an instance is cancelled when its limit is over and terminated a grace later, also while it is suspended
// or no node has its code. The caller is told that the limit was over. One that ends in time is left alone.
func TestHazard120_NodesEnforceTimeLimits(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		t := e.T
		e.Start(limited(t))
		c := e.Client(client.Options{})
		hour := client.WithTimeLimit(time.Hour)
		waits, stays := begin(t, c, "waits", 0, hour), begin(t, c, "stays", 0, hour, client.WithLimitGrace(10*time.Minute))
		suspended, unserved := begin(t, c, "waits", 0, hour), begin(t, c, "nobody's", 0, hour)
		inTime, atOnce := begin(t, c, "waits", 0, hour), begin(t, c, "stays", 0, hour, client.WithLimitGrace(0))
		if err := errors.Join(suspended.Suspend(t.Context(), ""), inTime.Raise(t.Context(), "go", 5)); err != nil {
			t.Fatal(err)
		}
		if got, err := inTime.Wait(t.Context()); err != nil || got != 5 {
			t.Errorf("%d, %v", got, err)
		}
		d, err := stays.Describe(t.Context())
		if l := d.Limit; err != nil || l == nil || l.Due.Sub(d.CreatedAt).Round(time.Second) != time.Hour || l.Terminate.Sub(l.Due) != 10*time.Minute ||
			l.Limit != time.Hour || l.EachExecution || len(d.Attributes) != 0 {
			t.Errorf("described as %+v with %v, %v", l, d.Attributes, err)
		}
		const late = 20 * time.Second
		endsBy(t, waits, time.Hour, time.Hour+late, orchestration.ErrTimeout, orchestration.ErrCancelled)
		endsBy(t, atOnce, time.Hour, time.Hour+late, orchestration.ErrTimeout, orchestration.ErrTerminated)
		endsBy(t, stays, 70*time.Minute, 70*time.Minute+late, orchestration.ErrTimeout, orchestration.ErrTerminated)
		for _, h := range []client.Handle[int]{suspended, unserved} {
			endsBy(t, h, 61*time.Minute, 61*time.Minute+late, orchestration.ErrTimeout, orchestration.ErrTerminated)
		}
	})
}

// TestHazard120_LimitsOfExecutions: a limit is over all executions or for each of its own.
func TestHazard120_LimitsOfExecutions(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		t := e.T
		e.Start(limited(t))
		c := e.Client(client.Options{})
		whole := begin(t, c, "rounds", 3, client.WithTimeLimit(time.Hour))
		each := begin(t, c, "rounds", 3, client.WithTimeLimit(time.Minute), client.WithExecutionTimeLimit(time.Hour))
		short := begin(t, c, "rounds", 3, client.WithExecutionTimeLimit(30*time.Minute))
		endsBy(t, whole, time.Hour, time.Hour+20*time.Second, orchestration.ErrTimeout, orchestration.ErrCancelled)
		endsBy(t, short, 30*time.Minute, 31*time.Minute, orchestration.ErrTimeout, orchestration.ErrCancelled)
		d, err := each.Describe(t.Context())
		if l := d.Limit; err != nil || d.Execution != 2 || l == nil || !l.EachExecution || l.Due.Sub(d.CreatedAt).Round(time.Minute) != 100*time.Minute {
			t.Errorf("execution %d has the limit %+v, %v", d.Execution, l, err)
		}
		if got, err := each.Wait(t.Context()); err != nil || got != 7 {
			t.Errorf("%d, %v", got, err)
		}
	})
}

// TestHazard120_WhatSetsALimitAnew: a reset, a fork and a restart have all of the limit before them.
func TestHazard120_WhatSetsALimitAnew(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		t := e.T
		e.Start(limited(t))
		c := e.Client(client.Options{})
		h := begin(t, c, "waits", 0, client.WithID("a"), client.WithTimeLimit(time.Hour))
		endsBy(t, h, time.Hour, time.Hour+20*time.Second, orchestration.ErrTimeout)
		time.Sleep(time.Hour) //nolint:forbidigo // virtual
		again, err := h.Restart(t.Context(), "", client.RestartAs("b"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Reset(t.Context(), h, 1); err != nil {
			t.Fatal(err)
		}
		fork, err := client.Fork(t.Context(), h, 1, "c")
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []client.Handle[int]{h, again, fork} {
			d, err := h.Describe(t.Context())
			if l := d.Limit; err != nil || l == nil || d.Status != client.StatusRunning || l.Due.Sub(now).Round(time.Minute) != time.Hour {
				t.Errorf("instance %s is %s with the limit %+v, %v", h.ID(), d.Status, l, err)
			}
		}
		endsBy(t, again, time.Hour, time.Hour+20*time.Second, orchestration.ErrTimeout)
		endsBy(t, fork, time.Hour, time.Hour+20*time.Second, orchestration.ErrTimeout)
		endsBy(t, h, 3*time.Hour, 3*time.Hour+20*time.Second, orchestration.ErrTimeout)
	})
}

// TestHazard120_ManyProcessesActOnce: on each store, processes that act at once and one that starts in between cancel an instance once. Import sets
// the limit anew.
func TestHazard120_ManyProcessesActOnce(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) provider.Provider{
		"memory": func(*testing.T) provider.Provider { return memory.New(memory.Options{}) },
		"sqlite": func(t *testing.T) provider.Provider {
			t.Helper()
			p, err := sqlite.Open(filepath.Join(t.TempDir(), "limits.db"))
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		"postgres": func(t *testing.T) provider.Provider {
			t.Helper()
			url := postgrestest.URL(t)
			p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := enginetest.On(t, open(t), runtime.Options{})
			c := e.Client(client.Options{})
			h := begin(t, c, "waits", 0, client.WithID("h"), client.WithTimeLimit(time.Millisecond))
			stays := begin(t, c, "stays", 0, client.WithID("s"), client.WithExecutionTimeLimit(time.Millisecond), client.WithLimitGrace(time.Microsecond))
			lingers := begin(t, c, "stays", 0, client.WithID("g"), client.WithTimeLimit(time.Millisecond), client.WithLimitGrace(time.Hour))
			later := begin(t, c, "waits", 0, client.WithID("l"), client.WithTimeLimit(time.Hour))
			e.Until("the limits are over", func() bool {
				d, err := stays.Describe(t.Context())
				return err == nil && d.AsOf.After(d.Limit.Terminate)
			})
			var all sync.WaitGroup
			sent := &sending{Full: e.Store, requests: map[provider.UUID]map[string]int{}}
			for range 4 {
				all.Go(func() { look(t, sent, true) })
			}
			all.Wait()
			look(t, sent, true)
			for _, i := range []client.Handle[int]{h, lingers} {
				if requests := sent.requests[i.Key()]; len(requests) != 1 {
					t.Errorf("%d different cancel requests were sent: %v", len(requests), requests)
				}
			}
			endsBy(t, stays, 0, time.Minute, orchestration.ErrTimeout, orchestration.ErrTerminated)
			e.Start(limited(t))
			endsBy(t, h, 0, time.Minute, orchestration.ErrTimeout, orchestration.ErrCancelled)
			if err := lingers.Raise(t.Context(), "go", 3); err != nil {
				t.Fatal(err)
			}
			if n, err := lingers.Wait(t.Context()); n != 3 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			var cancels int
			for event, err := range lingers.History(t.Context(), 1) {
				if err != nil {
					t.Fatal(err)
				}
				if event.Kind == "CancelRequested" {
					cancels++
				}
			}
			if cancels != 1 {
				t.Errorf("cancelled %d times", cancels)
			}
			if d, err := later.Describe(t.Context()); err != nil || d.Status != client.StatusRunning {
				t.Errorf("one that is not due: %v, %v", d.Status, err)
			}
		})
	}
}

// sending is a store that notes the messages that are sent, by instance.
type sending struct {
	*provider.Full

	mu       sync.Mutex
	requests map[provider.UUID]map[string]int
}

func (s *sending) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[req.Key] == nil {
		s.requests[req.Key] = map[string]int{}
	}
	s.requests[req.Key][string(req.Message.Payload)]++
	return s.Full.Send(ctx, req)
}

// look makes a keeper of its own look once.
func look(t testing.TB, store provider.Provider, first bool) {
	t.Helper()
	_, err := access.CallerOf(clienttest.New(t, store, client.Options{})).Limits().Look(t.Context(), true, func() bool { return first })
	if err != nil {
		t.Error(err)
	}
}

// TestHazard120_ImportSetsALimitAnew: the time in the file does not count.
func TestHazard120_ImportSetsALimitAnew(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		t := e.T
		c := e.Client(client.Options{})
		begin(t, c, "waits", 0, client.WithID("a"), client.WithTimeLimit(time.Hour))
		var file bytes.Buffer
		if _, err := operate.New(c).Export(t.Context(), &file, operate.ExportOptions{Seal: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
		other := enginetest.Memory(t, runtime.Options{})
		other.Virtual = true
		to := other.Client(client.Options{})
		if _, err := operate.New(to).Import(t.Context(), bytes.NewReader(file.Bytes()), operate.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		other.Start(limited(t))
		a, err := client.Lookup[int](t.Context(), to, "a")
		if err != nil {
			t.Fatal(err)
		}
		endsBy(t, a, 3*time.Hour, 3*time.Hour+20*time.Second, orchestration.ErrTimeout, orchestration.ErrCancelled)
	})
}

// A child is cancelled when its limit is over, and terminated if it does not stop. Its parent is told ErrTimeout, the same on each replay. A child that
// ends in time, or before its limit by another's hand, is told as ever.
func TestHazard120_LimitsOfChildren(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := limited(e.T)
		enginetest.Orchestration(e.T, reg, "parent", func(ctx *orchestration.Context, name string) (string, error) {
			limit := orchestration.WithTimeLimit(time.Hour)
			began := ctx.Now()
			var err error
			switch name {
			case "cancelled":
				f := orchestration.StartOrchestrationNamed[int](ctx, "waits", 0, limit, orchestration.WithInstanceID("given up"),
					orchestration.WithCancellation(orchestration.WaitForEnd))
				if err := ctx.Sleep(time.Minute); err != nil {
					return "", err
				}
				f.Cancel()
				_, err = f.Get(ctx)
			default:
				_, err = orchestration.CallOrchestrationNamed[int](ctx, name, 0, limit, orchestration.WithTimeLimit(2*time.Hour), limit)
			}
			took := ctx.Now().Sub(began).Round(time.Minute)
			return fmt.Sprint(took, errors.Is(err, orchestration.ErrTimeout), errors.Is(err, orchestration.ErrCancelled), errors.Is(err, orchestration.ErrTerminated)), nil
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		for name, want := range map[string]string{
			"waits": "1h0m0s true true false", "stays": "1h1m0s true false true", "rounds": "40m0s false false false", "cancelled": "1m0s false true false",
		} {
			h, err := client.StartNamed[string](e.T.Context(), c, "parent", name)
			if err != nil {
				e.T.Fatal(err)
			}
			if got, err := h.Wait(e.T.Context()); err != nil || got != want {
				e.T.Errorf("%s: %s, %v, want %s", name, got, err, want)
			}
			enginetest.Replays(e, h)
		}
	})
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := limited(e.T)
		enginetest.Orchestration(e.T, reg, "parent", func(ctx *orchestration.Context, d time.Duration) (int, error) {
			return orchestration.CallOrchestrationNamed[int](ctx, "waits", 0, orchestration.WithTimeLimit(d))
		})
		e.Start(reg)
		for _, d := range []time.Duration{0, -1, 101 * 365 * 24 * time.Hour} {
			if _, err := enginetest.Result[int](e, e.Create(d.String(), "parent", d), nil); !errors.Is(err, orchestration.ErrInvalid) {
				e.T.Errorf("a limit of %v: %v", d, err)
			}
		}
	})
}
