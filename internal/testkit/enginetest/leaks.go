package enginetest

import (
	"context"
	"testing"

	"github.com/perdure/perdure/provider"
)

// CheckLeases fails the test if a lease is still held. Call it after all nodes have stopped and before the store is
// closed. An Engine checks its store by itself.
func CheckLeases(t testing.TB, store provider.Provider) {
	t.Helper()
	// The test's own context has ended when its cleanups run.
	stats, err := provider.FullOf(store).Stats(context.WithoutCancel(t.Context()), provider.StatsRequest{})
	if err != nil {
		t.Errorf("looking for leases: %v", err)
	}
	if stats.TurnLeases+stats.TaskLeases > 0 {
		t.Errorf("after shutdown %d turns and %d tasks are still leased", stats.TurnLeases, stats.TaskLeases)
	}
}
