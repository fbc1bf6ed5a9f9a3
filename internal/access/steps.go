package access

import "context"

// A Step makes a step of an orchestration of perdure itself. Its request, progress and result are JSON. from is how far an attempt before
// has come, nil for the first. heartbeat takes the progress of the attempt, and returns once it is stored if store is set.
type Step func(ctx context.Context, request, from []byte, heartbeat func(done []byte, store bool) error) ([]byte, error)

// Steps is embedded in operate.Operator, so that perdure's own activities reach its steps and nobody else does.
type Steps struct{ retention Step }

func (s *Steps) steps() *Steps { return s }

// StepsOf makes the Steps of an operator.
func StepsOf(retention Step) Steps { return Steps{retention} }

// RetentionStep returns the step of retention of an operator.
func RetentionStep[O any, P interface {
	*O
	steps() *Steps
}](operator P) Step {
	return operator.steps().retention
}
