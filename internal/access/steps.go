package access

import "context"

// A Step makes a step of an orchestration of perdure itself. Its request, progress and result are JSON. from is how far an attempt before
// has come, nil for the first. heartbeat takes the progress of the attempt, and returns once it is stored if store is set.
type Step func(ctx context.Context, request, from []byte, heartbeat func(done []byte, store bool) error) ([]byte, error)

// OwnSteps are the steps of perdure's own orchestrations.
type OwnSteps struct {
	Bulk       Step // of the first form
	SecondBulk Step
	Retention  Step
}

// Steps is embedded in operate.Operator, so that perdure's own activities reach its steps and nobody else does.
type Steps struct{ own OwnSteps }

func (s *Steps) steps() *Steps { return s }

// StepsOf makes the Steps of an operator.
func StepsOf(own OwnSteps) Steps { return Steps{own} }

// OwnStepsOf returns the argument of StepsOf.
func OwnStepsOf[O any, P interface {
	*O
	steps() *Steps
}](operator P) OwnSteps {
	return operator.steps().own
}
