package kit

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Pruner implements the Prune of [provider.Cleaner] by a scan. Each call reads all instances and keeps their fields in memory, so it
// fits a store of some 10,000 instances. It is safe for concurrent use if its functions are.
type Pruner struct {
	Instances Scan[InstanceRow]

	// Remove removes an instance and all below it in one transaction, as Delete without Force does, and returns how many. It
	// returns [provider.ErrConflict] if the instance has another Version: it was reset after the scan. Prune goes on after that,
	// [provider.ErrRunning] and [provider.ErrNotFound].
	Remove func(ctx context.Context, key, version provider.UUID) (instances int64, err error)
	Now    func() provider.Time // the store's clock
}

// Prune implements provider.Cleaner. It leaves alone what is being deleted. After an error, the trees that the result counts are gone.
func (p Pruner) Prune(ctx context.Context, req provider.PruneRequest) (res provider.PruneResult, err error) {
	if err := admit(ctx, req); err != nil {
		return res, err
	}
	after, continues, err := readCursor("prune", req.Cursor)
	if err != nil {
		return res, err
	}
	f, err := readForest(ctx, p.Instances)
	if err != nil {
		return res, err
	}
	now := p.Now()
	var old []place
	for key := range f {
		i := f[key]
		end := place{key: key, a: int64(i.EndedAt)}
		if i.Status.Ended() && i.EndedAt.Add(req.Age) <= now && (!continues || end.byTime(after) > 0) {
			old = append(old, end)
		}
	}
	slices.SortFunc(old, place.byTime)
	stays, gone := f.stays(req.Spare), map[provider.UUID]bool{}
	for n, end := range old {
		i := f[end.key]
		if stays[i.Key] || !chosen(&req, &i) || f.belongs(&i) {
			continue
		}
		if req.Look {
			gone[i.Key] = true
			res.Trees = append(res.Trees, provider.PrunableTree{Key: i.Key})
		} else if _, went := f.above(i.Key, gone); !went {
			removed, err := p.Remove(ctx, i.Key, i.Version)
			if changedSince(err) {
				continue
			}
			if err != nil {
				return res, err
			}
			gone[i.Key] = true
			res.Instances += removed
		}
		if len(gone) == cmp.Or(req.Max, provider.MaxBatch) && n+1 < len(old) {
			res.Cursor = end.cursor()
			break
		}
	}
	f.size(&res, gone)
	return res, nil
}

// changedSince reports whether an error of a removal means that the instance is no longer as it was scanned.
func changedSince(err error) bool {
	return errors.Is(err, provider.ErrConflict) || errors.Is(err, provider.ErrRunning) || errors.Is(err, provider.ErrNotFound)
}

// chosen reports whether the lists of a request choose an instance.
func chosen(req *provider.PruneRequest, i *provider.Instance) bool {
	return anyOf(req.Names, i.Name) && !slices.Contains(req.ExceptNames, i.Name) && anyOf(req.Statuses, i.Status)
}

// A forest has all instances by key, without their payloads. It walks up only and notes where it was, so that a loop of parents in a
// damaged store does no harm.
type forest map[provider.UUID]provider.Instance

func readForest(ctx context.Context, scan Scan[InstanceRow]) (forest, error) {
	f := forest{}
	return f, scan(ctx, func(i InstanceRow) bool {
		i.CustomStatus, i.Result, i.Attributes, i.Blocked = nil, nil, nil, nil
		f[i.Key] = i.Instance
		return true
	})
}

// stays returns what no prune removes: what runs, is being deleted or is in spare, and all above it.
func (f forest) stays(spare []provider.UUID) map[provider.UUID]bool {
	stays, spared := map[provider.UUID]bool{}, map[provider.UUID]bool{}
	for _, key := range spare {
		spared[key] = true
	}
	for key := range f {
		if i := f[key]; i.Status.Ended() && !i.Deleting && !spared[key] {
			continue
		}
		for at, there := f[key]; there && !stays[at.Key]; at, there = f[at.Parent.Key] {
			stays[at.Key] = true
		}
	}
	return stays
}

// belongs reports whether an instance goes with its parent only: the parent is there, in the execution that started it.
func (f forest) belongs(i *provider.Instance) bool {
	parent, there := f[i.Parent.Key]
	return there && parent.Execution <= i.Parent.Execution
}

// above returns the first of some roots on the way up from an instance, itself included.
func (f forest) above(key provider.UUID, roots map[provider.UUID]bool) (root provider.UUID, found bool) {
	at, there := f[key]
	for n := 0; there && n < len(f); n++ {
		if roots[at.Key] {
			return at.Key, true
		}
		at, there = f[at.Parent.Key]
	}
	return root, false
}

// size counts the instances of the trees that a call with Look has found.
func (f forest) size(res *provider.PruneResult, roots map[provider.UUID]bool) {
	if len(res.Trees) == 0 {
		return
	}
	sizes := map[provider.UUID]int64{}
	for key := range f {
		if root, found := f.above(key, roots); found {
			sizes[root]++
			res.Instances++
		}
	}
	for n := range res.Trees {
		res.Trees[n].Instances = sizes[res.Trees[n].Key]
	}
}
