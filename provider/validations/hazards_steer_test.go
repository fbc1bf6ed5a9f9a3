package validations

import "testing"

// The storage's part of a move: it is fenced, stores the version and frees the instance.
func TestHazard61_MoveIsFenced(t *testing.T) {
	t.Parallel()
	holds(t, "steer/move", "steer/expected")
}

// Acts on activities need no token: they void it, and name the attempt that was seen.
func TestHazard86_ActsNameTheAttempt(t *testing.T) {
	t.Parallel()
	holds(t, "steer-task/")
}

// One message can be dropped by its ID, also from a Blocked instance. The engine's part of the hazard is not here.
func TestHazard54_OneMessageCanBeDropped(t *testing.T) {
	t.Parallel()
	holds(t, "steer/drop")
}

// An act under a request ID happens once. The engine's part, whom a job acts on, is not here.
func TestHazard68_ActsHappenOnce(t *testing.T) {
	t.Parallel()
	holds(t, "steer/once")
}

// A reset moves what its prefix leaves pending: tasks, timers and children. That the engine names all of it is not shown here.
func TestHazard57_ResetMovesWhatIsPending(t *testing.T) {
	t.Parallel()
	holds(t, "opener/prefix-t", "opener/child", "opener/no-such-child")
}

// Messages that an execution received come first in the next one, and a request that it has not seen is delivered again.
func TestHazard58_ResetCarriesMessages(t *testing.T) {
	t.Parallel()
	holds(t, "opener/prefix-messages", "opener/prefix-forgets")
}

// Columns that describe an execution to observers go with it, unless the prefix has them.
func TestHazard78_ResetRemovesDescriptions(t *testing.T) {
	t.Parallel()
	holds(t, "opener/prefix-describes", "opener/prefix-values")
}
