package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

func TestExport(t *testing.T) { checkExport(t, fixture(t)) }

// checkExport exports histories of a copy of the fixture and reads them again.
func checkExport(t *testing.T, db string) {
	t.Helper()
	dir := t.TempDir()
	words := func(line string) []string {
		return strings.Fields(strings.NewReplacer("DB", db, "DIR", dir).Replace(line))
	}
	for name, line := range map[string]string{
		"history-export":       "history greet-1 --export DIR/greet-1 --db DB",
		"history-export-json":  "history count-1 --execution 1 --export DIR/count-1 -o json --db DB",
		"history-export-empty": "history idle-1 --export DIR/idle-1 --db DB",
	} {
		code, stdout, stderr := perdure(t, "", words(line)...)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		checkGolden(t, name, strings.ReplaceAll(stdout, dir, "DIR"))
	}
	text := ""
	for _, name := range []string{"greet-1", "count-1", "idle-1"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	var got []string
	for f, err := range client.ReadHistories(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		kinds := make([]string, 0, len(f.Events))
		for e, err := range f.Readable() {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, e.Kind)
		}
		got = append(got, f.InstanceID+": "+strings.Join(kinds, " "))
	}
	want := "greet-1: ExecutionStarted ActivityScheduled ActivityCompleted ExecutionCompleted\n" +
		"count-1: ExecutionStarted ContinuedAsNew\nidle-1: "
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	for line, want := range map[string]exitCode{
		"history greet-1 --export= --db DB":                       exitUsage,
		"history greet-1 --export DIR/no/such/folder --db DB":     exitFailure,
		"history nobody --export DIR/nobody --db DB":              exitNotFound,
		"history greet-1 --execution 9 --export DIR/late --db DB": exitNotFound,
	} {
		code, stdout, stderr := perdure(t, "", words(line)...)
		if code != want || stdout != "" || stderr == "" {
			t.Errorf("%s: exit code %d, want %d: %s%s", line, code, want, stdout, stderr)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

// history --sample exports different instances, and --redact replaces what they hold.
func TestExportSample(t *testing.T) {
	db, dir := fixture(t), t.TempDir()
	file := filepath.Join(dir, "all.history")
	run := func(want exitCode, args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := perdure(t, "", append([]string{"history", "--db", db}, args...)...)
		if code != want {
			t.Fatalf("history %v: exit code %d, want %d: %s%s", args, code, want, stdout, stderr)
		}
		return stdout, stderr
	}
	stdout, _ := run(exitOK, "--sample", "4", "--export", file, "--redact", `sed 's/.*/"secret"/'`)
	if !strings.HasPrefix(stdout, "4 histories with ") {
		t.Errorf("printed %q", stdout)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds, values := make(map[string]bool), 0
	for f, err := range client.ReadHistories(strings.NewReader(string(text))) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[f.Orchestration+" "+string(f.Status)] = true
		if _, err := f.Redact(func(v client.HistoryValue) (json.RawMessage, error) {
			if values++; string(v.Value) != `"secret"` {
				t.Errorf("%s has %s", f.InstanceID, v.Value)
			}
			return v.Value, nil
		}); err != nil {
			t.Error(err)
		}
	}
	if len(kinds) != 4 || values == 0 {
		t.Errorf("%d values of %v", values, kinds)
	}
	for command, want := range map[string]string{"exit 3": "exit status 3", "head -1 | sed 's/.*/7/'": "printed 1 of", "cat; echo 7": "printed more than"} {
		if _, stderr := run(exitFailure, "greet-1", "--export", file, "--redact", command); !strings.Contains(stderr, want) {
			t.Errorf("%s: %s", command, stderr)
		}
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(text) {
		t.Errorf("the file is another one: %v", err)
	}
	for _, args := range []string{
		"", "--sample 3", "--sample 0 --export x", "--sample 3 --export x greet-1", "greet-1 --redact cat", "greet-1 --orchestration greet", "--sample 3 --export x --key",
	} {
		run(exitUsage, strings.Fields(args)...)
	}
	run(exitNotFound, "--sample", "3", "--export", filepath.Join(dir, "none"), "--orchestration", "nobody")
}
