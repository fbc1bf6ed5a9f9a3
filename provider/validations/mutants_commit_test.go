package validations

import "github.com/perdure/perdure/provider"

func brokenCommit() []brokenRule { return nil }

// commits changes what CommitTurn is asked to store.
func commits(change func(*provider.CommitTurnRequest)) func(*mutant) {
	return func(m *mutant) { m.commit.before(change) }
}
