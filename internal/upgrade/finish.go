package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// ErrOlder means that a node of an older release may still be at work.
var ErrOlder = errors.New("a node of an older release may be at work")

// Finish raises the level that a store allows to the given one. It returns the level of before. It changes nothing if the
// store has a record of that level, or of a higher one. Without force it returns ErrOlder while a node that is listed, or a
// lease owner that is not, may run a lower level only.
func Finish(ctx context.Context, store *provider.Full, level int64, force bool) (before int64, changed bool, err error) {
	for {
		s, err := ReadStatus(ctx, store)
		if err != nil {
			return 0, false, err
		}
		if s.Recorded && s.Allowed >= level {
			return s.Allowed, false, nil
		}
		if older := s.older(level); len(older) > 0 && !force {
			return s.Allowed, false, fmt.Errorf("%w: %s", ErrOlder, strings.Join(older, "; "))
		}
		err = put(ctx, store, record{Level: max(level, s.Allowed), version: s.version})
		if !errors.Is(err, provider.ErrConflict) {
			return s.Allowed, err == nil, err
		}
	}
}

// older names what may run a lower level only.
func (s *Status) older(level int64) (found []string) {
	for _, n := range s.Nodes {
		if n.Level < level {
			found = append(found, fmt.Sprintf("node %q of release %s runs level %d only", n.Owner, n.Release, n.Level))
		}
	}
	for _, owner := range s.Unknown {
		found = append(found, fmt.Sprintf("%q holds a lease and is not listed", owner))
	}
	if s.Unchecked != "" {
		found = append(found, s.Unchecked)
	}
	return found
}
