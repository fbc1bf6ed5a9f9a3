//go:build unix

package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// service is another user than that of the tests.
const service = 4321

// serviceStore makes a store whose directory and file belong to the service. It needs root.
func serviceStore(t *testing.T, mode os.FileMode) (path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "orders.db")
	writeFile(t, path, emptyStore(t))
	for _, name := range []string{dir, path} {
		if err := os.Chown(name, service, service); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// asService runs the test binary as the service's user. It needs /proc, because other users cannot read the binary's directory.
func asService(t *testing.T, what, path string) error {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self/exe")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+what+" "+path)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: service, Gid: service}}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s", said)
	}
	return err
}

func checkOwner(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	dir := filepath.Dir(path)
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			t.Skip("the system does not show owners")
		}
		if owner.Uid != service || owner.Gid != service || info.Mode().Perm() != mode {
			t.Errorf("%s belongs to %d:%d with mode %v: want %d:%d and %v", name, owner.Uid, owner.Gid, info.Mode(), service, service, mode)
		}
	}
}

// Files that root creates next to a database must be usable by the owner of the database.
func TestFilesBesideTheDatabaseBelongToItsOwner(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o660, 0o644} {
		path := serviceStore(t, mode)
		p := openTest(t, path, Options{})
		create(t, p, "w", "x")
		if n := len(names(t, filepath.Dir(path))); n != 6 {
			t.Errorf("%d files: want the database, its log, its index and three lock files", n)
		}
		checkOwner(t, path, mode)
		if err := asService(t, "end", path); err != nil {
			t.Error("the service beside root:", err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := asService(t, "create", path); err != nil {
			t.Error("the service after root:", err)
		}
	}
}

// Lock files of an earlier release may belong to the user that opened the file first. Opening the file as a user that may change
// them repairs that.
func TestOpeningMendsLockFilesOfAnotherUser(t *testing.T) {
	path := serviceStore(t, 0o600)
	for _, suffix := range []string{"-q", "-w", "-p"} {
		writeFile(t, path+suffix, nil)
	}
	if asService(t, "create", path) == nil {
		t.Error("the service opened lock files that it may not open")
	}
	if err := openTest(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	checkOwner(t, path, 0o600)
	if err := asService(t, "create", path); err != nil {
		t.Error("the service afterwards:", err)
	}
}

// The error of a user that is locked out names the file, and how to repair it.
func TestLockFileOfAnotherUserIsNamed(t *testing.T) {
	there := filepath.Join(t.TempDir(), "orders.db-q")
	writeFile(t, there, nil)
	for path, says := range map[string]string{there: "chown --reference", there + "x": "check the directory's owner"} {
		err := explainLocks(&os.PathError{Op: "open", Path: path, Err: syscall.EACCES})
		if !strings.Contains(err.Error(), says) {
			t.Errorf("error %q does not say %q", err, says)
		}
	}
}

func TestNewDatabaseIsClosedToOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "orders.db")
	create(t, openTest(t, path, Options{}), "one", "x")
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v: want 0600", name, info.Mode())
		}
	}
}

// A link to a missing file leads to the file that is created, and the lock files are next to that file.
func TestLockFilesLieBesideTheFileThatALinkNames(t *testing.T) {
	dir, far := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(far, "orders.db"), link); err != nil {
		t.Fatal(err)
	}
	create(t, openTest(t, link, Options{}), "one", "x")
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("files %v lie beside the link", left)
	}
}
