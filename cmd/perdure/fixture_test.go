package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func Hello(_ context.Context, name string) (string, error) { return "hello " + name, nil }

// Greet completes after an activity, and shows what it does.
func Greet(ctx *orchestration.Context, name string) (string, error) {
	ctx.SetStatus("greeting")
	orchestration.SetValue(ctx, "name", name)
	orchestration.SetAttribute(ctx, "letters", len(name))
	return orchestration.CallActivity(ctx, Hello, name)
}

// Count continues as new until n is 0.
func Count(ctx *orchestration.Context, n int) (string, error) {
	if n > 0 {
		return "", orchestration.ContinueAsNew(ctx, n-1)
	}
	return "done", nil
}

// Break fails.
func Break(*orchestration.Context, orchestration.None) (orchestration.None, error) {
	return orchestration.None{}, errors.New("broken on purpose")
}

// Panic blocks.
func Panic(*orchestration.Context, orchestration.None) (orchestration.None, error) {
	panic("on purpose")
}

// Family completes after an event, a child and a timer.
func Family(ctx *orchestration.Context, name string) (string, error) {
	word := ""
	orchestration.HandleQuery(ctx, "word", func(orchestration.None) (string, error) { return word, nil })
	orchestration.HandleQuery(ctx, "shout", func(end string) (string, error) { return word + end, nil })
	got, err := orchestration.Events[string](ctx, "word").Receive(ctx)
	if err != nil {
		return "", err
	}
	word = got
	greeting, err := orchestration.CallOrchestration(ctx, Greet, name, orchestration.WithInstanceID("family-child"))
	return greeting + ", " + word, errors.Join(err, ctx.Sleep(10*time.Millisecond))
}

// Tally adds numbers by updates until it gets the event "end".
func Tally(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	sum := 0
	orchestration.HandleUpdate(ctx, "add", func(_ *orchestration.Context, n int) (int, error) {
		sum += n
		return sum, nil
	}, orchestration.Validate(func(n int) error {
		if n < 0 {
			return errors.New("the number is negative")
		}
		return nil
	}))
	orchestration.HandleUpdate(ctx, "wait", func(ctx *orchestration.Context, _ orchestration.None) (int, error) {
		return sum, ctx.Sleep(time.Hour)
	})
	_, err := orchestration.Events[orchestration.None](ctx, "end").Receive(ctx)
	return sum, err
}

// The fixture is made once and copied for each test.
var created struct {
	once sync.Once
	data []byte
	err  error
}

// fixture returns the path of a database with an instance of each kind:
//
//	greet-1 (Completed), count-1 (Completed, execution 2), break-1 (Failed), family-1 (Completed)
//	with its child, panic-1 (Running, blocked), idle-1 (Running, never fetched)
func fixture(t *testing.T) string {
	t.Helper()
	created.once.Do(func() {
		path := filepath.Join(t.TempDir(), "made.db")
		if created.err = makeFixture(t.Context(), file(path)); created.err == nil {
			created.data, created.err = os.ReadFile(path) // closing has emptied the log next to it
		}
	})
	if created.err != nil {
		t.Fatal(created.err)
	}
	path := filepath.Join(t.TempDir(), "fixture.db")
	if err := os.WriteFile(path, created.data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func makeFixture(ctx context.Context, db database) error {
	store, err := db.create(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	c, err := client.New(store, client.Options{})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return errors.Join(runInstances(ctx, store, c), startIdle(ctx, c), store.Close())
}

func startIdle(ctx context.Context, c *client.Client) error {
	_, err := client.StartNamed[string](ctx, c, "Idle", "nobody has this", client.WithID("idle-1"))
	return err
}

// runInstances starts instances one after another, so that their order is always the same.
func runInstances(ctx context.Context, store provider.Provider, c *client.Client) error {
	reg, err := fixtureRegistry() //nolint:contextcheck // registration takes none
	if err != nil {
		return err
	}
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		return err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: quiet})
	if err != nil {
		return err
	}
	err = errors.Join(
		ran(ctx, c, Greet, "ann", "greet-1", nil),
		ran(ctx, c, Count, 1, "count-1", nil),
		ran(ctx, c, Break, orchestration.None{}, "break-1", client.ErrFailed),
		ran(ctx, c, Family, "bob", "family-1", nil),
		ran(ctx, c, Panic, orchestration.None{}, "panic-1", client.ErrBlocked))
	return errors.Join(err, rt.Shutdown(ctx), noLeases(ctx, store))
}

func fixtureRegistry() (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	return reg, errors.Join(
		runtime.AddActivity(reg, Hello), runtime.AddOrchestration(reg, Greet), runtime.AddOrchestration(reg, Count),
		runtime.AddOrchestration(reg, Break), runtime.AddOrchestration(reg, Panic), runtime.AddOrchestration(reg, Family),
		runtime.AddOrchestration(reg, Tally))
}

func noLeases(ctx context.Context, store provider.Provider) error {
	stats, err := provider.FullOf(store).Stats(ctx, provider.StatsRequest{})
	if err == nil && stats.TurnLeases+stats.TaskLeases > 0 {
		err = fmt.Errorf("after shutdown %d turns and %d tasks are still leased", stats.TurnLeases, stats.TaskLeases)
	}
	return err
}

func ran[In, Out any](
	ctx context.Context, c *client.Client, fn func(*orchestration.Context, In) (Out, error), in In, id string, want error,
) error {
	h, err := client.Start(ctx, c, fn, in, client.WithID(id))
	if err != nil {
		return err
	}
	if id == "family-1" {
		if err := h.Raise(ctx, "word", "hi"); err != nil {
			return err
		}
	}
	if _, err = h.Wait(ctx, client.OrBlocked()); errors.Is(err, want) {
		return nil
	}
	return err
}

// alter changes a database without perdure.
func alter(t *testing.T, path, statement string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
