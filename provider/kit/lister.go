package kit

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Lister implements [provider.Lister] by scans. Each page reads all instances, so it fits a store of some 10,000 instances, and the
// beginning of any other. It is safe for concurrent use if its functions are.
type Lister struct {
	Instances Scan[InstanceRow]
	Now       func() provider.Time // the store's clock
}

// List implements provider.Lister.
func (l Lister) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	after, continues, err := readCursor("list", req.Cursor)
	if err != nil {
		return res, err
	}
	found, err := collect(ctx, l.Instances, func(i *InstanceRow) bool {
		return (!continues || created(i).byTime(after) < 0) && i.matches(&req.Filter)
	})
	if err != nil {
		return res, err
	}
	slices.SortFunc(found, func(a, b InstanceRow) int { return created(&b).byTime(created(&a)) })
	res.Now = l.Now()
	bytes := 0
	for n := range found {
		row := &found[n]
		req.Trim(&row.Instance)
		bytes += row.ListBytes()
		if n == cmp.Or(req.Max, provider.MaxPage) || n > 0 && bytes > provider.MaxFetchBytes {
			res.Cursor, res.Reached = created(&found[n-1]).cursor(), found[n-1].CreatedAt
			return res, nil
		}
		res.Instances = append(res.Instances, row.Instance)
	}
	return res, nil
}

// Count implements provider.Lister.
func (l Lister) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	res.Exact = true
	err = l.Instances(ctx, func(i InstanceRow) bool {
		switch {
		case !i.matches(&req.Filter):
		case req.Max > 0 && res.Count == req.Max: // one more
			res.Exact = false
		default:
			res.Count++
		}
		return res.Exact
	})
	if err != nil {
		return provider.CountResult{}, err
	}
	return res, nil
}

// created returns the place of an instance in the order of creation. Lists run against it.
func created(i *InstanceRow) place { return place{key: i.Key, a: int64(i.CreatedAt)} }
