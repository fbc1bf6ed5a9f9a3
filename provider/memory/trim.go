package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Trim implements provider.Trimmer.
func (cl *cleaner) Trim(ctx context.Context, req provider.TrimRequest) (res provider.TrimResult, err error) {
	err = cl.do(ctx, req, func(now provider.Time) error {
		var from provider.UUID
		if req.Cursor != "" && from.UnmarshalText([]byte(req.Cursor)) != nil {
			return fmt.Errorf("trim: Cursor: %w: use TrimResult.Cursor of the previous call", provider.ErrInvalid)
		}
		all := make([]*instance, 0, len(cl.instances.byKey))
		for key, i := range cl.instances.byKey {
			if slices.Compare(key[:], from[:]) >= 0 && !i.row.Deleting {
				all = append(all, i)
			}
		}
		slices.SortFunc(all, func(a, b *instance) int { return slices.Compare(a.row.Key[:], b.row.Key[:]) })
		left := int64(cmp.Or(req.Max, provider.MaxBatch))
		for n, i := range all {
			gone := i.trimmable(&req, now, left)
			for _, n := range gone {
				if req.Look {
					res.Found = append(res.Found, provider.OldExecution{Key: i.row.Key, Execution: n})
				} else {
					*i.executions[n-1] = execution{}
				}
			}
			left -= int64(len(gone))
			if res.Executions += int64(len(gone)); len(gone) > 0 && !req.Look {
				cl.write()
			}
			if left == 0 || n == provider.MinRows {
				res.Cursor = i.row.Key.String()
				return nil
			}
		}
		return nil
	})
	return res, err
}

// trimmable returns the numbers of the oldest executions of an instance that may go.
func (i *instance) trimmable(req *provider.TrimRequest, now provider.Time, most int64) (gone []int64) {
	last := len(i.executions) - 1 - cmp.Or(req.Keep, 1)
	for n, x := range i.executions[:max(last, 0)] {
		switch {
		case x.status == 0: // trimmed before
			continue
		case int64(len(gone)) == most || x.ended.Add(req.Age) > now:
			return gone
		}
		gone = append(gone, int64(n)+1)
	}
	return gone
}
