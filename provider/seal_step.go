package provider

// SealStep is what a request of Seal does to an instance. It is for providers.
type SealStep uint8

// The steps.
const (
	StepStay   SealStep = iota // nothing: it is a repeat
	StepAdopt                  // the seal gets the transfer of the request
	StepHold                   // the instance is held
	StepClose                  // the held instance is closed
	StepReopen                 // the closed instance is held again
	StepFree                   // the held instance is freed
)

// Step returns what the request does to an instance with a seal, or why it is refused. It is for providers.
func (r SealRequest) Step(s Seal) (SealStep, error) {
	same := s.Transfer == r.Transfer
	switch {
	case s.State == SealNone && r.To == SealHeld && !same:
		return StepHold, nil
	case r.Again && !same && s.State != SealNone && !s.Arrived:
		return StepAdopt, nil
	case same && (s.State == r.To || r.Again && s.State == SealClosed):
		return StepStay, nil
	case s.State == SealNone:
		return StepStay, ErrConflict
	case !same || s.State == SealArriving:
		return StepStay, ErrMoved
	}
	return r.onward(s)
}

// onward returns the step of a sealed instance under its own transfer.
func (r SealRequest) onward(s Seal) (SealStep, error) {
	back := r.To < s.State
	switch {
	case back && !s.Arrived && !r.Back, r.To == SealNone && s.State == SealClosed:
		return StepStay, ErrMoved
	case !back:
		return StepClose, nil
	case r.To == SealHeld:
		return StepReopen, nil
	default:
		return StepFree, nil
	}
}
