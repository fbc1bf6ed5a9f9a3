package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Count returns how many instances match. It looks at all of them, which takes long among a million: CountUpTo is quick. With Filter.Retrying stores
// may stop at 5,000 activities, so that there may be more: CountUpTo says so.
func (c *Client) Count(ctx context.Context, f Filter) (int64, error) {
	const op = "counting instances"
	filter, err := f.stored()
	if err = cmp.Or(c.usable(ctx), err); err != nil {
		return 0, fmt.Errorf("%s: %w", op, err)
	}
	res, err := c.count(ctx, op, &f, filter, 0)
	return res.Count, err
}

// Counted is a number of instances.
type Counted struct {
	Count int64 `json:"count"`
	Exact bool  `json:"exact"` // false: there may be more
}

// String returns the number as people read it, such as "17", "250+" or "10k+".
func (n Counted) String() string {
	switch {
	case n.Exact:
		return fmt.Sprint(n.Count)
	case n.Count >= 1000 && n.Count%1000 == 0:
		return fmt.Sprintf("%dk+", n.Count/1000)
	default:
		return fmt.Sprintf("%d+", n.Count)
	}
}

// CountUpTo counts the instances that match, but no further than most, which is 1 or more. Exact reports that it has counted all
// of them. The stores of this module look at 20,000 rows, or at twice most if that is more, and first at those of the condition that matches the
// fewest. So a count is exact, or is most, unless each condition matches more rows than that and most rows fail another one: then it may be
// less than most, even zero. Other stores may stop after a thousand rows.
func (c *Client) CountUpTo(ctx context.Context, f Filter, most int64) (Counted, error) {
	const op = "counting instances"
	filter, err := f.stored()
	if err = cmp.Or(c.usable(ctx), err); err != nil {
		return Counted{}, fmt.Errorf("%s: %w", op, err)
	}
	if most < 1 {
		return Counted{}, fmt.Errorf("%s: %w: the most to count is %d: give 1 or more", op, ErrInvalid, most)
	}
	return c.count(ctx, op, &f, filter, most)
}

// count counts up to most, 0 for all. It counts the instances of perdure itself, which are few, apart.
func (c *Client) count(ctx context.Context, op string, f *Filter, filter provider.Filter, most int64) (Counted, error) {
	if err := c.store.Filters(&filter); err != nil {
		return Counted{}, access.Explain(op, 0, err)
	}
	own := provider.CountResult{Exact: true}
	if f.users() {
		req := provider.CountRequest{Filter: filter, Max: most}
		req.Filter.IDPrefix = reserved.IDPrefix
		var err error
		if own, err = access.Read(ctx, c.store.Store, op, c.store.Count, req); err != nil {
			return Counted{}, access.Explain(op, 0, err)
		}
	}
	req := provider.CountRequest{Filter: filter, Max: most}
	if most > 0 {
		req.Max += own.Count
	}
	res, err := access.Read(ctx, c.store.Store, op, c.store.Count, req)
	if err != nil {
		return Counted{}, access.Explain(op, 0, err)
	}
	n := Counted{Count: max(0, res.Count-own.Count), Exact: res.Exact && own.Exact}
	if most > 0 {
		n.Count = min(n.Count, most)
	}
	return n, nil
}
