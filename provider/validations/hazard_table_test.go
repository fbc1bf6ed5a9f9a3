package validations

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// own says which providers have their own tests of a hazard.
type own map[string]string // by package: "" demands a test TestHazardNN; otherwise the reason for none

// ownTests lists the hazards that cases alone cannot show, or that differ from store to store, and the providers with their own
// tests.
func ownTests() map[int]own {
	const (
		alone    = "it makes one commit after the other"
		inMemory = "it belongs to one process"
	)
	return map[int]own{
		4:  {"postgres": ""}, // row locks; the others have one writer
		5:  {"sqlite": "", "postgres": ""},
		14: {"postgres": ""}, // snapshots
		16: {"postgres": "", "sqlite": "its groups have savepoints: hazard 17", "memory": alone},
		17: {"sqlite": "", "postgres": "", "memory": alone},
		18: {"sqlite": "", "postgres": "a server has no lock on a file", "memory": inMemory},
		26: {"sqlite": "", "postgres": "", "memory": "its clock is given by who opens it"},
		37: {"postgres": ""}, // sequences do not follow the order of commits
		38: {"sqlite": "", "postgres": "it is told by notifications: TestWakeUpCrossesProviders", "memory": inMemory},
		41: {"sqlite": "", "postgres": "", "memory": "it has no schema"},
	}
}

// storageHazards are the numbers of the hazards of storage.
var storageHazards = []int{4, 5, 14, 15, 16, 17, 18, 26, 27, 31, 35, 36, 37, 38, 39, 41}

// Each hazard of storage has cases here, or tests in all providers that it affects.
func TestEachStorageHazardIsGuarded(t *testing.T) {
	t.Parallel()
	tests := map[string]string{"sqlite": testsOf(t, "sqlite"), "postgres": testsOf(t, "postgres"), "memory": testsOf(t, "memory")}
	known := hazards()
	for _, number := range storageHazards {
		i := slices.IndexFunc(known, func(h hazard) bool { return h.number == number })
		if i < 0 {
			t.Errorf("hazard %d is not in the table", number)
			continue
		}
		by := ownTests()[number]
		for provider, source := range tests {
			reason, named := by[provider]
			found := regexp.MustCompile(fmt.Sprintf(`func TestHazard%02d_\w+\(`, number)).MatchString(source)
			switch {
			case named && reason == "" && !found:
				t.Errorf("provider/%s has no test TestHazard%02d", provider, number)
			case reason != "" && found:
				t.Errorf("provider/%s has tests of hazard %d, although the table says that %s", provider, number, reason)
			case !named && len(known[i].cases) == 0:
				t.Errorf("hazard %d has neither a case nor a reason for provider/%s", number, provider)
			}
		}
	}
	if len(known) != len(storageHazards) {
		t.Errorf("the table has %d hazards, want %d", len(known), len(storageHazards))
	}
}

// testsOf returns the sources of a provider's tests.
func testsOf(t *testing.T, provider string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", provider, "*_test.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files of tests, %v", len(paths), err)
	}
	var all strings.Builder
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}

func TestHazardsNameCases(t *testing.T) {
	t.Parallel()
	all := cases()
	for _, h := range hazards() {
		for _, name := range h.cases {
			one := hazard{cases: []string{name}}
			if !slices.ContainsFunc(all, one.covers) {
				t.Errorf("hazard %d names the case %s, which does not exist", h.number, name)
			}
		}
	}
}

func TestFailuresNameTheHazard(t *testing.T) {
	t.Parallel()
	all := cases()
	i := slices.IndexFunc(all, func(c testCase) bool { return c.name == "visible-order" })
	if text := all[i].breaks(); !strings.Contains(text, all[i].rule) || !strings.Contains(text, "hazard 37: messages come out of order") {
		t.Errorf("the text of a failure is %q", text)
	}
}
