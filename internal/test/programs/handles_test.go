package programs

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

// Programs end the same whatever handle each node and the client have: several handles of one store, as several processes have,
// with caches that differ.
func TestProgramsEndAlikeThroughHandles(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) func() (provider.Provider, error){
		"sqlite":   fileOpener,
		"postgres": schemaOpener,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "postgres" {
				longtest.Skip(t) // work waits seconds for a handle without notices
			}
			inRealTime(t, max(2, drawn()/100), 5, func(p Program, m mode, seed uint64, sum *tally) string {
				return throughHandles(t, p, m, seed, &run{sum: sum, leavesAsks: name == "postgres"}, open(t))
			})
		})
	}
}

// throughHandles runs a program in real time on three handles of a store.
func throughHandles(t *testing.T, p Program, m mode, seed uint64, r *run, open func() (provider.Provider, error)) string {
	t.Helper()
	r.mode, r.Rand = m, chances(m.name, seed)
	r.moment, r.lease, r.limit = 4*time.Millisecond, 500*time.Millisecond, 5*time.Minute
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

// schemaOpener returns a function that opens one more handle of a new schema. The third gets no notices.
func schemaOpener(t *testing.T) func() (provider.Provider, error) {
	t.Helper()
	url := postgrestest.URL(t)
	o := postgres.Options{Schema: postgrestest.Schema(t, url), Logger: slog.New(slog.DiscardHandler)}
	handles := 0
	return func() (provider.Provider, error) {
		handles++
		o.Pooler = handles == 3
		return postgres.OpenWith(t.Context(), url+"&pool_max_conns=6", o)
	}
}
