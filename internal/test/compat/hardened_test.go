package compat

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/hardened.db. It is frozen, because the store holds its histories.

// Once waits for an activity that must not begin twice.
func Once(ctx *orchestration.Context, n int) (int, error) {
	return orchestration.CallActivity(ctx, Later, n, orchestration.WithQueue("later"), orchestration.AtMostOnce())
}

// Mended panicked when the store was recorded. Its code has changed since.
func Mended(ctx *orchestration.Context, n int) (int, error) {
	return orchestration.Events[int](ctx, "more").Receive(ctx)
}

// broken is Mended as it was.
func broken(*orchestration.Context, int) (int, error) { panic("recorded") }

// Carries takes unread events along to its next execution.
func Carries(ctx *orchestration.Context, round int) ([]string, error) {
	if _, err := orchestration.Events[string](ctx, "go").Receive(ctx); err != nil {
		return nil, err
	}
	if round == 0 {
		return nil, orchestration.ContinueAsNew(ctx, 1)
	}
	var all []string
	for {
		kept, ok, err := orchestration.Events[string](ctx, "keep").TryReceive()
		if err != nil || !ok {
			return all, err
		}
		all = append(all, kept)
	}
}

// CleansLater was cancelled. Its cleanup waits for a worker.
func CleansLater(ctx *orchestration.Context, n int) (int, error) {
	_, err := ctx.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(year) }).Get(ctx)
	if _, cleanErr := orchestration.CallActivity(ctx.Detached(), Later, n, orchestration.WithQueue("later")); cleanErr != nil {
		return 0, cleanErr
	}
	return 0, err
}

func hardenedRegistry(finishes bool) *runtime.Registry {
	reg := runtime.NewRegistry()
	mended, queue := broken, "nobody"
	if finishes {
		mended, queue = Mended, "later"
	}
	_ = errors.Join(
		runtime.AddOrchestration(reg, Once), runtime.AddOrchestration(reg, orchestration.Define("Mended", mended)),
		runtime.AddOrchestration(reg, Carries), runtime.AddOrchestration(reg, CleansLater),
		runtime.AddActivity(reg, Later, runtime.OnQueue(queue)))
	return reg
}

// TestRecordHardened records the store. Each instance stops where its comment says.
func TestRecordHardened(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := filepath.Join(t.TempDir(), "hardened.db")
	n := open(t, path, hardenedRegistry(false))
	ctx, id := t.Context(), client.WithID
	length := func(want int64) func(client.Description) bool {
		return func(d client.Description) bool { return d.HistoryLength == want }
	}
	number := must[client.Handle[int]](t)
	number(client.Start(ctx, n.c, Once, 41, id("once"))) // its task is in a queue
	n.until(t, "once", length(2))
	blocked := number(client.StartNamed[int](ctx, n.c, "Mended", 0, id("mended"))) // Blocked, with two messages
	n.until(t, "mended", func(d client.Description) bool { return d.Blocked != nil })
	if err := blocked.Raise(ctx, "more", 7); err != nil {
		t.Fatal(err)
	}
	carries := must[client.Handle[[]string]](t)(client.Start(ctx, n.c, Carries, 0, id("carries"))) // in its second execution
	for _, e := range [][2]string{{"keep", "a"}, {"keep", "b"}, {"go", ""}} {
		if err := carries.Raise(ctx, e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, "carries", func(d client.Description) bool { return d.Execution == 2 && d.InboxMessages == 0 })
	cleans := number(client.Start(ctx, n.c, CleansLater, 1, id("cleans"))) // its cleanup is in a queue
	n.until(t, "cleans", length(2))
	if err := cleans.Cancel(ctx, "recorded"); err != nil {
		t.Fatal(err)
	}
	n.until(t, "cleans", length(5))
	n.record(t, path, "hardened")
}

func TestHardenedStoreFinishes(t *testing.T) {
	n := open(t, copied(t, "hardened.db"), hardenedRegistry(true))
	defer n.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := n.c.Unblock(ctx, "mended"); err != nil && !errors.Is(err, client.ErrEnded) { // it may have unblocked itself before
		t.Fatal(err)
	}
	if err := n.c.Raise(ctx, "carries", "go", ""); err != nil {
		t.Fatal(err)
	}
	n.ends(ctx, t, map[string]string{"once": `42`, "mended": `7`, "carries": `["a","b"]`})
	n.fails(ctx, t, map[string]error{"cleans": orchestration.ErrCancelled})
}
