package storagefaults

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/smalldisk"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// copyOf copies an open store in another process. Closing a copied descriptor in this process would drop SQLite's
// locks.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "cp", path, path+"-wal", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// The disk is full while orders are in flight. The tests of provider/sqlite simulate a full disk everywhere. Refused calls have certainly had no effect, and all orders continue when
// there is space again.
func TestFullDiskThatGetsRoomAgain(t *testing.T) {
	dir := smalldisk.Mount(t, "64m")
	e := engineOn(t, filepath.Join(dir, "store.db"))
	rt := e.Start(orders(t))
	var keys []provider.UUID
	for range 3 {
		for range 20 {
			keys = append(keys, order(e, len(keys)))
		}
		ballast := smalldisk.Fill(t, dir)
		id, refused := "", error(nil)
		e.Until("the disk to be full", func() bool { // the log may have space left
			id = enginetest.NewID().String()
			_, refused = e.Store.Create(t.Context(), provider.CreateRequest{
				ID: id, Key: enginetest.NewID(), Commit: enginetest.NewID(), Name: "nobody's",
				Message: provider.NewMessage{Payload: make([]byte, 1<<20)},
			})
			return refused != nil
		})
		failed, ok := errors.AsType[*provider.Error](refused)
		if !ok || failed.Outcome != provider.OutcomeNothing || !failed.Retryable || !strings.Contains(refused.Error(), "disk is full") {
			t.Errorf("error %v: want one that says the disk is full, nothing happened, and may be repeated", refused)
		}
		// A process that opens a copy of the files does not find it either.
		after := engineOn(t, copyOf(t, filepath.Join(dir, "store.db")))
		if _, err := after.Store.Get(t.Context(), provider.GetRequest{ID: id}); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("what was refused is stored for who comes after a crash: %v", err)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Store.Get(t.Context(), provider.GetRequest{ID: id}); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("what was refused is stored: %v", err)
		}
	}
	checkOrders(e, keys)
	if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
		t.Errorf("%+v", s)
	}
	e.Stop(rt)
}

// On a read-only disk, opening reports what is wrong, and the store can be read with ReadOnly.
func TestReadOnlyDisk(t *testing.T) {
	dir := smalldisk.Mount(t, "64m")
	path := filepath.Join(dir, "store.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	e := &enginetest.Engine{T: t, Store: provider.FullOf(store)}
	key := e.Create("one", "order", 1)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Skipf("mounting for reading: %v", err)
		}
	}
	remount(syscall.MS_RDONLY)
	defer remount(0)
	if store, err = sqlite.Open(path); err == nil {
		t.Fatal("opened", store.Close())
	}
	for _, says := range []string{path, "mounted for writing", "ReadOnly"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("error %q does not say %q", err, says)
		}
	}
	looker, err := sqlite.OpenWith(path, sqlite.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	e = enginetest.On(t, looker, runtime.Options{})
	if i := e.Get(key); i.ID != "one" || i.InboxMessages != 1 {
		t.Errorf("read %+v", i)
	}
	if err := looker.Close(); err != nil {
		t.Error(err)
	}
}
