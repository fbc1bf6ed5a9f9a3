//go:build unix

package durability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// dying is the environment variable that makes a process run a node until it is killed. Its value holds the address and the
// schema of the store.
const dying = "PERDURE_TEST_DYING_NODE"

// hang is the main function of that process. Its activity prints what it was given, and hangs.
func hang(where string) int {
	address, schema, _ := strings.Cut(where, "|")
	store, err := storeOf(context.Background(), address, schema)
	if err == nil {
		err = runSteps(store, func(ctx context.Context, name string) (string, error) {
			fmt.Println(name, activity.IdempotencyKey(ctx)) //nolint:forbidigo // to the test that started the process
			select {}
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	time.Sleep(time.Minute) //nolint:forbidigo // it is killed long before; it ends by itself should the test be
	return 0
}

func storeOf(ctx context.Context, address, schema string) (provider.Provider, error) {
	quiet := slog.New(slog.DiscardHandler)
	if schema != "" {
		return postgres.OpenWith(ctx, address, postgres.Options{Schema: schema, Logger: quiet})
	}
	return sqlite.OpenWith(address, sqlite.Options{Logger: quiet}) //nolint:contextcheck // opening takes none
}

// runSteps starts a node that lives as long as its process.
func runSteps(store provider.Provider, step func(context.Context, string) (string, error)) error {
	reg, err := steps(step)
	if err == nil {
		_, err = runtime.Start(context.Background(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	return err
}

// steps registers an orchestration for each way in which a process may be killed in the middle of it.
func steps(step func(context.Context, string) (string, error)) (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	call := func(opts ...orchestration.ActivityOption) func(*orchestration.Context, string) (string, error) {
		return func(ctx *orchestration.Context, name string) (string, error) {
			out, err := orchestration.CallActivityNamed[string](ctx, "step", name, opts...)
			if errors.Is(err, orchestration.ErrWorkerLost) {
				return "lost", nil
			}
			return out, err
		}
	}
	local := func(ctx *orchestration.Context, name string) (string, error) {
		return orchestration.CallLocalNamed[string](ctx, "step", name)
	}
	parent := func(ctx *orchestration.Context, name string) (string, error) {
		return orchestration.CallOrchestrationNamed[string](ctx, "activity", name)
	}
	timer := func(ctx *orchestration.Context, name string) (string, error) {
		due := ctx.Now().Add(2 * time.Second)
		if err := ctx.Sleep(2 * time.Second); err != nil {
			return "", err
		}
		if ctx.Now().Before(due) {
			return "early", nil
		}
		return orchestration.CallActivityNamed[string](ctx, "step", name)
	}
	return reg, errors.Join(
		runtime.AddActivity(reg, activity.Define("step", step)),
		runtime.AddOrchestration(reg, orchestration.Define("activity", call())),
		runtime.AddOrchestration(reg, orchestration.Define("at most once", call(orchestration.AtMostOnce()))),
		runtime.AddOrchestration(reg, orchestration.Define("local activity", local)),
		runtime.AddOrchestration(reg, orchestration.Define("child", parent)),
		runtime.AddOrchestration(reg, orchestration.Define("timer", timer)),
	)
}

// A node is killed while activities of each kind run in it and while a timer waits. The next node has each outcome once: an
// activity runs again under the same idempotency key, one that runs at most once does not, the child is not started again, and the timer
// fires once, not early.
func TestKilledNodeKeepsWhatIsPromised(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killNode(t, filepath.Join(t.TempDir(), "store.db"), "", 15*time.Second)
	})
	t.Run("postgres", func(t *testing.T) {
		longtest.Skip(t)
		t.Parallel()
		url := postgrestest.URL(t)
		killNode(t, url, postgrestest.Schema(t, url), 25*time.Second)
	})
}

// killNode kills a node. Its work must go on elsewhere within the limit, which is shorter than a lease.
func killNode(t *testing.T, address, schema string, limit time.Duration) {
	t.Helper()
	store, err := storeOf(t.Context(), address, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // nothing depends on its end
	c, err := client.New(store, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"activity", "at most once", "local activity", "child", "timer"}
	handles := map[string]client.Handle[string]{}
	for _, name := range names {
		if handles[name], err = client.StartNamed[string](t.Context(), c, name, name, client.WithID(name)); err != nil {
			t.Fatal(err)
		}
	}
	first := dyingNode(t, c, address+"|"+schema, names)
	killed := time.Now()
	again := make(chan [2]string, 100)
	reg, err := steps(func(ctx context.Context, name string) (string, error) {
		again <- [2]string{name, activity.IdempotencyKey(ctx)}
		return "done", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	node, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		want := "done"
		if name == "at most once" {
			want = "lost"
		}
		if got, err := handles[name].Wait(t.Context(), client.OrBlocked()); err != nil || got != want {
			t.Errorf("%s returned %q, %v: want %q", name, got, err, want)
		}
	}
	if took := time.Since(killed); took > limit {
		t.Errorf("the work went on after %v, as if the leases had not ended", took)
	}
	if err := shut(t.Context(), node); err != nil {
		t.Error(err)
	}
	close(again)
	second := map[string][]string{}
	for run := range again {
		second[run[0]] = append(second[run[0]], run[1])
	}
	for name, key := range first {
		want := []string{key}
		if name == "at most once" {
			want = nil
		}
		if !slices.Equal(second[name], want) {
			t.Errorf("%s ran again with the keys %q, want %q", name, second[name], want)
		}
	}
	if len(second["timer"]) != 1 {
		t.Errorf("after the timer the activity ran %d times", len(second["timer"]))
	}
	checkOnce(t, c, len(names)+1) // and the child
	sound(t, store, invariant.Options{Idle: true})
}

// dyingNode runs a node in a process of its own until all activities hang and the timer is stored. It kills the process, and
// returns the idempotency key of each activity.
func dyingNode(t *testing.T, c *client.Client, where string, names []string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dying+"="+where)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for lines := bufio.NewScanner(out); len(keys) < len(names)-1 && lines.Scan(); {
		at := strings.LastIndexByte(lines.Text(), ' ')
		keys[lines.Text()[:at]] = lines.Text()[at+1:]
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := c.Describe(t.Context(), "timer")
		if err != nil {
			t.Fatal(err)
		}
		if d.HistoryLength == 2 {
			break
		}
		<-tick.C
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() || len(keys) != len(names)-1 {
		t.Fatalf("it was not killed: %v; it ran %v", err, keys)
	}
	return keys
}

// checkOnce fails the test unless there are so many instances, and each event that may come once came at most once.
func checkOnce(t *testing.T, c *client.Client, instances int) {
	t.Helper()
	n := eachInstance(t, c, func(id string, events map[string]int) {
		for _, kind := range []history.Kind{
			history.KindExecutionStarted, history.KindActivityScheduled, history.KindActivityCompleted, history.KindActivityFailed,
			history.KindTimerFired, history.KindChildStarted, history.KindChildCompleted, history.KindExecutionCompleted,
		} {
			if events[kind.String()] > 1 {
				t.Errorf("%s has %d events %v", id, events[kind.String()], kind)
			}
		}
	})
	if n != instances {
		t.Errorf("%d instances, must be %d", n, instances)
	}
}

// eachInstance tells look how many events of each kind the history of each instance has. It returns the number of instances.
func eachInstance(t *testing.T, c *client.Client, look func(id string, events map[string]int)) (instances int) {
	t.Helper()
	for d, err := range c.All(t.Context(), client.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		instances++
		events := map[string]int{}
		for e, err := range client.HandleOf[string](c, d.ID, d.Key).History(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			events[e.Kind]++
		}
		look(d.ID, events)
	}
	return instances
}
