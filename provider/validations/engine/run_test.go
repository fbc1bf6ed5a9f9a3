package engine

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

var (
	everyCombination = flag.Bool("engine.paths", false, "run the scenarios without every combination of fast paths")
	pathSeed         = flag.Uint64("engine.seed", 0, "draw the combination of fast paths by this number; 0: by the time")
)

// caught runs a scenario, in virtual time, against memory broken by mutate.
func caught(t *testing.T, s scenario, m mode, mutate func(*mutant)) (failures []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		p := &mutant{Full: provider.FullOf(store)}
		mutate(p)
		failures, _ = execute(t.Context(), s, m, p, p, 30*time.Second)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return failures
}

// Scenarios that fail sound providers are as useless as ones that pass all.
func TestScenariosPassMemoryInVirtualTime(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, s := range scenarios() {
		for _, m := range modes() {
			t.Run(s.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				for _, f := range caught(t, s, m, func(*mutant) {}) {
					t.Error(f)
				}
			})
		}
	}
}

// A fast path makes a node faster and changes nothing else. All scenarios pass without all paths, without each of them,
// and without a combination drawn at random.
func TestScenariosPassWithoutFastPaths(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, off := range combinations(t) {
		for _, s := range scenarios() {
			t.Run(off.String()+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				for _, f := range caught(t, s, mode{name: "off:" + off.String(), off: off}, func(*mutant) {}) {
					t.Error(f)
				}
			})
		}
	}
}

// combinations returns the sets of fast paths that the scenarios run without.
func combinations(t *testing.T) (all []fastpath.Set) {
	t.Helper()
	if *everyCombination {
		for off := fastpath.Set(1); off <= fastpath.All; off++ {
			all = append(all, off)
		}
		return all
	}
	seed := *pathSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	drawn := fastpath.Set(rand.New(rand.NewPCG(seed, 0)).IntN(int(fastpath.All)))
	t.Logf("-engine.seed=%d draws %v", seed, drawn)
	if testing.Short() {
		return []fastpath.Set{fastpath.All, drawn}
	}
	return append(fastpath.Each(), fastpath.All, drawn)
}

func TestScenariosSurvivePanics(t *testing.T) {
	t.Parallel()
	failures := caught(t, scenario{name: "panics", run: func(*trial) { panic("oops") }}, modes()[0], func(*mutant) {})
	if len(failures) != 1 || !strings.Contains(failures[0], "oops") {
		t.Errorf("got %v, want the panic as a failure", failures)
	}
}

// The methods and fields that a failure names to the author of a provider must exist.
func TestScenariosStandOnTheContract(t *testing.T) {
	t.Parallel()
	contract, seen := reflect.TypeFor[*provider.Full](), map[string]bool{}
	for _, s := range scenarios() {
		if s.name == "" || seen[s.name] || s.run == nil || len(s.carries) == 0 {
			t.Errorf("scenario %q is incomplete or there twice", s.name)
		}
		seen[s.name] = true
		for _, what := range s.carries {
			name, field, _ := strings.Cut(what, ".")
			method, ok := contract.MethodByName(name)
			if !ok {
				t.Errorf("%s: the contract has no method %s", s.name, name)
				continue
			}
			if _, ok := method.Type.In(2).FieldByName(field); field != "" && !ok {
				t.Errorf("%s: %v has no field %s", s.name, method.Type.In(2), field)
			}
		}
	}
	t.Logf("%d scenarios in %d modes", len(seen), len(modes()))
}
