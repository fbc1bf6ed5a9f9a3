package programs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/codec"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/sqlite"
)

var (
	firstSeed = flag.Uint64("programs.seed", 1, "seed of the first random program; the others follow")
	count     = flag.Int("programs.count", 0, "how many random programs are run; 0: 1,000, or 40 with -short")
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

// A random program ends the same in every mode, and as the model predicts. The modes: without interruption, evicted or
// rebuilt at every turn, with its node killed at random steps, and on failing storage.
func TestProgramsEndAlike(t *testing.T) {
	t.Parallel()
	n := drawn()
	logSeeds(t, n)
	sum := &tally{}
	t.Cleanup(func() { sum.judge(t, n) })
	var wrong atomic.Bool
	const lanes = 16
	for lane := range lanes {
		t.Run(fmt.Sprint("lane", lane), func(t *testing.T) {
			t.Parallel()
			for i := lane; i < n && !wrong.Load(); i += lanes {
				seed := *firstSeed + uint64(i)
				endsAlike(t, seed, &wrong, 150, func(p Program, m mode) string { return inMemory(t, p, m, seed, sum) })
			}
		})
	}
}

// A sample of the programs ends the same on SQLite in real time.
func TestProgramsEndAlikeOnSQLite(t *testing.T) {
	t.Parallel()
	n := max(1, drawn()/50)
	sum := inRealTime(t, n, 20, func(p Program, m mode, seed uint64, sum *tally) string { return onSQLite(t, p, m, seed, sum) })
	sum.judge(t, n)
}

// inRealTime runs n programs in every mode, some at once.
func inRealTime(t *testing.T, n, atOnce int, run func(p Program, m mode, seed uint64, sum *tally) string) *tally {
	t.Helper()
	logSeeds(t, n)
	sum := &tally{}
	var wrong atomic.Bool
	var lanes sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range n {
		free <- struct{}{}
		lanes.Go(func() { // most of the time is spent waiting for leases
			seed := *firstSeed + uint64(i)
			endsAlike(t, seed, &wrong, 0, func(p Program, m mode) string {
				m.kills = min(m.kills, 2)
				return run(p, m, seed, sum)
			})
			<-free
		})
	}
	lanes.Wait()
	return sum
}

// drawn returns how many random programs are run.
func drawn() int {
	if *count > 0 {
		return *count
	}
	return longtest.Pick(40, 1_000)
}

func logSeeds(t *testing.T, n int) {
	t.Helper()
	t.Logf("programs of the seeds %d to %d", *firstSeed, *firstSeed+uint64(n)-1)
}

// endsAlike runs the program of one seed in every mode. The function run returns what is wrong. The first wrong program
// is then shrunk in the given number of tries.
func endsAlike(t *testing.T, seed uint64, wrong *atomic.Bool, tries int, run func(Program, mode) string) {
	t.Helper()
	p := generate(seed)
	for _, m := range modes() {
		if seed%m.every != 0 {
			continue
		}
		what := run(p, m)
		if what == "" {
			continue
		}
		if wrong.Swap(true) {
			tries = 0
		}
		small := shrink(p, tries, func(p Program) bool { return run(p, m) != "" })
		code, err := json.Marshal(small)
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: %s\nsmallest program that is wrong: %s\nto repeat: go test ./internal/test/programs -run '^%s$' -programs.seed=%d -programs.count=1",
			m.name, what, code, strings.Split(t.Name(), "/")[0], seed)
		return
	}
}

// inMemory runs a program in virtual time. It returns what is wrong, if anything.
func inMemory(t *testing.T, p Program, m mode, seed uint64, sum *tally) (wrong string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		r := &run{
			mode: m, store: memory.New(memory.Options{}), Rand: chances(m.name, seed), sum: sum,
			moment: time.Second, lease: 30 * time.Second, limit: time.Hour, codec: drawCodec(m, seed),
		}
		wrong = differs(t, r, p)
	})
	return wrong
}

// onSQLite runs a program in real time.
func onSQLite(t *testing.T, p Program, m mode, seed uint64, sum *tally) (wrong string) {
	t.Helper()
	store, err := sqlite.OpenWith(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Synchronous: sqlite.Off})
	if err != nil {
		return err.Error()
	}
	return differs(t, &run{
		mode: m, store: store, Rand: chances(m.name, seed), sum: sum,
		moment: 4 * time.Millisecond, lease: 500 * time.Millisecond, limit: 2 * time.Minute, codec: drawCodec(m, seed),
	}, p)
}

// drawCodec returns a codec for one of three runs of a mode, so that programs end alike with and without one.
func drawCodec(m mode, seed uint64) codec.Codec {
	if (seed+uint64(len(m.name)))%3 != 0 {
		return nil
	}
	c, err := codec.AES(codec.Key{ID: "k1", Bytes: bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		panic(err)
	}
	return c
}

// differs compares the outcome of a program with the prediction, and closes the store.
func differs(t *testing.T, r *run, p Program) string {
	t.Helper()
	defer func() {
		for _, handle := range append(r.others, r.store) {
			if err := handle.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	got, err := r.do(t.Context(), p)
	if err != nil {
		return err.Error()
	}
	if diff := cmp.Diff(predict(p), got); diff != "" {
		return "outcome (-want +got):\n" + diff
	}
	return ""
}

// chances decides when nodes die and calls fail.
func chances(name string, seed uint64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes all
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
