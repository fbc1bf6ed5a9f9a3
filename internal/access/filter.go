package access

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// Filters refuses a filter that the store would not apply: it would find all others, too.
func (s *Store) Filters(f *provider.Filter) error {
	has := s.Features()
	switch {
	case f.Retrying && !has.Retrying:
		return fmt.Errorf("%w: the store does not find what retries: leave that out of the filter", errors.ErrUnsupported)
	case f.FailureGroup != "" && !has.FailureGroups:
		return fmt.Errorf("%w: the store has no groups of failures: leave the group out of the filter", errors.ErrUnsupported)
	case f.FailureGroup != "":
		return sealing.Of(s.Full).NoGroups()
	}
	return nil
}
