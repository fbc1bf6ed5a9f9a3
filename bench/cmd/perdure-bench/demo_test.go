package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/settings"
)

// perdureBinary builds the command line of operators.
func perdureBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdure")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "./cmd/perdure")
	build.Dir = settings.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

const refusedOrder = `{"id":"o 1","customer":"Bob","decline":true,"items":[{"sku":"tv","quantity":1,"unit_cents":59900}]}`

// The demo of the real program loses nothing and does nothing twice, on each kind of database. Nothing is left behind but the database that the
// flag names.
func TestDemoIsProved(t *testing.T) {
	longtest.Skip(t)
	perdure := perdureBinary(t)
	kept := filepath.Join(t.TempDir(), "kept.db")
	for _, c := range []struct {
		name string
		args []string
		says []string
		not  string
	}{
		{"temporary", nil, []string{"The lease is 2s", "The order was shipped"}, "The database is kept"},
		{"kept", []string{"--db", kept, "--lease", "500ms", "--order", refusedOrder}, []string{
			"The order was refused", "undone: unpack, then release stock", "perdure list --db " + kept,
		}, "nothing"},
		{"again", []string{"--db", kept, "--lease", "500ms", "--order", refusedOrder}, []string{"The order was refused"}, "nothing"},
		{"server", []string{"--db", postgrestest.URL(t) + "&schema=demo_is_proved", "--lease", "500ms"}, []string{"The order was shipped"}, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			code, out, errs := ran(t, append([]string{"demo", "--perdure", perdure}, c.args...)...)
			if code != exitOK {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			for _, text := range append(c.says, "killed with SIGKILL", "Pack resumes after step", "EFFECTS APPLIED", "Packing resumed after step",
				"Restart to the first resumed turn", "Every outcome was observed once") {
				if !strings.Contains(out, text) {
					t.Errorf("%q is not in\n%s", text, out)
				}
			}
			if strings.Contains(out, "\n\n\n") {
				t.Errorf("empty lines follow each other in\n%s", out)
			}
			if strings.Contains(out, c.not) {
				t.Errorf("%q is in\n%s", c.not, out)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
	code, out, errs := ran(t, "demo", "--perdure", perdure, "--order", "{}")
	if code != exitUsage || !strings.Contains(errs, "flag --order") {
		t.Errorf("a demo that refuses: exit code %d, %s%s", code, out, errs)
	}
}

func TestDemoUsage(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"demo -o json", "prints text only"},
		{"demo w1", "unexpected argument \"w1\""},
		{"demo --perdure ./no-such-program", "name the program with --perdure"},
		{"demo --db http://host", "not a database name"},
	} {
		code, stdout, stderr := ran(t, strings.Fields(c.line)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, %q, %s; want %q", c.line, code, stdout, stderr, c.says)
		}
	}
}
