package compat

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider/postgres"
)

// recorded is the schema of the SQL files of testdata.
const recorded = "perdure_recorded"

// TestRecordServer records testdata/server.sql with pg_dump: the instances of core.db, in Postgres.
func TestRecordServer(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	url := postgrestest.URL(t)
	n := openOn(t, server(t, url, recorded), coreRegistry(false))
	n.populate(t)
	n.recordHistories(t, "server")
	n.close(t)
	dump(t, url, "server.sql")
}

// dump writes the recorded schema to a file in testdata and drops the schema.
func dump(t *testing.T, url, name string) {
	t.Helper()
	dump := exec.CommandContext(t.Context(), "pg_dump", "--dbname="+url, "--schema="+recorded, "--inserts", "--no-owner", "--no-privileges", "--no-comments")
	dump.Stderr = os.Stderr
	script, err := dump.Output()
	if err != nil {
		t.Fatal(err)
	}
	// These are commands of psql, versions of programs, and a setting that would affect other connections of the test.
	script = regexp.MustCompile(`(?m)^(\\.*|--.*|SELECT pg_catalog.set_config.*|SET .*|)\n`).ReplaceAll(script, nil)
	if err := os.WriteFile("testdata/"+name, script, 0o600); err != nil {
		t.Fatal(err)
	}
	postgrestest.Exec(t, url, "DROP SCHEMA "+recorded+" CASCADE")
}

func server(t *testing.T, url, schema string) *postgres.Provider {
	t.Helper()
	store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// restored loads the recorded store into a schema of its own.
func restored(t *testing.T, name string) *postgres.Provider {
	t.Helper()
	script, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	postgrestest.Exec(t, url, strings.ReplaceAll(string(script), recorded, schema))
	return server(t, url, schema)
}

func TestServerReads(t *testing.T) {
	store := restored(t, "server.sql")
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	(&node{store: store, c: clienttest.New(t, store, client.Options{})}).reads(t, "server")
}

func TestServerFinishes(t *testing.T) {
	n := openOn(t, restored(t, "server.sql"), coreRegistry(true))
	defer n.close(t)
	n.finishes(t)
}
