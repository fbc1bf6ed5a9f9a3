package kit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Scan calls each with every stored instance, in any order, until each returns false. replaced reports whether another instance has
// its ID, or had it and was deleted. What each gets stays as it is after each has returned.
type Scan func(ctx context.Context, each func(i provider.Instance, replaced bool) (more bool)) error

// Lister implements [provider.Lister] by scans. Each page reads all instances, so it fits a store of some 10,000 instances, and the
// beginning of any other. It is safe for concurrent use if Scan and Now are.
type Lister struct {
	Scan Scan
	Now  func() provider.Time // the store's clock
}

// List implements provider.Lister.
func (l Lister) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	if err := ctx.Err(); err != nil {
		return res, err
	}
	if err := req.Validate(); err != nil {
		return res, err
	}
	after, err := readCursor(req.Cursor)
	if err != nil {
		return res, err
	}
	var found []provider.Instance
	err = l.Scan(ctx, func(i provider.Instance, replaced bool) bool {
		if (req.Cursor == "" || newestFirst(&after, &i) < 0) && Matches(&req.Filter, &i, replaced) {
			found = append(found, i)
		}
		return true
	})
	if err != nil {
		return res, err
	}
	slices.SortFunc(found, func(a, b provider.Instance) int { return newestFirst(&a, &b) })
	res.Now = l.Now()
	bytes := 0
	for n := range found {
		row := &found[n]
		req.Trim(row)
		bytes += row.ListBytes()
		if n == cmp.Or(req.Max, provider.MaxPage) || n > 0 && bytes > provider.MaxFetchBytes {
			last := &found[n-1]
			res.Cursor = fmt.Sprintf("%d/%s", last.CreatedAt, last.Key)
			return res, nil
		}
		res.Instances = append(res.Instances, *row)
	}
	return res, nil
}

// Count implements provider.Lister.
func (l Lister) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := ctx.Err(); err != nil {
		return res, err
	}
	if err := req.Validate(); err != nil {
		return res, err
	}
	res.Exact = true
	err = l.Scan(ctx, func(i provider.Instance, replaced bool) bool {
		switch {
		case !Matches(&req.Filter, &i, replaced):
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

// newestFirst compares two instances in the order of lists.
func newestFirst(a, b *provider.Instance) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), slices.Compare(b.Key[:], a.Key[:]))
}

// readCursor returns the last instance of the page before, as far as the order needs it.
func readCursor(cursor string) (last provider.Instance, err error) {
	if cursor == "" {
		return last, nil
	}
	created, key, _ := strings.Cut(cursor, "/")
	at, err := strconv.ParseInt(created, 10, 64)
	if err == nil {
		err = last.Key.UnmarshalText([]byte(key))
	}
	if err != nil {
		return last, fmt.Errorf("list: Cursor: %w: use ListResult.Cursor of the page before", provider.ErrInvalid)
	}
	last.CreatedAt = provider.Time(at)
	return last, nil
}
