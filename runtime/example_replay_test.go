package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// register returns all that the program runs. Its nodes and its replay check share it.
func register() (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	return reg, errors.Join(runtime.AddOrchestration(reg, Welcome), runtime.AddActivity(reg, Greet))
}

// open opens a database for the replay check, which changes nothing.
func open(_ context.Context, db string) (provider.Provider, error) {
	return sqlite.OpenWith(db, sqlite.Options{ReadOnly: true}) //nolint:contextcheck // opening has its own timeout
}

// run is the program's function main: the first argument "replay" makes it check histories in place of serving.
func run(ctx context.Context, args []string) (exitCode int) {
	reg, err := register() //nolint:contextcheck // registration takes none
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if len(args) > 0 && args[0] == "replay" {
		return runtime.ReplayMain(ctx, reg, args[1:], runtime.ReplayOptions{Open: open})
	}
	return serve(ctx, reg)
}

// Exported histories of production replay with the code of today.
func TestHistoriesReplay(t *testing.T) {
	reg, err := register()
	if err != nil {
		t.Fatal(err)
	}
	orchestrationtest.Replay(t, os.DirFS("testdata/histories"), reg, orchestrationtest.EveryPrefix())
}

// serve would start a node.
func serve(context.Context, *runtime.Registry) (exitCode int) { return 0 }

// The command replays a file with the code of the program.
func ExampleReplayMain() {
	fmt.Println("exit code", run(context.Background(), []string{"replay", "testdata/histories/welcome-1.history"}))
	// Output:
	// 1 replay, 0 differ, 0 unreadable
	// exit code 0
}

// A test finds out what the next release does with an instance of production.
func ExampleReplay() {
	ctx := context.Background()
	f, err := os.Open("testdata/histories/welcome-1.history")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read

	reg := runtime.NewRegistry()
	_ = runtime.AddOrchestration(reg, orchestration.Define("Welcome", func(ctx *orchestration.Context, name string) (string, error) {
		return "Hello, " + name + "!", ctx.Err() // no longer calls Greet
	}))
	for h, err := range client.ReadHistories(f) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e, ok := errors.AsType[*runtime.ReplayError](runtime.Replay(ctx, reg, h)); ok {
			fmt.Printf("event %d: expected %s, got %s\n", e.EventID, e.Expected, e.Got)
		}
	}
	// Output: event 2: expected ActivityScheduled of "Greet", got ExecutionCompleted
}
