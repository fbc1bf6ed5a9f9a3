package bind

import "github.com/perdure/perdure/internal/failure"

// Errors is embedded in orchestration.Errors.
type Errors struct{ set *failure.Set }

func (e *Errors) holds() *failure.Set { return e.set }

// NewErrors returns the handle of an empty set whose errors are made visible by show.
func NewErrors(show func(*failure.Error) error) Errors { return Errors{failure.NewSet(show)} }

// SetOf returns the set that an orchestration.Errors holds; nil for a nil or a zero one.
func SetOf[E any, P interface {
	*E
	holds() *failure.Set
}](errs P) *failure.Set {
	if errs == nil {
		return nil
	}
	return errs.holds()
}
