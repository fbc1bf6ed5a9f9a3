package runtime_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Code that may kill its process runs in a process of its own: this test's binary. These variables
// name the task and the store.
const (
	threadMode  = "PERDURE_TEST_THREAD"
	threadStore = "PERDURE_TEST_STORE"
)

// inProcess runs a mode of TestThreadProcess on the store in another process.
func inProcess(t *testing.T, mode, store string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestThreadProcess$")
	cmd.Env = append(os.Environ(), threadMode+"="+mode, threadStore+"="+store)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the process did not end: %s", out)
	}
	return string(out), err
}

func TestThreadProcess(t *testing.T) {
	store := os.Getenv(threadStore)
	switch os.Getenv(threadMode) {
	case "":
		t.Skip("is run by other tests in a process of its own")
	case "code locks":
		e := openInProcess(t, store)
		e.Start(threads(t, goruntime.LockOSThread))
		enginetest.Output[int](e, keyOf(e, "locks"))
	case "activity locks":
		activityLocks(t, store)
	case "caller is locked":
		goruntime.LockOSThread() // the main goroutine of a program with windows does so
		defer goruntime.UnlockOSThread()
		callerIsLocked(t, store)
	}
}

func openInProcess(t *testing.T, path string) *enginetest.Engine {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.On(t, store, runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}, Lease: 500 * time.Millisecond})
}

func keyOf(e *enginetest.Engine, id string) provider.UUID {
	e.T.Helper()
	res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: id})
	if err != nil {
		e.T.Fatal(err)
	}
	return res.Instance.Key
}

// threads makes a registry with code that calls lock, and an activity that keeps its thread.
func threads(t *testing.T, lock func()) *runtime.Registry {
	t.Helper()
	reg := registry(t)
	enginetest.Activity(t, reg, "keep", func(_ context.Context, n int) (int, error) {
		goruntime.LockOSThread() // and never unlocks: the thread ends with the attempt
		return n + 1, nil
	})
	enginetest.Orchestration(t, reg, "locks", func(ctx *octx, n int) (int, error) {
		lock()
		if err := ctx.Sleep(time.Millisecond); err != nil {
			return 0, err
		}
		_, err := orchestration.Events[none](ctx, "go").Receive(ctx, orchestration.Within(time.Millisecond))
		if !errors.Is(err, orchestration.ErrTimeout) {
			return 0, err
		}
		return orchestration.CallActivityNamed[int](ctx, "keep", n)
	})
	return reg
}

// callerIsLocked does from a locked goroutine all that a service may do with an engine.
func callerIsLocked(t *testing.T, path string) {
	t.Helper()
	e := openInProcess(t, path)
	for _, opts := range []runtime.Options{{}, {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		reg := threads(t, func() {})
		enginetest.Orchestration(t, reg, "waits", func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(time.Hour) })
		rt := e.StartOn(e.Store, reg, opts)
		c := clienttest.Of(t, rt, client.Options{})
		_, err := client.StartNamed[none](t.Context(), c, "waits", none{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := client.StartNamed[int](t.Context(), c, "locks", 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(t.Context()); got != 2 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if _, err := rt.Health(t.Context()); err != nil {
			t.Error(err)
		}
		e.Stop(rt) // evicts what is parked
	}
}

// The goroutine that calls the engine may be locked to its thread. Code never runs on it: not at a
// start, at a wait, or when a stopping node evicts parked code.
func TestHazard10_CallersThreadDoesNotMatter(t *testing.T) {
	t.Parallel()
	out, err := inProcess(t, "caller is locked", filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Errorf("the process ended with %v:\n%s", err, out)
	}
}

// activityLocks runs a chain of activities that keep their threads, with the execution in memory:
// each result continues at once with the turn.
func activityLocks(t *testing.T, path string) {
	t.Helper()
	e := openInProcess(t, path)
	reg := threads(t, func() {})
	enginetest.Orchestration(t, reg, "chain", func(ctx *octx, n int) (int, error) {
		for range 3 {
			var err error
			if n, err = orchestration.CallActivityNamed[int](ctx, "keep", n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	rt := e.StartOn(e.Store, reg, runtime.Options{})
	for range 20 {
		h, err := client.StartNamed[int](t.Context(), clienttest.Of(t, rt, client.Options{}), "chain", 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(t.Context()); got != 4 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	}
	if s := rt.Stats(); s.TurnsFast == 0 {
		t.Errorf("no result went on at once: %+v", s)
	}
}

// An activity may keep its thread: the goroutine that ran it makes no turns, which would kill the process.
func TestHazard10_ActivityMayKeepItsThread(t *testing.T) {
	t.Parallel()
	out, err := inProcess(t, "activity locks", filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Errorf("the process ended with %v:\n%s", err, out)
	}
}

// Code that locks its thread kills the process, which Go cannot prevent. The delivery is counted by
// then, so an instance that repeats this is set aside. It runs with mended code.
func TestHazard10_CodeThatLocksItsThreadIsCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	e := openInProcess(t, path)
	key := e.Create("locks", "locks", 1)
	for kills := int64(1); kills <= 2; kills++ {
		out, err := inProcess(t, "code locks", path)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || !strings.Contains(out, "thread locking") {
			t.Fatalf("the process ended with %v:\n%s", err, out)
		}
		if i := e.Get(key); i.Status != provider.StatusRunning || i.Deliveries != kills {
			t.Errorf("after %d kills: %v, %d deliveries", kills, i.Status, i.Deliveries)
		}
	}
	e.Start(threads(t, func() {}))
	if got := enginetest.Output[int](e, key); got != 2 {
		t.Errorf("got %d", got)
	}
}
