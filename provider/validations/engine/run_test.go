package engine

import (
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// caught runs a scenario, in virtual time, against memory broken by mutate.
func caught(t *testing.T, s scenario, m mode, mutate func(*mutant)) (failures []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		p := &mutant{Provider: store}
		mutate(p)
		failures = execute(t.Context(), s, m, p, p, 30*time.Second)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return failures
}

// Scenarios that fail sound providers are as useless as ones that pass all.
func TestScenariosPassMemoryInVirtualTime(t *testing.T) {
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

func TestScenariosSurvivePanics(t *testing.T) {
	t.Parallel()
	failures := caught(t, scenario{name: "panics", run: func(*trial) { panic("oops") }}, modes()[0], func(*mutant) {})
	if len(failures) != 1 || !strings.Contains(failures[0], "oops") {
		t.Errorf("got %v, want the panic as a failure", failures)
	}
}

// What a failure tells the author of a provider to look at must be there.
func TestScenariosStandOnTheContract(t *testing.T) {
	t.Parallel()
	contract, seen := reflect.TypeFor[provider.Provider](), map[string]bool{}
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
			if _, ok := method.Type.In(1).FieldByName(field); field != "" && !ok {
				t.Errorf("%s: %v has no field %s", s.name, method.Type.In(1), field)
			}
		}
	}
	t.Logf("%d scenarios in %d modes", len(seen), len(modes()))
}
