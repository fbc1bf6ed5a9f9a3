package validations

import (
	"strings"
	"testing"
)

// sound returns memory without a break.
func sound(*mutant) {}

// The suite passes a correct provider.
func TestSuitePassesMemoryInVirtualTime(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.group+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range attempt(t, c, sound, false) {
				t.Error(f)
			}
		})
	}
}

func TestSuiteSurvivesPanics(t *testing.T) {
	c := testCase{group: "g", name: "n", run: func(*trial) { panic("oops") }}
	if failures := attempt(t, c, sound, false); len(failures) != 1 || !strings.Contains(failures[0], "oops") {
		t.Errorf("got %v, want the panic as a failure", failures)
	}
}
