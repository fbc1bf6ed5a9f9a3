package enginetest

import (
	"hash/crc32"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/runtime"
)

// mode is a way in which a node holds executions between turns, or the fast paths that it does without.
type mode struct {
	name string
	opts runtime.Options
	off  fastpath.Set
}

// modes are those that EveryMode and EveryStore run. Code must see the same in all of them.
//
//nolint:gochecknoglobals // constant table
var modes = []mode{
	{name: "cached"},
	{name: "uncached", opts: runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}},
	{name: "evicted", opts: runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}},
	{name: "slow", off: fastpath.All &^ fastpath.Local}, // without Local histories differ
}

// EveryMode runs a test on memory with the cache on, off, and with eviction after every
// turn, and without all fast paths, in virtual time. With -short a test takes the first mode and one more, always the
// same one, and other tests take the others.
func EveryMode(t *testing.T, test func(e *Engine)) {
	t.Helper()
	for _, mode := range slices.Concat(modes[:1], quickly(t, modes[1:])) {
		t.Run("memory/"+mode.name, func(t *testing.T) {
			t.Parallel()
			mode.bubble(t, test)
		})
	}
}

// EveryStore is EveryMode, plus the same test on SQLite in real time. With -short a test takes one mode on SQLite, always the
// same one, and other tests take the others.
func EveryStore(t *testing.T, test func(e *Engine)) {
	t.Helper()
	EveryMode(t, test)
	for _, mode := range quickly(t, modes) {
		t.Run("sqlite/"+mode.name, func(t *testing.T) {
			t.Parallel()
			e := SQLite(t, mode.opts)
			e.Off = mode.off
			test(e)
		})
	}
}

// quickly returns the given modes, with -short the one that the name of the test chooses.
func quickly(t *testing.T, of []mode) []mode {
	t.Helper()
	if !testing.Short() {
		return of
	}
	one := crc32.ChecksumIEEE([]byte(t.Name())) % uint32(len(of))
	return of[one : one+1]
}

// Bubble runs a test on memory in virtual time. Nothing of it may be running at its end.
func Bubble(t *testing.T, opts runtime.Options, test func(e *Engine)) {
	t.Helper()
	mode{opts: opts}.bubble(t, test)
}

func (m mode) bubble(t *testing.T, test func(e *Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		e := Memory(t, m.opts)
		e.Virtual, e.Off = true, m.off
		test(e)
	})
}
