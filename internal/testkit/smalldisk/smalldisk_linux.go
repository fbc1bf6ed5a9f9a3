package smalldisk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Mount mounts a disk with room for so many bytes, such as "64m", and unmounts it when the test ends. Every user may enter it, also that
// of a server. Without the right to mount it skips the test.
func Mount(t testing.TB, size string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "perdure-disk-") //nolint:usetesting // a server's user could not enter a folder of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as the comment says
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// Fill leaves no space on the disk of a folder. There is space again once the file that it returns is removed.
func Fill(t testing.TB, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	return ballast
}
