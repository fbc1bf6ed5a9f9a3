package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Doctor notes that a file has several names. That is no finding: snapshots by hard links are legitimate.
func TestDoctorNotesSeveralNames(t *testing.T) {
	path := fixture(t)
	for _, links := range []int{1, 2} {
		if links > 1 {
			if err := os.Link(path, filepath.Join(t.TempDir(), "snapshot.db")); err != nil {
				t.Skip(err)
			}
		}
		const note = "note: the file has 2 names (hard links): always open it by the same one"
		code, stdout, stderr := perdure(t, "", "doctor", "--db", path)
		if noted := strings.Contains(stdout, note); code != exitOK || noted != (links > 1) {
			t.Errorf("%d names: exit code %d: %s%s", links, code, stdout, stderr)
		}
	}
}

// The tables of a file without tables may be in the log beside another name of it. Then a command says so, and advises no migration,
// which would make other tables beside the stored ones.
func TestNoMigrationIsAdvisedUnderAnotherName(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, names := range []int{1, 2} {
		if names > 1 {
			if err := os.Link(first, second); err != nil {
				t.Skip(err)
			}
		}
		for _, line := range []string{"list", "doctor", "start Greet"} {
			code, _, stderr := perdure(t, "", append(strings.Fields(line), "--db", first)...)
			advised := strings.Contains(stderr, "migrate up")
			told := strings.Contains(stderr, "the file has 2 names") && strings.Contains(stderr, "find / -samefile "+first)
			if code != exitStore || advised != (names == 1) || told != (names == 2) {
				t.Errorf("%d names: %s: exit code %d: %s", names, line, code, stderr)
			}
		}
	}
}
