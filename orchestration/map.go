package orchestration

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
)

// Map calls fn for each item, in at most limit coroutines, and returns the results in the order of the items. limit is 1 or more, else
// the error is ErrInvalid. Items begin in their order. fn must not change items.
//
// The first error cancels the others, as in a [Group], and no further item begins. Map returns when all calls of fn have returned, with
// that error and the results of those that succeeded; the others are zero. If ctx ends before all items have begun, the error is that
// of ctx. Map cancels what the calls began and left open.
func Map[Item, Result any](ctx *Context, items []Item, limit int, fn func(*Context, Item) (Result, error)) ([]Result, error) {
	mustFunc(fn == nil, "Map")
	ctx.engine()
	if limit < 1 {
		return nil, newError(failure.ErrInvalid, "map: limit is %d: give 1 or more", limit)
	}
	g := NewGroup(ctx)
	results := make([]Result, len(items))
	next := 0
	for range min(limit, len(items)) {
		g.start(func(s *replay.Scope) error {
			for next < len(items) {
				i := next
				next++
				err := s.Err()
				if err == nil {
					var result Result
					if result, err = fn(ctx.in(s), items[i]); err == nil {
						results[i] = result
					}
				}
				if err != nil {
					g.failed(s, i, err)
					return err
				}
			}
			return nil
		})
	}
	return results, g.Wait()
}
