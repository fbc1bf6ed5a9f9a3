package validations

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
)

// sound returns memory without a break.
func sound(*mutant) {}

// The suite passes a correct provider.
func TestSuitePassesMemoryInVirtualTime(t *testing.T) {
	longtest.Skip(t)
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

// A failure names the last call, but not calls that only look at the effects.
func TestFailuresNameTheLastCall(t *testing.T) {
	c := testCase{group: "g", name: "n", run: func(t *trial) {
		i := t.create("i")
		t.send(i.Key, text("m"))
		t.checkf(t.get(i.Key).InboxMessages == 0, "oops")
	}}
	if failures := attempt(t, c, sound, false); len(failures) != 1 || !strings.HasSuffix(failures[0], ": after Send: oops") {
		t.Errorf("got %v, want the name of the call", failures)
	}
}
