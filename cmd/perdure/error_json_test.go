package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// With -o json an error is one JSON value on standard error, with a code for programs, and nothing goes to standard output.
func TestErrorsAsJSON(t *testing.T) {
	db := fixture(t)
	for _, c := range []struct {
		line, code string
		exit       exitCode
	}{
		{"show nobody --db DB -o json", "not-found", exitNotFound},
		{"show nobody --db DB -o jsonl", "not-found", exitNotFound},
		{"result break-1 --db DB -o json", "failed", exitFailure},
		{"result idle-1 --db DB -o json", "not-ended", exitConflict},
		{"start Greet --id greet-1 --db DB -o json", "exists", exitConflict},
		{"start Greet --id= --db DB -o json", "invalid", exitUsage},
		{"raise greet-1 word --db DB -o json", "ended", exitConflict},
		{"list --db DB --limit 0 -o json", "usage", exitUsage},
		{"unblock idle-1 --db DB -o json", "failure", exitConflict},
		{"list --db DB-missing -o json", "store", exitStore},
		{"list -o json --nothing", "usage", exitUsage},
		{"list --nothing -o json", "usage", exitUsage},
		{"list --nothing -ojson", "usage", exitUsage},
		{"list --nothing --output=jsonl", "usage", exitUsage},
		{"lst -o json", "usage", exitUsage},
		{"lst --output json", "usage", exitUsage},
	} {
		t.Run(c.line, func(t *testing.T) {
			code, stdout, stderr := perdure(t, "", strings.Fields(strings.ReplaceAll(c.line, "DB", db))...)
			var e failed
			if err := json.Unmarshal([]byte(stderr), &e); err != nil || strings.Count(stderr, "\n") != 1 || stdout != "" {
				t.Fatalf("%v: stdout %q, stderr %q", err, stdout, stderr)
			}
			if code != c.exit || e.ExitCode != c.exit || e.Code != c.code || e.Error == "" {
				t.Errorf("exit code %d and %+v, want %d and the code %q", code, e, c.exit, c.code)
			}
		})
	}
}
