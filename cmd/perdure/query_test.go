package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/runtime"
)

// queryLines are command lines that need a running node, with the names of their golden output.
var queryLines = []struct{ name, line string }{
	{"query", "query family-1 word --db DB"},
	{"query-input", "query family-1 shout --input \"!\" --db DB"},
	{"query-json", "query family-1 word --db DB -o json"},
	{"query-names", "query greet-1 queries --db DB"},
}

// serve runs a node on a database that the fixture made.
func serve(t *testing.T, name string) {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reg, err := fixtureRegistry()
	if err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// unserved runs a command that no node serves. On a busy machine a short timeout may pass before the question is asked. Then the
// command gets a longer one.
func unserved(t *testing.T, args ...string) (code exitCode, stderr string) {
	t.Helper()
	for _, timeout := range []string{"200ms", "2s", "10s"} {
		if code, _, stderr = perdure(t, "", append(args, "--timeout", timeout)...); strings.Contains(stderr, "no node has answered") {
			break
		}
	}
	return code, stderr
}

// checkQueries runs all queries and their mistakes on a database.
func checkQueries(t *testing.T, db string) {
	t.Helper()
	code, stderr := unserved(t, "query", "greet-1", "queries", "--db", db)
	if code != exitFailure || !strings.Contains(stderr, "no node has answered") {
		t.Errorf("without a node: exit code %d: %s", code, stderr)
	}
	serve(t, db)
	for _, c := range queryLines {
		t.Run(c.name, func(t *testing.T) { checkCommand(t, c.name, c.line, db) })
	}
	for _, c := range []struct {
		line string
		code exitCode
		says []string
	}{
		{"query nobody queries --db DB", exitNotFound, []string{"nobody", "check the ID"}},
		{"query family-1 frob --db DB", exitNotFound, []string{"frob", "queries, shout, stack, word"}},
		{"query family-1 shout --input 7 --db DB", exitFailure, []string{"input of query", "into Go value of type string"}},
		{"query panic-1 queries --even-blocked --db DB", exitFailure, []string{"panic-1", "blocked"}},
		{"query family-1 shout --input {oops --db DB", exitUsage, []string{"input is not valid JSON"}},
		{"query family-1 word --timeout 0s --db DB", exitUsage, []string{"--timeout is 0s"}},
		{"query panic-1 queries --db DB", exitFailure, []string{"panic-1", "blocked"}},
		{"query family-1 --db DB", exitUsage, []string{"argument NAME is missing"}},
	} {
		code, stdout, stderr := perdure(t, "", strings.Fields(strings.ReplaceAll(c.line, "DB", db))...)
		if code != c.code || stdout != "" {
			t.Errorf("%s: exit code %d, want %d: %s", c.line, code, c.code, stderr)
		}
		for _, text := range c.says {
			if !strings.Contains(stderr, text) {
				t.Errorf("%s: no %q in %s", c.line, text, stderr)
			}
		}
	}
	code, stdout, stderr := perdure(t, "", "query", "family-1", "stack", "--db", db)
	if code != exitOK || strings.TrimSpace(stdout) != `""` {
		t.Errorf("the stack of what has ended: exit code %d: %s%s", code, stdout, stderr)
	}
}

// Query asks a running service, and prints the answer.
func TestCommandsQuery(t *testing.T) { checkQueries(t, fixture(t)) }

// Query prints the same on Postgres as on a file.
func TestCommandsQueryOnServer(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	name := url + "&schema=" + postgrestest.Schema(t, url)
	db, err := databaseOf(name)
	if err == nil {
		err = makeFixture(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkQueries(t, name)
}

// The stack is printed as it is, in lines.
func TestAnswerText(t *testing.T) {
	for answer, want := range map[string]string{
		`"a\n\tb:1\nc\u0007\n"`: "a\n  b:1\nc\\a", `"one line"`: `"one line"`, `{"a":1}`: `{"a":1}`, "": "",
	} {
		if got := answerText([]byte(answer)); got != want {
			t.Errorf("%s is printed as %q, want %q", answer, got, want)
		}
	}
}
