package enginetest

import (
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/runtime"
)

// modes are the ways to hold an execution between turns. Code must see the same in all of
// them.
//
//nolint:gochecknoglobals // constant table
var modes = []struct {
	name string
	opts runtime.Options
}{
	{"cached", runtime.Options{}},
	{"uncached", runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}},
	{"evicted", runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}},
}

// EveryMode runs a test on memory with the cache on, off, and with eviction after every
// turn, in virtual time.
func EveryMode(t *testing.T, test func(e *Engine)) {
	t.Helper()
	for _, mode := range modes {
		t.Run("memory/"+mode.name, func(t *testing.T) {
			t.Parallel()
			Bubble(t, mode.opts, test)
		})
	}
}

// EveryStore is EveryMode, plus the same test on SQLite in real time.
func EveryStore(t *testing.T, test func(e *Engine)) {
	t.Helper()
	EveryMode(t, test)
	for _, mode := range modes {
		t.Run("sqlite/"+mode.name, func(t *testing.T) {
			t.Parallel()
			test(SQLite(t, mode.opts))
		})
	}
}

// Bubble runs a test on memory in virtual time. Nothing of it may be running at its end.
func Bubble(t *testing.T, opts runtime.Options, test func(e *Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		e := Memory(t, opts)
		e.Virtual = true
		test(e)
	})
}
