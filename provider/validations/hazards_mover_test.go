package validations

import "testing"

// A sealed instance runs in no store: nothing steers it, and what is sent to it is refused, until it is freed in one place.
func TestHazard69_SealedRunsNowhere(t *testing.T) {
	t.Parallel()
	holds(t, "mover/hold", "mover/close", "mover/back", "mover/steps", "mover/export-only-closed", "mover/import-arrives", "mover/import-early")
}

// An instance arrives with everything that is stored under its key, once.
func TestHazard69_InstancesArriveWhole(t *testing.T) {
	t.Parallel()
	holds(t, "mover/carry", "mover/import")
}
