package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Doctor finds instances that have lost the name of their orchestration and gives it back, whether they have run or not.
func TestDoctorRepairsNames(t *testing.T) {
	path := fixture(t)
	if code, _, stderr := perdure(t, "", "start", "Waits", "--id", "fresh", "--db", path); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	names := func() string {
		_, stdout, _ := perdure(t, "", "list", "--db", path, "-o", "json")
		return stdout
	}
	before := names()
	alter(t, path, `INSERT INTO perdure_kind (name, code_version, engine_level) VALUES ('', '', 1)`)
	alter(t, path, `UPDATE perdure_instance SET kind = (SELECT id FROM perdure_kind WHERE name = '') WHERE id IN ('fresh', 'idle-1')`)
	code, stdout, _ := perdure(t, "", "doctor", "--db", path)
	if code != exitFailure || strings.Count(stdout, string(invariant.MissingName)+"  ") != 2 {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	code, stdout, stderr := perdure(t, "", "doctor", "--repair", "--db", path, "-o", "json")
	var d diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); code != 0 || err != nil || len(d.Findings) != 0 || len(d.Repaired) != 2 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	for _, r := range d.Repaired {
		if r.Name == "" || !strings.Contains(before, `"`+r.Name+`"`) {
			t.Errorf("%s got the name %q", r.ID, r.Name)
		}
	}
	if after := names(); strings.Contains(after, `"orchestration": ""`) || strings.Contains(after, `"name": ""`) {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Instances whose names were lost end once doctor has given these back, on each kind of database.
func TestRepairedInstancesEnd(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "lost.db")
		checkRepair(t, path, func(statement string) { alter(t, path, strings.ReplaceAll(statement, "perdure.", "perdure_")) })
	})
	t.Run("server", func(t *testing.T) {
		longtest.Skip(t)
		url := postgrestest.URL(t)
		schema := postgrestest.Schema(t, url)
		checkRepair(t, url+"&schema="+schema, func(statement string) {
			postgrestest.Exec(t, url, strings.ReplaceAll(statement, "perdure.", schema+"."))
		})
	})
}

func checkRepair(t *testing.T, name string, alters func(statement string)) {
	t.Helper()
	onStore(t, name, func(store provider.Provider, c *client.Client) {
		stop := serveFixture(t, store)
		h, err := client.Start(t.Context(), c, Family, "bob", client.WithID("begun"))
		if err != nil {
			t.Fatal(err)
		}
		for d, err := range h.Watch(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if d.HistoryLength > 0 {
				break
			}
		}
		stop()
		if _, err := client.Start(t.Context(), c, Greet, "ann", client.WithID("fresh")); err != nil {
			t.Fatal(err)
		}
	})
	alters(`INSERT INTO perdure.kind (name, code_version, engine_level) VALUES ('', '', 8)`) // what the instances got until it was mended
	alters(`UPDATE perdure.instance SET kind = (SELECT id FROM perdure.kind WHERE name = '') WHERE id IN ('begun', 'fresh')`)
	code, stdout, _ := perdure(t, "", "doctor", "--db", name)
	if code != exitFailure || strings.Count(stdout, string(invariant.MissingName)+"  ") != 2 {
		t.Fatalf("exit code %d: %s", code, stdout)
	}
	code, stdout, stderr := perdure(t, "", "doctor", "--repair", "--db", name)
	for _, line := range []string{"begun is an instance of Family again\n", "fresh is an instance of Greet again\n"} {
		if code != exitOK || !strings.Contains(stdout, line) {
			t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	onStore(t, name, func(store provider.Provider, c *client.Client) {
		defer serveFixture(t, store)()
		if err := c.Raise(t.Context(), "begun", "word", "hi"); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{"begun": "hello bob, hi", "fresh": "hello ann"} {
			d, err := c.Describe(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := client.HandleOf[string](c, id, d.Key).Wait(t.Context(), client.OrBlocked()); got != want || err != nil {
				t.Errorf("%s ends with %q, %v, want %q", id, got, err, want)
			}
		}
	})
}

// onStore opens a store, and closes it again: a store that stays open would not see at once what was altered behind it.
func onStore(t *testing.T, name string, fn func(provider.Provider, *client.Client)) {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.create(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	fn(store, clienttest.New(t, store, client.Options{}))
}

// serveFixture runs a node that has the orchestrations of the fixture, until the returned function is called.
func serveFixture(t *testing.T, store provider.Provider) (stop func()) {
	t.Helper()
	reg, err := fixtureRegistry()
	if err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}
