package programs

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// Programs end the same whatever handle each node and the client have: several handles of one store, as several processes have,
// with caches that differ.
func TestProgramsEndAlikeThroughHandles(t *testing.T) {
	t.Parallel()
	inRealTime(t, max(2, drawn()/100), 5, func(p Program, m mode, seed uint64, sum *tally) string {
		return throughHandles(t, p, m, seed, sum, fileOpener(t))
	})
}

// throughHandles runs a program in real time on three handles of a store.
func throughHandles(t *testing.T, p Program, m mode, seed uint64, sum *tally, open func() (provider.Provider, error)) string {
	t.Helper()
	r := &run{
		mode: m, Rand: chances(m.name, seed), sum: sum,
		moment: 4 * time.Millisecond, lease: 500 * time.Millisecond, limit: 5 * time.Minute,
	}
	for range 3 {
		handle, err := open()
		if err != nil {
			return err.Error()
		}
		r.others = append(r.others, handle)
	}
	r.store, r.others = r.others[0], r.others[1:]
	return differs(t, r, p)
}

// fileOpener returns a function that opens one more handle of a new file.
func fileOpener(t *testing.T) func() (provider.Provider, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	return func() (provider.Provider, error) {
		return sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off})
	}
}
