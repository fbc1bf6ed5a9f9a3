package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// exportTo moves all instances of the fixture to another database, and back again.
func exportTo(t *testing.T, target string) {
	t.Helper()
	source, dir := fixture(t), t.TempDir()
	file, second := filepath.Join(dir, "orders.export"), filepath.Join(dir, "again.export")
	steps := []struct {
		line string
		code exitCode
		says string // on either output
	}{
		{"migrate up --db TARGET", exitOK, ""},
		{"export FILE --db SOURCE", exitConflict, "seal it"},
		{"export FILE --seal --db SOURCE", exitUsage, "add --yes"},
		{"export FILE --seal --yes --db SOURCE", exitOK, "exported"},
		{"export FILE --seal --yes --db SOURCE", exitUsage, "name a new file"},
		{"export SECOND --seal --yes --db SOURCE", exitNotFound, "an earlier export has sealed it"},
		{"export SECOND --seal --again --yes --db SOURCE", exitOK, "exported"},
		{"raise idle-1 go --db SOURCE", exitNotFound, "use the store that it moves to"},
		{"unseal --list --db SOURCE", exitOK, "closed"},
		{"import FILE --db SOURCE", exitConflict, "already exists"},
		{"import FILE --db TARGET", exitOK, "imported"},
		{"import FILE --db TARGET", exitOK, "0 now here"},
		{"doctor --db TARGET", exitOK, ""},
		{"show idle-1 --db TARGET", exitOK, "Running"},
		{"unseal --db SOURCE", exitUsage, "add --yes"},
	}
	for _, s := range steps {
		line := strings.NewReplacer("SOURCE", source, "TARGET", target, "FILE", file, "SECOND", second).Replace(s.line)
		code, stdout, stderr := perdure(t, "", strings.Fields(line)...)
		if code != s.code || !strings.Contains(stdout+stderr, s.says) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", s.line, code, s.code, s.says, stdout, stderr)
		}
	}
	if list, _ := filepath.Glob(second + "*"); len(list) != 1 {
		t.Errorf("the exports left %v", list)
	}
}

func TestCommandsMove(t *testing.T) { exportTo(t, filepath.Join(t.TempDir(), "target.db")) }

func TestCommandsMoveToServer(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	exportTo(t, url+"&schema="+postgrestest.Schema(t, url))
}

// asOf is when a listed instance was read.
var asOf = regexp.MustCompile(`"asOf": "[^"]*"`)

func TestCommandsBackup(t *testing.T) {
	source, to := fixture(t), filepath.Join(t.TempDir(), "copy.db")
	code, stdout, stderr := perdure(t, "", "backup", to, "--db", source)
	if code != exitOK || !strings.Contains(stdout, "copied") {
		t.Fatalf("backup: exit code %d: %s%s", code, stdout, stderr)
	}
	_, want, _ := perdure(t, "", "list", "-o", "json", "--db", source)
	if code, got, stderr := perdure(t, "", "list", "-o", "json", "--db", to); code != exitOK || asOf.ReplaceAllString(got, "") != asOf.ReplaceAllString(want, "") {
		t.Errorf("the copy lists another content, exit code %d: %s\n%s\nwant\n%s", code, stderr, got, want)
	}
	if code, _, stderr := perdure(t, "", "backup", to, "--db", source); code != exitUsage || !strings.Contains(stderr, "name a new file") {
		t.Errorf("a second backup: exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(to + ".part"); err == nil {
		t.Error("an unfinished file is left")
	}
}
