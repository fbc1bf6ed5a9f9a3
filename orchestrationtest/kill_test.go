package orchestrationtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// asInProduction lets leases expire after half a minute.
func asInProduction() orchestrationtest.Option {
	return orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Lease = 30 * time.Second })
}

// An activity whose node dies runs again when the lease has expired, and what the first one returns is lost.
func TestHazard144_KillLosesTheActivity(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began, dead := time.Now(), false
		calls := orchestrationtest.Replace(e, Hello, func(ctx context.Context, _ string) (string, error) {
			if !dead {
				dead = true
				e.Kill()
				<-ctx.Done()
				return "from the dead", nil
			}
			return "alive", nil
		})
		got, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
		if took := time.Since(began); got != "alive" || err != nil || took < 20*time.Second || took > time.Minute {
			t.Errorf("%q, %v after %v", got, err, took)
		}
		all := calls.Calls()
		if len(all) != 2 || !all[0].Lost || all[1].Lost || all[0].Attempt != 1 || all[1].Attempt != 1 {
			t.Errorf("%+v", all)
		}
	}, asInProduction())
}

// A turn that was not stored runs again, and one that was stored does not.
func TestHazard144_KillInTheMiddleOfACommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option orchestrationtest.KillOption
		want   int
	}{
		"before": {orchestrationtest.BeforeCommit(), 2}, "after": {orchestrationtest.AfterCommit(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				began, effects := time.Now(), 0
				code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
					n, err := orchestration.SideEffect(ctx, func() (int, error) {
						effects++
						return effects, nil
					})
					if err != nil {
						return 0, err
					}
					return n, ctx.Sleep(time.Hour)
				})
				orchestrationtest.AddOrchestration(e, code)
				e.Kill(c.option)
				n, err := orchestrationtest.Start(e, code, 1).Wait(e.Context())
				if n != c.want || effects != c.want || err != nil {
					t.Errorf("%d after %d side effects, %v, want %d", n, effects, err, c.want)
				}
				if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute {
					t.Errorf("it took %v", took)
				}
			}, asInProduction())
		})
	}
}

// Without a node nothing goes on, until a restart.
func TestKillTheOnlyNode(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, Hello, nil)
		began := time.Now()
		e.Node().Kill()
		h := orchestrationtest.Start(e, Greet, "Ann")
		e.After(time.Hour, func() error { e.Restart(); return nil })
		if _, err := h.Wait(e.Context()); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Another node goes on with what one has begun that is not replaced.
func TestKillOneOfTwo(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, Hello, nil, orchestrationtest.Delay(time.Minute))
		second := e.Deploy(nil)
		var handles []orchestrationtest.Handle[string]
		for range 20 {
			handles = append(handles, orchestrationtest.Start(e, Greet, "Ann"))
		}
		e.Sleep(30 * time.Second)
		e.Node().Kill()
		for _, h := range handles {
			if _, err := h.Wait(e.Context()); err != nil {
				t.Error(err)
			}
		}
		second.Stop()
	}, asInProduction())
}

// The node of the first release that was killed stays away until a restart, whatever is deployed or registered meanwhile.
func TestKillStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		killFirst bool
		change    func(e *orchestrationtest.Env)
	}{
		"deploy":   {true, func(*orchestrationtest.Env) {}},
		"start":    {false, func(e *orchestrationtest.Env) { orchestrationtest.Start(e, sleepsAYear, 1) }},
		"replace":  {false, func(e *orchestrationtest.Env) { orchestrationtest.Replace(e, Hello, nil) }},
		"register": {false, func(e *orchestrationtest.Env) { orchestrationtest.AddActivity(e, hangs) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				orchestrationtest.AddActivity(e, Hello)
				if c.killFirst {
					e.Node().Kill()
				}
				e.Deploy(func(reg *runtime.Registry) error { return runtime.AddOrchestration(reg, newRenewal) })
				if !c.killFirst {
					e.Node().Kill()
				}
				c.change(e)
				e.Sleep(0) // the node whose place another one has taken has ended
				if n := orchestrationtest.Running(e); n != 1 {
					t.Errorf("%d nodes run, want that of the second release", n)
				}
				e.Restart()
				if n := orchestrationtest.Running(e); n != 2 {
					t.Errorf("%d nodes run after a restart, want 2", n)
				}
			})
		})
	}
}

// A node that is to die at its next commit, and is replaced before, hands that on to the one that takes its place.
func TestKillOutlivesTheNode(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(e *orchestrationtest.Env){
		"start":   func(*orchestrationtest.Env) {}, // of a function that is not registered yet
		"restart": func(e *orchestrationtest.Env) { e.Restart() },
		"killed":  func(e *orchestrationtest.Env) { e.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				orchestrationtest.AddActivity(e, Hello)
				e.Kill(orchestrationtest.BeforeCommit())
				change(e)
				effects := 0
				code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
					return orchestration.SideEffect(ctx, func() (int, error) {
						effects++
						return effects, nil
					})
				})
				if n, err := orchestrationtest.Start(e, code, 1).Wait(e.Context()); n != 2 || err != nil {
					t.Errorf("%d side effects, %v, want those of a turn that was lost and of another", n, err)
				}
			}, asInProduction())
		})
	}
}

// Each kill in the middle of a commit lets one node die.
func TestKillTwice(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		effects := 0
		code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
			return orchestration.SideEffect(ctx, func() (int, error) {
				effects++
				return effects, nil
			})
		})
		orchestrationtest.AddOrchestration(e, code)
		e.Kill(orchestrationtest.BeforeCommit())
		e.Kill(orchestrationtest.BeforeCommit())
		if n, err := orchestrationtest.Start(e, code, 1).Wait(e.Context()); n != 3 || err != nil {
			t.Errorf("%d side effects, %v, want those of two turns that were lost and of another", n, err)
		}
	}, asInProduction())
}

// A node that dies while another one is about to take its place holds nothing up.
func TestKillWhileItIsDrained(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, sleepsAYear)
		e.Kill(orchestrationtest.BeforeCommit())
		begun, drained := make(chan struct{}), make(chan error, 1)
		go func() { drained <- orchestrationtest.DrainWhenDead(e, func() { close(begun) }) }()
		<-begun
		h := orchestrationtest.Start(e, sleepsAYear, 1)
		if _, err := h.Wait(e.Context()); err != nil {
			t.Error(err)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	}, asInProduction())
}

// A node that dies while another goroutine is about to restart it is replaced, and what it runs is lost.
func TestKillWhileItRestarts(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, Hello, nil)
		orchestrationtest.AddOrchestration(e, Greet)
		stays := orchestrationtest.ReplaceNamed(e, "stays", func(context.Context, int) (int, error) {
			<-time.After(5 * time.Minute) // whatever its context says
			return 7, nil
		})
		waits := orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "stays", 1)
		}), 1)
		e.Sleep(time.Minute)
		e.Node().Kill(orchestrationtest.BeforeCommit())
		begun, restarted := make(chan struct{}), make(chan error, 1)
		go func() {
			restarted <- orchestrationtest.RestartWhenDead(e, func() { close(begun) }, func() { e.Sleep(10 * time.Minute) })
		}()
		<-begun
		greets := orchestrationtest.Start(e, Greet, "Ann")
		if err := <-restarted; err != nil {
			t.Error(err)
		}
		if _, err := greets.Wait(e.Context()); err != nil {
			t.Error(err)
		}
		if n, err := waits.Wait(e.Context()); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		// What the dead node was about to fetch may be lost, too.
		if all := stays.Calls(); len(all) < 2 || !all[0].Lost || all[len(all)-1].Lost {
			t.Errorf("%+v", all)
		}
	}, asInProduction())
}
