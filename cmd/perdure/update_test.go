package main

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// updateLines are command lines that need a running node, with the names of their golden output.
var updateLines = []struct{ name, line string }{
	{"update", "update tally-1 add --input 7 --db DB"},
	{"update-json", "update tally-1 add --input 3 --id u-1 --db DB -o json"},
	{"update-json", "update tally-1 add --input 3 --id u-1 --db DB -o json"}, // a repeat
	{"update-accepted", "update tally-1 wait --id u-2 --until-accepted --db DB"},
	{"show-updates", "show tally-1 --db DB"},
}

// checkUpdates runs updates and their mistakes on a database.
func checkUpdates(t *testing.T, db string) {
	t.Helper()
	serve(t, db)
	if code, _, stderr := perdure(t, "", "start", "Tally", "--id", "tally-1", "--db", db); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, c := range updateLines {
		checkCommand(t, c.name, c.line, db)
	}
	for _, c := range []struct {
		line string
		code exitCode
		says []string
	}{
		{"update nobody add --db DB", exitNotFound, []string{"nobody", "check the ID"}},
		{"update tally-1 sub --db DB", exitNotFound, []string{"sub", "add, wait"}},
		{"update tally-1 add --input -1 --db DB", exitFailure, []string{"rejected", "negative"}},
		{"update tally-1 add --input \"x\" --db DB", exitFailure, []string{"rejected", "input of update"}},
		{"update tally-1 add --input 4 --id u-1 --db DB", exitConflict, []string{"u-1", "another update has this ID"}},
		{"update tally-1 wait --timeout 3s --db DB", exitStore, []string{"goes on", "--id"}},
		{"update greet-1 add --db DB", exitConflict, []string{"greet-1", "ended"}},
		{"update tally-1 add --input {oops --db DB", exitUsage, []string{"input is not valid JSON"}},
		{"update tally-1 add --timeout 0s --db DB", exitUsage, []string{"--timeout is 0s"}},
		{"update tally-1 --db DB", exitUsage, []string{"argument NAME is missing"}},
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
}

// Update calls a running service, and prints the output.
func TestCommandsUpdate(t *testing.T) { checkUpdates(t, fixture(t)) }

// Update prints the same on Postgres as on a file.
func TestCommandsUpdateOnServer(t *testing.T) {
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
	checkUpdates(t, name)
}
