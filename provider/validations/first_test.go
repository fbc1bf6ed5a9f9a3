package validations

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// failsOn runs a case against memory as changed by breaks, in virtual time.
func failsOn(t *testing.T, c testCase, breaks func(*mutant)) (failures []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMutant()
		breaks(m)
		failures = execute(t.Context(), c, &trial{Full: provider.FullOf(m), beginTx: m.begin}, 30*time.Second)
		_ = m.Provider.Close()
	})
	return failures
}

// A provider without features passes all cases that need none of them.
func TestFeaturesMayBeIgnored(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		if c.group == "transactions" || c.slow || c.lacks != nil && c.lacks(ignoring(newMutant())) != "" {
			continue
		}
		if testing.Short() && c.group != "create" && c.group != "fetch-turns" && c.group != "edges" {
			continue
		}
		for _, f := range failsOn(t, c, func(m *mutant) { ignoring(m) }) {
			t.Errorf("%s/%s fails a provider that ignores what it does not declare: %s", c.group, c.name, f)
		}
	}
}

// ignoring takes all features from a mutant, but for the one that a TaskLister must declare.
func ignoring(m *mutant) *mutant {
	m.has = provider.Features{Retrying: true}
	ignoresFirst(false, false)(m)
	m.turns.before(looksNotAhead)
	m.commit.before(func(req *provider.CommitTurnRequest) { req.Sticky = 0 })
	return m
}

// A feature that is declared is a promise.
func TestDeclaredFirstTurnsAreStored(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, c := range cases() {
		if c.group == "transactions" || !strings.Contains(c.name, "first-turn") {
			continue
		}
		if len(failsOn(t, c, ignoresFirst(false, false))) > 0 {
			seen++
		}
		if c.name == "first-turn-or-start-message" && len(failsOn(t, c, ignoresFirst(false, true))) == 0 {
			t.Errorf("%s/%s passes although the start message is lost", c.group, c.name)
		}
	}
	if seen < 12 {
		t.Errorf("%d cases fail a provider that declares first turns and ignores them, want at least 12", seen)
	}
}
