package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// makePatched makes two instances from before a change and one from after it. All of them wait.
func makePatched(ctx context.Context, db database) error {
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		return err
	}
	store, err := db.create(ctx, quiet)
	if err != nil {
		return err
	}
	run := func(patched bool, ids ...string) error {
		begun := make(chan struct{}, len(ids))
		order := orchestration.Define("Order", func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
			if patched {
				ctx.Patched("hold-first")
			}
			begun <- struct{}{}
			return orchestration.Events[string](ctx, "word").Receive(ctx)
		})
		reg := runtime.NewRegistry()
		if err := runtime.AddOrchestration(reg, order); err != nil {
			return err
		}
		rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: quiet})
		if err != nil {
			return err
		}
		c, err := rt.Client(client.Options{})
		for _, id := range ids {
			if err == nil {
				_, err = client.Start(ctx, c, order, orchestration.None{}, client.WithID(id))
			}
			if err == nil {
				<-begun
			}
		}
		return errors.Join(err, rt.Shutdown(ctx)) // waits for turns in flight
	}
	return errors.Join(run(false, "order-1", "order-2"), run(true, "order-3"), store.Close())
}

func patchesAreShown(t *testing.T, db string) {
	t.Helper()
	checkCommand(t, "patches", "patches --name Order --db DB", db)
	checkCommand(t, "patches-json", "patches -o json --db DB", db)
	checkCommand(t, "patches-none", "patches --name Other --db DB", db)
	code, _, stderr := perdure(t, "", "patches", "--limit", "1", "--db", db)
	if code != exitOK || stderr != "the scan is cut after 1 instance: older ones may need the old code, too; raise --limit\n" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, _ = perdure(t, "", "patches", "--limit", "0", "--db", db); code != exitUsage {
		t.Errorf("a limit of 0: exit code %d", code)
	}
}

func TestPatches(t *testing.T) {
	path := t.TempDir() + "/patched.db"
	if err := makePatched(t.Context(), file(path)); err != nil {
		t.Fatal(err)
	}
	patchesAreShown(t, path)
}

func TestPatchesOnServer(t *testing.T) {
	longtest.Skip(t)
	cluster := guardedCluster(t)
	postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE patched OWNER guarded")
	db, err := databaseOf(as(cluster, "guarded", "patched"))
	if err == nil {
		err = makePatched(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	patchesAreShown(t, as(cluster, "guarded", "patched"))
}
