//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The service links a lock file of its database to a file of root. A command that root runs must not give that file away.
func TestLinkedLockFilesAreRefused(t *testing.T) {
	for _, suffix := range []string{"-q", "-w", "-p"} {
		t.Run(suffix, func(t *testing.T) {
			path := serviceStore(t, 0o600)
			secret := filepath.Join(t.TempDir(), "shadow") // root's own
			if err := os.WriteFile(secret, []byte("root:secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.Symlink(secret, path+suffix); err != nil {
				t.Fatal(err)
			}
			if p, err := OpenWith(path, Options{}); err == nil {
				t.Errorf("opened by a link: %v", p.Close())
			}
			info, err := os.Stat(secret)
			if err != nil {
				t.Fatal(err)
			}
			if owner := info.Sys().(*syscall.Stat_t); int(owner.Uid) != os.Geteuid() || info.Mode().Perm() != 0o600 {
				t.Errorf("root's file belongs to user %d with mode %v now", owner.Uid, info.Mode())
			}
		})
	}
}
