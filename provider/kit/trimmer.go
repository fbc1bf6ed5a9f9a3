package kit

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Trimmer implements [provider.Trimmer] by scans. Each call reads all instances and all executions that are not the current ones, so
// it fits a store of some 10,000 instances. It is safe for concurrent use if its functions are.
type Trimmer struct {
	Instances  Scan[InstanceRow]
	Executions Scan[ExecutionRow]

	// Remove removes an execution with its history in one transaction, and reports whether it was there.
	Remove func(ctx context.Context, x provider.OldExecution) (removed bool, err error)
	Now    func() provider.Time // the store's clock
}

// Trim implements provider.Trimmer. After an error, the executions that the result counts are gone.
func (t Trimmer) Trim(ctx context.Context, req provider.TrimRequest) (res provider.TrimResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	after, continues, err := readCursor("trim", req.Cursor)
	if err != nil {
		return res, err
	}
	// The current executions are read first. One that is left meanwhile counts as current, and more is kept.
	current := map[provider.UUID]int64{}
	err = t.Instances(ctx, func(i InstanceRow) bool {
		if !i.Deleting {
			current[i.Key] = i.Execution
		}
		return true
	})
	if err != nil {
		return res, err
	}
	keep := int64(cmp.Or(req.Keep, 1))
	old, err := collect(ctx, t.Executions, func(x *ExecutionRow) bool {
		return x.Execution < current[x.Key]-keep && (!continues || numbered(x).byKey(after) > 0)
	})
	if err != nil {
		return res, err
	}
	slices.SortFunc(old, func(a, b ExecutionRow) int { return numbered(&a).byKey(numbered(&b)) })
	now := t.Now()
	var young provider.UUID // the instance whose next execution is too young, so that all later ones stay, too
	for n := range old {
		x := &old[n]
		if x.Key == young {
			continue
		}
		if x.EndedAt.Add(req.Age) > now {
			young = x.Key
			continue
		}
		one := provider.OldExecution{Key: x.Key, Execution: x.Execution}
		removed := true
		if req.Look {
			res.Found = append(res.Found, one)
		} else if removed, err = t.Remove(ctx, one); err != nil {
			return res, err
		}
		if removed {
			res.Executions++
		}
		if res.Executions == int64(cmp.Or(req.Max, provider.MaxBatch)) && n+1 < len(old) {
			res.Cursor = numbered(x).cursor()
			break
		}
	}
	return res, nil
}

// numbered returns the place of an execution in the order of instances and numbers.
func numbered(x *ExecutionRow) place { return place{key: x.Key, a: x.Execution} }
