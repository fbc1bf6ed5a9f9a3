package simulation

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

var (
	firstSeed = flag.Uint64("simulation.seed", 0, "the first seed; the others follow; 0: fixed seeds, then fresh ones")
	manySeeds = flag.Int("simulation.seeds", 0, "how many seeds are run; 0: as many as the test has time for")
	show      = flag.Bool("simulation.show", false, "log the trace of each seed")
)

func TestMain(m *testing.M) {
	goruntime.GOMAXPROCS(1) // fewer orders of goroutines that are due at one moment
	leaktest.Main(m)
}

// decks returns the workload of a seed, and what decides.
func decks(seed uint64) (Workload, *drawn) {
	return draw(rand.New(rand.NewPCG(seed, 1))), drawFaults(rand.New(rand.NewPCG(seed, 2)))
}

// figures counts what seeds have shown.
type figures struct {
	began   time.Time
	seeds   int
	repeats int
	steps   int
	virtual time.Duration
	faults  map[string]int
}

func (f *figures) String() string {
	took := time.Since(f.began).Seconds()
	return fmt.Sprintf("%d seeds, %.1f a second; %.1f %% repeat exactly; %d steps and %.0f s of virtual time a seed, %.0f s of it a second; faults: %v",
		f.seeds, float64(f.seeds)/took, 100*float64(f.repeats)/float64(f.seeds), f.steps/f.seeds, f.virtual.Seconds()/float64(f.seeds),
		f.virtual.Seconds()/took, f.faults)
}

// add runs a seed twice. It returns what is wrong in both runs, and the script of it.
func (f *figures) add(t *testing.T, seed uint64, breaks func(provider.Provider) provider.Provider) (wrong []string, s Script) {
	t.Helper()
	if f.faults == nil {
		f.faults, f.began = make(map[string]int), time.Now()
	}
	w, d := decks(seed)
	first := simulate(t, seed, w, d, breaks)
	second := simulate(t, seed, w, scripted(maps.Clone(first.picks)), breaks)
	f.seeds++
	f.steps += first.steps
	f.virtual += first.virtual
	for kind, n := range first.faults {
		f.faults[kind] += n
	}
	if *show {
		t.Logf("seed %d:\n%s", seed, strings.Join(first.trace, "\n"))
	}
	if digest(first.trace) == digest(second.trace) {
		f.repeats++
	} else {
		t.Logf("seed %d does not repeat: %s", seed, differ(first.trace, second.trace))
	}
	if len(first.wrong) > 0 && len(second.wrong) > 0 {
		return first.wrong, Script{Workload: w, Picks: first.picks}
	}
	if len(first.wrong)+len(second.wrong) > 0 {
		t.Logf("seed %d counts for nothing: one of two runs failed: %v %v", seed, first.wrong, second.wrong)
	}
	return nil, s
}

// differ shows where two traces part.
func differ(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d of %d and %d:\n%s\n%s", i, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines and %d", len(a), len(b))
}

// fails returns a function that reports whether a script fails twice.
func fails(t *testing.T, seed uint64, breaks func(provider.Provider) provider.Provider) func(Script) bool {
	t.Helper()
	return func(s Script) bool {
		for range 2 {
			if len(simulate(t, seed, s.Workload, scripted(s.Picks), breaks).wrong) == 0 {
				return false
			}
		}
		return true
	}
}

// shrinkTime is how long a smaller script is searched for.
const shrinkTime = 30 * time.Second

// A seed decides all that happens between nodes, clients and the store. What clients see, the invariants of the store, and the end of
// all instances must be right for each.
func TestSimulation(t *testing.T) {
	var f figures
	seeds, limit, fixed := *manySeeds, longtest.Pick(time.Second, 12*time.Second), longtest.Pick(20, foundWithin)
	fresh := uint64(time.Now().UnixNano())
	began := time.Now()
	more := func(n int) bool { return n < seeds || seeds == 0 && (n < fixed || time.Since(began) < limit) }
	for n := 0; more(n); n++ {
		seed := *firstSeed + uint64(n)
		switch {
		case *firstSeed == 0 && n < fixed:
			seed++
		case *firstSeed == 0:
			seed = fresh + uint64(n)
		}
		wrong, script := f.add(t, seed, nil)
		if len(wrong) > 0 {
			small := shrink(script, time.Now().Add(shrinkTime), fails(t, seed, nil))
			again := simulate(t, seed, small.Workload, scripted(small.Picks), nil)
			t.Errorf("seed %d: %s\nto repeat: go test ./internal/test/simulation -run '^TestSimulation$' -simulation.seed=%d -simulation.seeds=1\n"+
				"shrunk: %s\n%s\ntrace:\n%s", seed, strings.Join(wrong, "\n"), seed, strings.Join(again.wrong, "\n"), small, strings.Join(again.trace[:min(len(again.trace), 300)], "\n"))
			break
		}
		if f.seeds%1000 == 0 {
			t.Log(&f)
		}
	}
	t.Log(&f)
	if f.seeds >= 20 && f.repeats*10 < f.seeds*9 {
		t.Errorf("%d of %d seeds repeat exactly, want nine of ten: the others show nothing", f.repeats, f.seeds)
	}
}

// Scripts are those of bugs that seeds have found.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if res := simulate(t, 1, s.Workload, scripted(s.Picks), nil); len(res.wrong) > 0 {
			t.Errorf("%s: %s\n%s", file, strings.Join(res.wrong, "\n"), strings.Join(res.trace, "\n"))
		}
	}
}
