package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that only reads changes nothing and leaves no lock files, which would belong to the user who ran it.
func TestLookLeavesNoLockFiles(t *testing.T) {
	for _, line := range []string{"list", "show greet-1", "history greet-1", "doctor", "migrate status"} {
		path := fixture(t)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := perdure(t, "", append(strings.Fields(line), "--db", path)...); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", line, code, stderr)
		}
		locks, err := filepath.Glob(path + "-[pqw]")
		if err != nil || len(locks) > 0 {
			t.Errorf("%s left %v (%v)", line, locks, err)
		}
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s changed the database (%v)", line, err)
		}
	}
}

func TestReadOnlyRefusesChanges(t *testing.T) {
	path := fixture(t)
	for _, c := range []struct {
		line string
		code exitCode
		says string
	}{
		{"list", exitOK, ""},
		{"doctor", exitOK, ""},
		{"migrate status", exitOK, ""},
		{"start Greet", exitStore, "open for reading only"},
		{"raise idle-1 word", exitStore, "open for reading only"},
		{"cancel idle-1", exitStore, "open for reading only"},
		{"terminate idle-1", exitStore, "open for reading only"},
		{"unblock panic-1", exitStore, "open for reading only"},
		{"drop-message idle-1 2", exitStore, "open for reading only"},
		{"migrate up --db " + path + ".new", exitStore, "there is no such file"},
		{"demo", exitUsage, "--read-only"},
		{"dev", exitUsage, "--read-only"},
	} {
		code, _, stderr := perdure(t, "", append([]string{"--read-only", "--db", path}, strings.Fields(c.line)...)...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, %q: want %d and %q", c.line, code, stderr, c.code, c.says)
		}
	}
	left, err := filepath.Glob(path + "*-[pqw]")
	if err != nil || len(left) > 0 {
		t.Errorf("files %v are left (%v)", left, err)
	}
}
