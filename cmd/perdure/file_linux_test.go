package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that is mounted alone is refused by each command, with the variable that admits it, and admitted with that.
func TestMountedFileNeedsItsVariable(t *testing.T) {
	origin, alone := fixture(t), filepath.Join(t.TempDir(), "alone.db")
	if err := os.WriteFile(alone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(origin, alone, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(alone, 0); err != nil {
			t.Error(err)
		}
	})
	for _, value := range []string{"", "0", "1"} {
		t.Setenv(mountedVariable, value)
		for _, line := range []string{"list", "doctor", "raise idle-1 word", "migrate up"} {
			code, _, stderr := perdure(t, "", append(strings.Fields(line), "--db", alone)...)
			refused := code == exitStore && strings.Contains(stderr, "mount the directory") && strings.Contains(stderr, "set PERDURE_MOUNTED_FILE=1 if")
			if admitted := code == exitOK; admitted != (value == "1") || refused == admitted {
				t.Errorf("%s=%s: %s: exit code %d: %s", mountedVariable, value, line, code, stderr)
			}
		}
	}
}
