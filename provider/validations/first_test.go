package validations

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// A provider that ignores first turns passes, unless FirstTurns is set or it loses the start message with the turn.
func TestFirstTurnsMayBeIgnored(t *testing.T) {
	t.Parallel()
	fails := func(c testCase, breaks func(*mutant), begins bool) (failed bool) {
		synctest.Test(t, func(t *testing.T) {
			m := newMutant()
			breaks(m)
			failed = len(execute(t.Context(), c, &trial{Full: provider.FullOf(m), beginTx: m.begin, begins: begins}, 30*time.Second)) > 0
			_ = m.Provider.Close()
		})
		return failed
	}
	seen := 0
	for _, c := range cases() {
		if c.group == "transactions" || !strings.Contains(c.name, "first-turn") {
			continue
		}
		if fails(c, ignoresFirst(false, false), false) {
			t.Errorf("%s/%s fails a provider that ignores first turns", c.group, c.name)
		}
		if fails(c, ignoresFirst(false, false), true) {
			seen++
		}
	}
	if seen < 12 {
		t.Errorf("%d cases fail a provider that ignores first turns under FirstTurns, want at least 12", seen)
	}
	for _, c := range cases() {
		if c.name == "first-turn-or-start-message" && !fails(c, ignoresFirst(false, true), false) {
			t.Errorf("%s/%s passes although the start message is lost", c.group, c.name)
		}
	}
}
