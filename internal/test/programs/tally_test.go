package programs

import (
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/runtime"
)

// tally counts what happened in the runs of a test.
type tally struct {
	nodes, killed, lost, turns, fast, replays, evictions, retries, answers, updates, resets, holds, restarts atomic.Int64
}

// add adds the counters of a node.
func (s *tally) add(n runtime.Stats) {
	s.nodes.Add(1)
	s.turns.Add(n.TurnsCommitted)
	s.fast.Add(n.TurnsFast)
	s.replays.Add(n.ColdReplays)
	s.evictions.Add(n.CacheEvictions)
	s.retries.Add(n.AttemptsRetried)
}

// judge logs the sums and fails the test if too little happened in the runs.
func (s *tally) judge(t *testing.T, programs int) {
	t.Helper()
	t.Logf("%d nodes, %d of them killed; %d replies of the storage lost; %d turns, %d of them fast; %d replays; %d evictions; %d retries; %d answers to queries; %d updates; %d resets; %d times suspended; %d restarts",
		s.nodes.Load(), s.killed.Load(), s.lost.Load(), s.turns.Load(), s.fast.Load(), s.replays.Load(), s.evictions.Load(), s.retries.Load(), s.answers.Load(), s.updates.Load(), s.resets.Load(),
		s.holds.Load(), s.restarts.Load())
	if n := int64(programs); programs >= 10 && !t.Failed() &&
		(s.killed.Load() < n || s.lost.Load() < n || s.replays.Load() < 10*n || s.turns.Load() < 10*n || s.fast.Load() < n || s.answers.Load() < n || s.updates.Load() < n ||
			programs >= 100 && (s.holds.Load() < n/4 || s.restarts.Load() < n/20)) {
		t.Error("too few kills, lost replies, replays or turns to show anything")
	}
}
