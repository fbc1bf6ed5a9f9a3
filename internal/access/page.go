package access

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// DefaultPage is the default of the size of a page.
const DefaultPage = 100

// pageTime is after how long a page that is not full reads no further.
const pageTime = 20 * time.Millisecond

// Page reads until the page is full, the list ends or pageTime has passed. A store may end a page early, because it has looked at many
// rows. users leaves out the instances of perdure itself.
func (s *Store) Page(ctx context.Context, op string, req provider.ListRequest, users bool) (res provider.ListResult, err error) {
	if err := s.Filters(&req.Filter); err != nil {
		return res, fmt.Errorf("%s: %w", op, err)
	}
	most, until := req.Max, time.Now().Add(pageTime)
	for {
		next, err := Read(ctx, s, op, s.List, req)
		if err != nil {
			return res, err
		}
		if users {
			next.Instances = slices.DeleteFunc(next.Instances, func(i provider.Instance) bool { return reserved.ID(i.ID) })
		}
		next.Instances = append(res.Instances, next.Instances...)
		res = next
		if req.Max = most - len(res.Instances); req.Max == 0 || res.Cursor == "" || !time.Now().Before(until) {
			return res, nil
		}
		req.Cursor = res.Cursor
	}
}
