package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// shopOrder is an order in a version. It says that it waits for its event.
func shopOrder(version string, begun chan struct{}) func(*orchestration.Context, orchestration.None) (string, error) {
	return orchestration.Define("Order", func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
		if version == "3" {
			_ = ctx.Sleep(1)
		}
		select {
		case begun <- struct{}{}:
		default:
		}
		return orchestration.Events[string](ctx, "word").Receive(ctx)
	}, orchestration.Version(version))
}

// withNode calls fn while a node with versions of an order runs.
func withNode(ctx context.Context, db database, versions []string, fn func(c *client.Client, begun chan struct{}) error) error {
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		return err
	}
	store, err := db.create(ctx, quiet)
	if err != nil {
		return err
	}
	reg, begun := runtime.NewRegistry(), make(chan struct{}, 1)
	for _, v := range versions {
		if err := runtime.AddOrchestration(reg, shopOrder(v, begun)); err != nil {
			return err
		}
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: quiet})
	if err != nil {
		return err
	}
	c, err := rt.Client(client.Options{})
	if err == nil {
		err = fn(c, begun)
	}
	return errors.Join(err, rt.Shutdown(ctx), store.Close()) // waits for turns in flight
}

// makeVersions makes two orders of version 1 and one of version 10, and lists a node that has versions 9 and 10.
func makeVersions(ctx context.Context, db database) error {
	err := withNode(ctx, db, []string{"1", "10"}, func(c *client.Client, begun chan struct{}) error {
		for _, o := range []struct{ id, version string }{{"order-1", "1"}, {"order-2", "1"}, {"order-3", "10"}} {
			_, err := client.StartNamed[string](ctx, c, "Order", orchestration.None{}, client.WithID(o.id), client.WithVersion(o.version))
			if err != nil {
				return err
			}
			<-begun
		}
		return nil
	})
	if err != nil {
		return err
	}
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		return err
	}
	store, err := db.open(ctx, quiet)
	if err != nil {
		return err
	}
	_, err = upgrade.Join(ctx, upgrade.New(provider.FullOf(store), 1), "web-1",
		[]provider.Capability{{Name: "Order", CodeVersion: "10"}, {Name: "Order", CodeVersion: "9"}, {Name: "Parcel"}}, quiet, nil)
	return errors.Join(err, store.Close())
}

func checkVersions(t *testing.T, db string) {
	t.Helper()
	checkCommand(t, "versions", "versions --db DB", db)
	checkCommand(t, "versions-json", "versions Order -o json --db DB", db)
	checkCommand(t, "versions-none", "versions Nothing --db DB", db)
	checkCommand(t, "doctor-versions", "doctor --db DB", db)
	named, err := databaseOf(db)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(want exitCode, args ...string) {
		t.Helper()
		if code, stdout, stderr := perdure(t, "", append(args, "--db", db)...); code != want || stdout != "" || stderr == "" {
			t.Errorf("%q: exit code %d, want %d: %s%s", args, code, want, stdout, stderr)
		}
	}
	err = withNode(t.Context(), named, []string{"1", "2", "3"}, func(*client.Client, chan struct{}) error {
		checkCommand(t, "move", "move order-1 --to 2 --db DB", db)
		checkCommand(t, "move-json", "move order-2 --to 2 --suspend -o json --db DB", db)
		refused(exitFailure, "move", "order-1", "--to", "3") // its code differs
		refused(exitFailure, "move", "order-1", "--to", "4") // no node has it
		refused(exitUsage, "move", "order-1")
		refused(exitUsage, "move", "--to", "2")
		refused(exitNotFound, "move", "order-9", "--to", "2")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkCommand(t, "versions-moved", "versions Order --db DB", db)
}

func TestVersions(t *testing.T) {
	path := t.TempDir() + "/versions.db"
	if err := makeVersions(t.Context(), file(path)); err != nil {
		t.Fatal(err)
	}
	checkVersions(t, path)
}

func TestVersionsOnServer(t *testing.T) {
	longtest.Skip(t)
	cluster := guardedCluster(t)
	postgrestest.Exec(t, cluster.URL(), "CREATE DATABASE versions OWNER guarded")
	db, err := databaseOf(as(cluster, "guarded", "versions"))
	if err == nil {
		err = makeVersions(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkVersions(t, as(cluster, "guarded", "versions"))
}
