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
