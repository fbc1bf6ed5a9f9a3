//go:build memoryonly

package enginetest

import (
	"testing"

	"github.com/perdure/perdure/runtime"
)

// SQLite skips the test: SQLite is not built for the race detector by `make test`.
func SQLite(t testing.TB, _ runtime.Options) *Engine {
	t.Helper()
	t.Skip("built without SQLite")
	return nil
}
