package enginetest

import (
	"context"
	"testing"

	"github.com/perdure/perdure/provider"
)

// CheckLeases fails the test if somebody still holds a lease. It is asked after all nodes
// were shut down and before the store is closed; an Engine's store is checked by itself.
func CheckLeases(t testing.TB, store provider.Provider) {
	t.Helper()
	// The test's own context is finished when its cleanups run.
	stats, err := store.Stats(context.WithoutCancel(t.Context()), provider.StatsRequest{})
	if err != nil {
		t.Errorf("looking for leases: %v", err)
	}
	if stats.TurnLeases+stats.TaskLeases > 0 {
		t.Errorf("after shutdown %d turns and %d tasks are still leased", stats.TurnLeases, stats.TaskLeases)
	}
}
