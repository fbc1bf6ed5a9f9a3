package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Trim implements provider.Trimmer. It continues behind an execution of an instance, in the order of keys.
func (cl *cleaner) Trim(ctx context.Context, req provider.TrimRequest) (res provider.TrimResult, err error) {
	err = cl.do(ctx, req, func(now provider.Time) error {
		behind, err := readTrimCursor(req.Cursor)
		if err != nil {
			return err
		}
		all := make([]*instance, 0, len(cl.instances.byKey))
		for key, i := range cl.instances.byKey {
			if slices.Compare(key[:], behind.Key[:]) >= 0 && !i.row.Deleting {
				all = append(all, i)
			}
		}
		slices.SortFunc(all, func(a, b *instance) int { return slices.Compare(a.row.Key[:], b.row.Key[:]) })
		left := int64(cmp.Or(req.Max, provider.MaxBatch))
		for n, i := range all {
			first := int64(1)
			if i.row.Key == behind.Key {
				first = behind.Execution + 1
			}
			gone := i.trimmable(&req, now, first, left)
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
			if left == 0 {
				res.Cursor = trimCursor(i.row.Key, gone[len(gone)-1])
				return nil
			}
			if n == provider.MinRows {
				res.Cursor = trimCursor(i.row.Key, int64(len(i.executions)))
				return nil
			}
		}
		return nil
	})
	return res, err
}

// trimCursor returns the cursor that continues behind an execution of an instance.
func trimCursor(key provider.UUID, execution int64) string {
	return fmt.Sprintf("%s/%d", key, execution)
}

// readTrimCursor returns the execution behind which a cursor continues; the zero one for "".
func readTrimCursor(cursor string) (behind provider.OldExecution, err error) {
	if cursor == "" {
		return behind, nil
	}
	key, number, _ := strings.Cut(cursor, "/")
	if behind.Execution, err = strconv.ParseInt(number, 10, 64); err == nil {
		err = behind.Key.UnmarshalText([]byte(key))
	}
	if err != nil {
		return behind, fmt.Errorf("trim: Cursor: %w: use TrimResult.Cursor of the previous call", provider.ErrInvalid)
	}
	return behind, nil
}

// trimmable returns the numbers of the oldest executions of an instance, from a first one on, that may go.
func (i *instance) trimmable(req *provider.TrimRequest, now provider.Time, first, most int64) (gone []int64) {
	last := len(i.executions) - 1 - cmp.Or(req.Keep, 1)
	for n, x := range i.executions[:max(last, 0)] {
		switch {
		case int64(n) < first-1, x.status == 0: // looked at or trimmed before
			continue
		case int64(len(gone)) == most || x.ended.Add(req.Age) > now:
			return gone
		}
		gone = append(gone, int64(n)+1)
	}
	return gone
}
