package orchestrationtest_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// failing is the name of the test of fails that this process runs; "": it runs the others.
var failing = os.Getenv("ORCHESTRATIONTEST_FAILS")

// wants is what the output of a test that fails has in order, and what it lacks.
type wants struct {
	test  func(t *testing.T)
	has   []string
	lacks string
	limit string // of the process; "": 60s
}

// fails are tests that fail.
var fails = map[string]wants{
	"event that never comes": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			h := orchestrationtest.Start(e, waits, 1)
			e.After(time.Hour, func() error { return h.Raise(e.Context(), "approvel", "ann") })
			_, err := h.Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{
		"Nothing can happen any more since 2000-01-01 01:00:00, 1h0m0s after the test began", `of waits, execution 1, since 2000-01-01 01:00:00`, `waits for event "approval"`,
		`unread events "approvel": 1`, "coroutine 1 waits at", "orchestrationtest_test.waits (", "fails_test.go:", "event 1: ExecutionStarted waits",
	}, "it goes on", ""},
	"method replaced without its prefix": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.AddActivities(e, &kiosk{}, runtime.Prefix("stall."), runtime.Except("Close"))
			orchestrationtest.Replace(e, (*kiosk)(nil).Sell, nil)
			_, err := orchestrationtest.Start(e, sells, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{
		`substitute of activity "kiosk.Sell"`, `the method is registered as "stall.Sell"`,
	}, "it goes on", ""},
	"activity that never ends": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.AddActivity(e, hangs)
			_, err := orchestrationtest.Start(e, callsHangs, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"Nothing can happen any more", "waits for activity hangs, attempt 1 on test", "since 2000-01-01 00:00:00"}, "it goes on", "300s"}, // its lease is renewed for 50 years, which takes a second of a quiet machine
	"many waits": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, orchestration.Define("crowd", func(ctx *orchestration.Context, _ int) (int, error) {
				for i := range 40 {
					ctx.Go(func(ctx *orchestration.Context) error {
						_, err := orchestration.Events[int](ctx, "news"+strconv.Itoa(i+100)).Receive(ctx)
						return err
					})
				}
				return orchestration.Events[int](ctx, "last").Receive(ctx)
			}), 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"Nothing can happen any more", `waits for event "last"`, "and for more", "more coroutines wait"}, `waits for event "news139"`, ""},
	"test that waits for itself": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.AddActivity(e, Hello)
			_, _ = orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
			<-make(chan int)
		})
	}, []string{"Nothing can happen any more", "All instances have ended", "code in it has not ended", "fails_test.go:"}, "panic:", ""},
	"activity that is not registered": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"An instance is blocked", `activity "Hello" is not registered`}, "it goes on", ""},
	"code that the registry refuses": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			e.Register(func(reg *runtime.Registry) error { return runtime.AddError(reg, "", errors.New("no name")) })
			t.Error("it goes on")
		})
	}, []string{"adding the code of a service: "}, "it goes on", ""},
	"Register without a function": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			e.Register(nil)
			t.Error("it goes on")
		})
	}, []string{"adding the code of a service: Register has no function: give one"}, "it goes on", ""},
	"activity that is called by name": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
				return orchestration.CallActivityNamed[int](ctx, "far", 1, orchestration.WithQueue("moon"))
			}), 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{`activity "far" of queue "moon" is neither registered nor replaced`}, "it goes on", ""},
	"child that is called by name": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
				return orchestration.CallOrchestrationNamed[int](ctx, "far", 1, orchestration.Version("3"))
			}), 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{`orchestration "far" in version "3" is neither registered nor replaced`}, "it goes on", ""},
	"panic of a child": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.AddOrchestration(e, panics)
			_, err := orchestrationtest.Start(e, callsPanics, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"An instance is blocked", "no such luck", "panics (", "fails_test.go:", "waits for child panics"}, "it goes on", ""},
	"code that differs": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			n := 0
			_, err := orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
				n++
				return 0, ctx.Sleep(time.Duration(n) * time.Hour)
			}), 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"a turn was run twice, and the second run differs", "event 2: expected", "fails_test.go:"}, "it goes on", ""},
	"mutex": {func(t *testing.T) {
		orchestrationtest.RunImpatiently(t, time.Second, func(e *orchestrationtest.Env) {
			var mu sync.Mutex
			mu.Lock()
			orchestrationtest.AddActivity(e, Hello)
			_, _ = orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
			mu.Lock()
		})
	}, []string{"The test makes no progress", "sync.Mutex.Lock", "fails_test.go:"}, "panic:", ""},
	"Fatal of the outer test": {func(t *testing.T) {
		orchestrationtest.Run(t, func(*orchestrationtest.Env) { t.Fatal("enough") })
		t.Error("it goes on")
	}, []string{"enough"}, "it goes on", ""},
	"panic of the test": {func(t *testing.T) {
		orchestrationtest.Run(t, func(*orchestrationtest.Env) { panic("enough") })
		t.Error("it goes on")
	}, []string{"panic: TestFailing: enough", "fails_test.go:"}, "it goes on", ""},
	"too few calls": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Hello, nil, orchestrationtest.Times(2))
			_, _ = orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
		})
		t.Error("it goes on")
	}, []string{`the substitute of "Hello" was called 1 times, want 2`}, "it goes on", ""},
	"activity that is retried for ever": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Hello, func(context.Context, string) (string, error) { return "", errors.New("no line") })
			_, err := orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (string, error) {
				return orchestration.CallActivity(ctx, Hello, "Ann", orchestration.WithRetry(orchestration.RetryPolicy{}))
			}), 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"An activity has failed in attempt 10000", "waits for activity Hello, attempt "}, "it goes on", "5m"},
	"turn that fails for ever": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			e.AllowBlocked()
			orchestrationtest.AddOrchestration(e, panics)
			_, err := orchestrationtest.Start(e, callsPanics, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"An instance has failed in 10000 turns", "is blocked since", "no such luck"}, "it goes on", "5m"},
	"timers without end": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, ticks, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"The time limit of the test binary is near", "of ticks, execution "}, "it goes on", "8s"},
	"function of After that waits": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			h := orchestrationtest.Start(e, waits, 1)
			begun := make(chan struct{})
			e.After(time.Hour, func() error {
				close(begun)
				_, err := h.Wait(e.Context())
				t.Errorf("it goes on: %v", err)
				return nil
			})
			<-begun
		})
	}, []string{"Nothing can happen any more", `waits for event "approval"`}, "has not ended", ""},
	"error of a function of After": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			e.After(time.Hour, func() error { return errors.New("enough") })
			e.Sleep(2 * time.Hour)
			t.Error("it goes on")
		})
	}, []string{"the function given to After for 1h0m0s has failed: enough"}, "it goes on", ""},
	"panic of a function of After": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			e.After(time.Hour, func() error { panic("enough") })
			e.Sleep(2 * time.Hour)
			t.Error("it goes on")
		})
	}, []string{"the function given to After for 1h0m0s has failed: it panicked: enough", "fails_test.go:"}, "panic:", ""},
	"option without a function": {func(t *testing.T) {
		orchestrationtest.Run(t, func(*orchestrationtest.Env) { t.Error("it goes on") }, orchestrationtest.WithRuntime(nil))
	}, []string{"running a test of orchestrations: WithRuntime has no function"}, "it goes on", ""},
	"a client option without a function": {func(t *testing.T) {
		orchestrationtest.Run(t, func(*orchestrationtest.Env) { t.Error("it goes on") }, orchestrationtest.WithClient(nil))
	}, []string{"running a test of orchestrations: WithClient has no function"}, "it goes on", ""},
	"code that goes on after its test": {func(t *testing.T) {
		blocker, ended := make(chan struct{}), make(chan struct{}) // outside of the bubble
		t.Run("inner", func(t *testing.T) {
			orchestrationtest.RunImpatiently(t, time.Second, func(e *orchestrationtest.Env) {
				context.AfterFunc(e.Context(), func() { close(ended) })
				orchestrationtest.Replace(e, Hello, func(context.Context, string) (string, error) {
					<-blocker
					return "", errors.New("no line")
				}, orchestrationtest.Times(7))
				_, _ = orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
			})
		})
		close(blocker)
		<-ended
	}, []string{"The test makes no progress", "fails_test.go:"}, "panic:", ""},
	"start of another function": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Start(e, orchestration.Define("code", waits), 1)
			orchestrationtest.Start(e, orchestration.Define("code", Greet), "Ann")
			t.Error("it goes on")
		})
	}, []string{`starting an orchestration: "code" is another function already`}, "it goes on", ""},
	"version of an activity": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Hello, nil, orchestrationtest.OfVersion("2"))
			t.Error("it goes on")
		})
	}, []string{"OfVersion is for orchestrations"}, "it goes on", ""},
	"queue of an orchestration": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Greet, nil, orchestrationtest.OnQueue("moon"))
			t.Error("it goes on")
		})
	}, []string{"OnQueue is for activities"}, "it goes on", ""},
	"negative delay": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Hello, nil, orchestrationtest.Delay(-time.Second))
			t.Error("it goes on")
		})
	}, []string{"Delay is -1s: give 0 or more"}, "it goes on", ""},
	"query that changes a variable": {func(t *testing.T) {
		orchestrationtest.Run(t, asksTwice(t))
	}, []string{"a query was answered twice, and the second answer differs", `"asked"`, "answers 2, and its history 1"}, "it goes on", ""},
	"query with a codec": {func(t *testing.T) {
		orchestrationtest.Run(t, asksTwice(t), withCodec(aes(t)))
	}, []string{"a query was answered twice, and the second answer differs", `"asked"`, "answers 2, and its history 1"}, "it goes on", ""},
	"history that differs": {func(t *testing.T) {
		orchestrationtest.Replay(t, histories(t, oldRenewal), registryOf(t, orchestration.Define("renewal", waits)))
	}, []string{"2.history: replaying instance", "event 2: expected TimerCreated"}, "", ""},
	"prefix that panics": {func(t *testing.T) {
		h := histories(t, twoSleeps(false))
		orchestrationtest.Replay(t, h, registryOf(t, twoSleeps(true)))
		if t.Failed() {
			t.Fatal("without prefixes it fails, too")
		}
		orchestrationtest.Replay(t, h, registryOf(t, twoSleeps(true)), orchestrationtest.EveryPrefix())
	}, []string{"2.history: instance ", "new code that goes on at event 3 fails", "not yet"}, "fails, too", ""},
	"no histories": {func(t *testing.T) {
		orchestrationtest.Replay(t, fstest.MapFS{}, registryOf(t, oldRenewal))
	}, []string{"replaying histories: there are none"}, "panic:", ""},
	"file that is no history": {func(t *testing.T) {
		files := fstest.MapFS{"a/b.history": {Data: []byte("{}")}}
		orchestrationtest.Replay(t, files, registryOf(t, oldRenewal))
	}, []string{"replaying histories: a/b.history: ", "not a readable history file"}, "panic:", ""},
	"files that are no histories": {func(t *testing.T) {
		files := histories(t, oldRenewal)
		files["0/0.history"], files["1/README.md"] = &fstest.MapFile{Data: []byte("{}")}, &fstest.MapFile{Data: []byte("{}")}
		orchestrationtest.Replay(t, files, registryOf(t, orchestration.Define("renewal", waits)))
	}, []string{
		"replaying histories: 0/0.history: ", "0/1.history: replaying instance", "1/2.history: replaying instance", "replaying histories: 1/README.md: ",
	}, "there are none", ""},
	"kill that never comes": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Hello, nil)
			if _, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context()); err != nil {
				t.Error("it fails")
			}
			e.Kill(orchestrationtest.AfterCommit())
		})
		t.Error("it goes on")
	}, []string{"killing a node in the middle of a commit: no turn was stored since"}, "it goes on", ""},
	"release that changes code": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			h := orchestrationtest.Start(e, oldRenewal, 1)
			e.Sleep(time.Hour)
			e.Deploy(func(reg *runtime.Registry) error {
				return runtime.AddOrchestration(reg, orchestration.Define("renewal", func(*orchestration.Context, int) (string, error) { return "", nil }))
			})
			e.Node().Stop()
			_, err := h.Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"An instance is blocked", "renewal"}, "it goes on", ""},
	"release that cannot register": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			e.Deploy(func(*runtime.Registry) error { return errors.New("enough") })
			t.Error("it goes on")
		})
	}, []string{"deploying a release: registering its code: enough"}, "it goes on", ""},
	"activity that outlives its node": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			dead := false
			orchestrationtest.Replace(e, Hello, func(context.Context, string) (string, error) {
				if !dead {
					dead = true
					e.Kill()
					<-make(chan int)
				}
				return "", nil
			})
			if _, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context()); err != nil {
				t.Error("it fails")
			}
		})
	}, []string{"code in it has not ended", "fails_test.go:"}, "it fails", ""},
	"what never comes in real time": {func(t *testing.T) {
		orchestrationtest.RunRealTime(t, memory.New(memory.Options{}), func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, waits, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"The time limit of the test binary is near", `waits for event "approval"`}, "it goes on", "4s"},
	"activity that waits in real time": {func(t *testing.T) {
		orchestrationtest.RunRealTime(t, memory.New(memory.Options{}), func(e *orchestrationtest.Env) {
			orchestrationtest.AddActivity(e, hangs)
			_, err := orchestrationtest.Start(e, callsHangs, 1).Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"The time limit of the test binary is near", "waits for activity hangs"}, "it goes on", "10s"},
	"test that waits for itself in real time": {func(t *testing.T) {
		orchestrationtest.RunRealTime(t, memory.New(memory.Options{}), func(e *orchestrationtest.Env) {
			orchestrationtest.Start(e, waits, 1)
			<-make(chan int)
		})
	}, []string{"The time limit of the test binary is near", `waits for event "approval"`}, "panic:", "10s"},
	"function of After that waits in real time": {func(t *testing.T) {
		orchestrationtest.RunRealTime(t, memory.New(memory.Options{}), func(e *orchestrationtest.Env) {
			orchestrationtest.Start(e, waits, 1)
			begun := make(chan struct{})
			e.After(0, func() error {
				close(begun)
				<-make(chan int)
				return nil
			})
			<-begun
		})
	}, []string{"The time limit of the test binary is near", `waits for event "approval"`}, "panic:", "10s"},
	"activity in real time that is not registered": {func(t *testing.T) {
		orchestrationtest.RunRealTime(t, memory.New(memory.Options{}), func(e *orchestrationtest.Env) {
			_, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context())
			t.Errorf("it goes on: %v", err)
		})
	}, []string{"An instance is blocked", `activity "Hello" is not registered`}, "it goes on", ""},
	"activity that stays": {func(t *testing.T) {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			running := make(chan struct{})
			orchestrationtest.ReplaceNamed(e, "stays", func(context.Context, int) (int, error) {
				close(running)
				<-make(chan int)
				return 0, nil
			})
			orchestrationtest.Start(e, orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int, error) {
				return orchestration.CallActivityNamed[int](ctx, "stays", 1)
			}), 1)
			<-running
		})
	}, []string{"ending the node", "stays", "code in it has not ended", "fails_test.go:"}, "panic:", ""},
}

func waits(ctx *orchestration.Context, _ int) (string, error) {
	return orchestration.Events[string](ctx, "approval").Receive(ctx)
}

var hangs = activity.Define("hangs", func(ctx context.Context, _ int) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
})

func callsHangs(ctx *orchestration.Context, _ int) (int, error) {
	return orchestration.CallActivity(ctx, hangs, 1)
}

func ticks(ctx *orchestration.Context, n int) (int, error) {
	if err := ctx.Sleep(time.Second); err != nil {
		return 0, err
	}
	return 0, orchestration.ContinueAsNew(ctx, n+1)
}

func panics(*orchestration.Context, int) (int, error) { panic("no such luck") }

func callsPanics(ctx *orchestration.Context, _ int) (int, error) {
	return orchestration.CallOrchestration(ctx, panics, 1)
}

// TestFailing is the test that the other process runs.
func TestFailing(t *testing.T) {
	if failing == "" {
		t.Skip("TestHazard142_FailsAtOnce runs it in another process")
	}
	fails[failing].test(t)
}

// A test that must fail does, and says why.
func TestHazard142_FailsAtOnce(t *testing.T) {
	t.Parallel()
	for name, want := range fails {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailing$", "-test.timeout="+cmp.Or(want.limit, "60s"))
			cmd.Env = append(os.Environ(), "ORCHESTRATIONTEST_FAILS="+name)
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err == nil || strings.Contains(text, "test timed out") {
				t.Fatalf("it passed, or took too long: %v\n%s", err, text)
			}
			left := text
			for _, part := range want.has {
				_, after, found := strings.Cut(left, part)
				if !found {
					t.Fatalf("there is no %q, or it comes too early:\n%s", part, text)
				}
				left = after
			}
			if want.lacks != "" && strings.Contains(text, want.lacks) {
				t.Errorf("it says %q:\n%s", want.lacks, text)
			}
		})
	}
}

// asksTwice asks a query whose handler changes what it answers.
func asksTwice(t *testing.T) func(e *orchestrationtest.Env) {
	t.Helper()
	return func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, orchestration.Define("counts", func(ctx *orchestration.Context, _ int) (int, error) {
			asked := 0
			orchestration.HandleQuery(ctx, "asked", func(int) (int, error) {
				asked++
				return asked, nil
			})
			return 0, ctx.Sleep(time.Hour)
		}), 1)
		for range 2 {
			e.Sleep(time.Minute)
			_, _ = client.Query[int](e.Context(), h.Handle, "asked", 1)
		}
		_, err := h.Wait(e.Context())
		t.Errorf("it goes on: %v", err)
	}
}
