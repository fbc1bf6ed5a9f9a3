//go:build !memoryonly

package enginetest

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// SQLite makes an engine on a new file.
func SQLite(t testing.TB, opts runtime.Options) *Engine {
	t.Helper()
	store, err := sqlite.OpenWith(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Synchronous: sqlite.Off})
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return On(t, store, opts)
}
