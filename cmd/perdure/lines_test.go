package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// As jsonl a command prints what it prints as json: the items of its list, or else one object.
func TestJSONLines(t *testing.T) {
	path := fixture(t)
	for _, c := range []struct{ line, list string }{
		{"list --limit 3", "instances"},
		{"list --name Nothing", "instances"},
		{"show greet-1", ""},
		{"history greet-1", "events"},
		{"dead-letters list", "deadLetters"},
		{"doctor --quiet", "findings"},
		{"patches", "patches"},
		{"migrate status", "migrations"},
		{"migrate print", "migrations"},
		{"upgrade status", ""},
		{"exit-codes", "exitCodes"},
		{"raise idle-1 word", ""},
	} {
		whole := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(printed(t, path, c.line, outputJSON)), &whole); err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		want := []json.RawMessage{nil}
		if c.list != "" {
			if err := json.Unmarshal(whole[c.list], &want); err != nil {
				t.Fatalf("%s: %v", c.line, err)
			}
		}
		text := printed(t, path, c.line, outputJSONL)
		if got := strings.Count(text, "\n"); got != len(want) {
			t.Errorf("%s: %d lines, must be %d:\n%s", c.line, got, len(want), text)
		}
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if text == "" {
				break
			}
			line = steady(line)
			if compact(t, line) != line {
				t.Errorf("%s: line %d is no compact JSON: %s", c.line, i, line)
			}
			if want[i] != nil && compact(t, string(want[i])) != line {
				t.Errorf("%s: line %d is %s, must be %s", c.line, i, line, want[i])
			}
		}
	}
}

func printed(t *testing.T, db, line, format string) string {
	t.Helper()
	code, stdout, stderr := perdure(t, "", append(strings.Fields(line), "-o", format, "--db", db)...)
	if code != exitOK {
		t.Fatalf("%s: exit code %d: %s", line, code, stderr)
	}
	return stdout
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Errorf("%q is no JSON: %v", text, err)
	}
	return steady(out.String())
}

// A list that the limit cuts says so on standard error where its output has no field for it.
func TestCutListIsReported(t *testing.T) {
	path := fixture(t)
	for format, says := range map[string]bool{outputTable: true, outputJSON: false, outputJSONL: true} {
		code, _, stderr := perdure(t, "", "list", "--limit", "1", "-o", format, "--db", path)
		if code != exitOK || strings.Contains(stderr, "cut after 1") != says {
			t.Errorf("%s: exit code %d, %q", format, code, stderr)
		}
	}
}

func TestLinesAreSafeForTerminals(t *testing.T) {
	var out bytes.Buffer
	if err := writeLine(&out, map[string]string{"a": "x\ny\x1b[31m<b>"}); err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":\"x\\ny\\u001b[31m<b>\"}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
