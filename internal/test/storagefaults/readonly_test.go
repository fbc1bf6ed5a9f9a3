package storagefaults

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// A node on a read-only store could do nothing but log errors, so it is refused at once.
func TestRuntimeOnAReadOnlyStoreIsRefused(t *testing.T) {
	path := newFile(t)
	e := engineOn(t, path)
	key := e.Create("one", "order", 1)
	store, err := sqlite.OpenWith(path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	looker := enginetest.On(t, store, runtime.Options{})
	if i := looker.Get(key); i.Status != provider.StatusRunning {
		t.Errorf("read %+v", i)
	}
	rt, err := runtime.Start(t.Context(), store, orders(t), runtime.Options{})
	if err == nil {
		e.Stop(rt)
		t.Fatal("started")
	}
	if !errors.Is(err, sqlite.ErrReadOnly) || !strings.Contains(err.Error(), "the store takes no writes") {
		t.Errorf("error %q: want sqlite.ErrReadOnly and what it means", err)
	}
}

// Opening a missing store for reading creates nothing.
func TestReadOnlyStoreMustExist(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.OpenWith(filepath.Join(dir, "store.db"), sqlite.Options{ReadOnly: true})
	if err == nil {
		t.Fatal("opened", store.Close())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("files %v are left, %v", left, err)
	}
}
