package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Prunable is what a store finds when it scans ended instances.
type Prunable struct {
	Trees []Position // that may go, at most PruneRequest.Max
	Last  []Position // if fewer than PruneRequest.Max may go: the last one that was scanned; none: there are no others
}

// PruneList is what one call of Prune removes, and where the next one continues.
type PruneList struct {
	Keys   []provider.UUID
	Cursor string
}

// FindPrunable returns what one call of Prune removes. find scans some ended instances after a position, in the order of their ends.
func FindPrunable(req *provider.PruneRequest, find func(from Position, rows int) (Prunable, error)) (list PruneList, err error) {
	var from Position
	if req.Cursor != "" {
		if from.At, from.Key, err = ReadCursor(req.Cursor); err != nil {
			return list, fmt.Errorf("prune: Cursor: %w: %q was not made by Prune", provider.ErrInvalid, req.Cursor)
		}
	}
	found, err := find(from, scanRows)
	if err != nil {
		return list, err
	}
	for _, tree := range found.Trees {
		list.Keys = append(list.Keys, tree.Key)
	}
	switch n := len(found.Trees); {
	case n == req.Max:
		list.Cursor = WriteCursor(found.Trees[n-1].At, found.Trees[n-1].Key)
	case len(found.Last) > 0:
		list.Cursor = WriteCursor(found.Last[0].At, found.Last[0].Key)
	}
	return list, nil
}

// Preview returns what Prune returns with Look. size returns how many instances each tree has.
func (list *PruneList) Preview(size func(keys []provider.UUID) ([]int64, error)) (res provider.PruneResult, err error) {
	res.Cursor = list.Cursor
	sizes, err := size(list.Keys)
	if err != nil {
		return provider.PruneResult{}, err
	}
	for n, key := range list.Keys {
		res.Instances += sizes[n]
		res.Trees = append(res.Trees, provider.PrunableTree{Key: key, Instances: sizes[n]})
	}
	return res, nil
}
