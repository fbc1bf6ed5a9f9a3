//go:build unix

package durability

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider/sqlite"
)

var (
	seed    = flag.Uint64("durability.seed", 0, "seed of the moments; 0: another one each time")
	soaking = flag.Duration("durability.for", 0, "go on stopping and killing for this long")
)

// dice returns the random source of a test.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	n := *seed
	if n == 0 {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat what is random with -durability.seed=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// soak runs a round of a test, and repeats it during a soak.
func soak(t *testing.T, round func(t *testing.T)) {
	t.Helper()
	end := time.Now().Add(*soaking)
	for n := 1; n == 1 || time.Now().Before(end) && !t.Failed(); n++ {
		t.Run(fmt.Sprintf("round%d", n), round)
	}
}

// stops is the number of stops of the shops on one file. Each takes longer than the last, because the store grows.
const stops = 15

// Two processes work on one file. At random moments they are stopped, and the file and its log are copied as they are.
// The copy holds everything that was acknowledged, the invariants hold, and a new process finishes it.
//
// The index of the log, -shm, is not copied: a process that opens the copy reads the log itself, as after a crash.
//
// This test finds late writes, not missing syncs, because the copy also has data that the system has not yet written to
// disk. It would pass with synchronous=OFF. The tests of syncs check that acknowledgements wait for the disk.
func TestStoppedProcessesHaveStoredWhatTheyTold(t *testing.T) {
	t.Parallel()
	random := dice(t)
	soak(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		s := newStreet(t)
		for _, name := range []string{"a", "b"} {
			s.build(shopAt(path, sqlite.Full, name, 0), os.Args[0])
		}
		s.hearMore(20)
		for range stops {
			s.hearMore(1 + random.IntN(100))
			if random.IntN(2) == 0 { // else at once, as close to the last acknowledgement as possible
				pass(time.Duration(random.IntN(5000)) * time.Microsecond)
			}
			all := s.freeze()
			examine(t, copyOf(t, path), all)
			s.thaw()
			if t.Failed() {
				return // damage does not mend itself
			}
		}
		s.close()
		examine(t, path, s.all())
		t.Logf("%d stops, %d acknowledgements", stops, s.count())
	})
}

// copyOf copies a store as it is on disk.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(copied+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// examine looks for the data of all acknowledgements in a store that nobody uses, and finishes it.
func examine(t *testing.T, path string, all []ack) {
	t.Helper()
	store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	keeps(t, store, all)
	sound(t, store, invariant.Options{})
	if t.Failed() {
		return // an order that lost data may never end
	}
	finish(t, store, all)
	sound(t, store, invariant.Options{Idle: true, Expect: done})
}
