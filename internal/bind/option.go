package bind

import "github.com/perdure/perdure/internal/check"

// Apply applies the options of a call in order, and returns the first error. A nil option is an error.
func Apply[Option any](opts []Option, apply func(Option) error) error {
	for _, opt := range opts {
		if any(opt) == nil {
			return check.ErrNilOption
		}
		if err := apply(opt); err != nil {
			return err
		}
	}
	return nil
}
