package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// checkResets resets and forks ended and blocked instances of a database, with all mistakes before.
func checkResets(t *testing.T, db string) {
	t.Helper()
	code, stderr := unserved(t, "reset", "greet-1", "--at", "1", "--request-id", "r-0", "--db", db)
	if code == exitOK || !strings.Contains(stderr, "no node has answered") || !strings.Contains(stderr, "--request-id r-0") {
		t.Errorf("without a node: exit code %d: %s", code, stderr)
	}
	// A repeat with --to would look in the execution that the first try may have opened, so the text names what was found.
	_, events, _ := perdure(t, "", "history", "greet-1", "--db", db, "-o", "json")
	times := regexp.MustCompile(`"time": "([^"]+)"`).FindStringSubmatch(events)
	if times == nil {
		t.Fatalf("no time in %s", events)
	}
	for _, flag := range []string{"", "--execution=1"} {
		args := []string{"reset", "greet-1", "--to", "time=" + times[1], "--request-id", "r-0", "--db", db}
		if flag != "" {
			args = append(args, flag)
		}
		code, stderr = unserved(t, args...)
		if code == exitOK || !strings.Contains(stderr, "here with --at 1 --execution 1 --request-id r-0 in place of --to") {
			t.Errorf("with --to, without a node: exit code %d: %s", code, stderr)
		}
	}
	serve(t, db)
	for _, c := range []struct {
		line string
		code exitCode
		says []string
	}{
		{"reset greet-1 --db DB", exitUsage, []string{"give one of them", "perdure history"}},
		{"reset nobody --at 1 --db DB", exitNotFound, []string{"nobody", "check the ID"}},
		{"reset greet-1 --at 0 --db DB", exitUsage, []string{"events begin with 1"}},
		{"reset greet-1 --at 2 --db DB", exitUsage, []string{"event 2 of 4 is no point", "use event 1 or 3"}},
		{"reset greet-1 --at 9 --db DB", exitUsage, []string{"event 9 of 4 is no point", "use event 3"}},
		{"reset greet-1 --at 3 --input 7 --db DB", exitUsage, []string{"another input is possible at event 1 only"}},
		{"reset greet-1 --at 1 --timeout 0s --db DB", exitUsage, []string{"--timeout is 0s"}},
		{"reset panic-1 --at 1 --db DB", exitUsage, []string{"has not begun"}},
		{"fork greet-1 --at 1 --db DB", exitUsage, []string{"--id is missing"}},
		{"fork greet-1 --at 1 --id count-1 --db DB", exitConflict, []string{"count-1", "already exists"}},
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
	for _, c := range []struct{ name, line string }{
		{"fork", "fork greet-1 --at 3 --id greet-2 --db DB"},
		{"fork-json", "fork greet-1 --at 1 --id greet-3 --input \"zoe\" --reason test --db DB -o json"},
		{"reset", "reset greet-1 --at 3 --db DB"},
		{"reset-json", "reset break-1 --at 1 --drop-later --reason again --db DB -o json"},
	} {
		t.Run(c.name, func(t *testing.T) { checkCommand(t, c.name, c.line, db) })
	}
	first := strings.Fields("fork greet-1 --at 3 --id greet-4 --request-id r-1 --db " + db)
	for n := range 2 {
		if code, stdout, stderr := perdure(t, "", first...); code != exitOK || !strings.Contains(stdout, "greet-4") {
			t.Errorf("try %d of one request: exit code %d: %s%s", n+1, code, stdout, stderr)
		}
	}
}

// Reset and fork ask a running service.
func TestCommandsReset(t *testing.T) { checkResets(t, fixture(t)) }

// They print the same on Postgres as on a file.
func TestCommandsResetOnServer(t *testing.T) {
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
	checkResets(t, name)
}
