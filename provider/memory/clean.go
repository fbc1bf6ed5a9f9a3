package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// A cleaner removes instances, and removes or redrives dead letters.
type cleaner struct {
	*store

	instances   *instances
	inboxes     *inboxes
	deadLetters *deadLetters
	tasks       *tasks
	turns       *turns
	asks        *asks
}

// Delete implements provider.Cleaner. Under the mutex no caller sees a marked instance.
func (cl *cleaner) Delete(ctx context.Context, req provider.DeleteRequest) (res provider.DeleteResult, err error) {
	err = cl.do(ctx, req, func(now provider.Time) error {
		i, err := cl.instances.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if !req.Force {
			if err := i.free(); err != nil {
				return err
			}
			if cl.instances.runs(i) {
				return provider.ErrRunning
			}
		}
		res.Instances = cl.erase(i, now)
		return nil
	})
	return res, err
}

// erase removes the instance and its descendants, and returns their number.
func (cl *cleaner) erase(i *instance, now provider.Time) int64 {
	var n int64 = 1
	for _, child := range slices.Clone(cl.instances.children[i.row.Key]) {
		n += cl.erase(child, now)
	}
	cl.remove(i)
	delete(cl.instances.children, i.row.Key)
	if !i.row.Status.Ended() && !i.row.Deleting {
		cl.turns.notifyListener(i, now)
	}
	cl.write()
	return n
}

// remove removes one instance with everything under its key.
func (cl *cleaner) remove(i *instance) {
	cl.turns.dropWork(i)
	key := i.row.Key
	cl.tasks.leaveSessions(key)
	delete(cl.instances.byKey, key)
	cl.asks.wakeAll(key)
	delete(cl.instances.live, key)
	if cl.instances.current[i.row.ID] == i {
		delete(cl.instances.current, i.row.ID)
	}
	if parent := i.row.Parent.Key; len(cl.instances.children[parent]) > 0 {
		cl.instances.children[parent] = slices.DeleteFunc(cl.instances.children[parent], func(c *instance) bool { return c == i })
	}
	cl.deadLetters.list = slices.DeleteFunc(cl.deadLetters.list, func(l *deadLetter) bool { return l.Key == key })
}

// Prune implements provider.Cleaner. Max counts trees, and the result counts instances. A tree with a running instance stays.
// Instances that ended at the same instant go in order of their keys, so that a store always does the same.
func (cl *cleaner) Prune(ctx context.Context, req provider.PruneRequest) (res provider.PruneResult, err error) {
	err = cl.do(ctx, req, func(now provider.Time) error {
		from, key, err := pruneCursor(req.Cursor)
		if err != nil {
			return err
		}
		var old []*instance
		for _, i := range cl.instances.byKey {
			if i.row.Status.Ended() && i.row.EndedAt.Add(req.Age) <= now && (req.Cursor == "" || byEnd(&i.row, from, key) > 0) {
				old = append(old, i)
			}
		}
		slices.SortFunc(old, func(a, b *instance) int { return byEnd(&a.row, b.row.EndedAt, b.row.Key) })
		trees := 0
		var found []*instance
		for n, i := range old {
			// It may be gone with its parent.
			if cl.instances.byKey[i.row.Key] == i && chosen(&req, &i.row) && !cl.instances.belongs(i) && !cl.instances.mustStay(i, req.Spare) {
				trees++
				if req.Look {
					found = append(found, i)
				} else {
					res.Instances += cl.erase(i, now)
				}
			}
			if n+1 < len(old) && (trees == cmp.Or(req.Max, provider.MaxBatch) || n+1 == provider.MinRows) {
				res.Cursor = fmt.Sprintf("%d/%s", i.row.EndedAt, i.row.Key)
				break
			}
		}
		res.Trees = cl.instances.trees(found)
		for _, t := range res.Trees {
			res.Instances += t.Instances
		}
		return nil
	})
	return res, err
}

// trees returns how many instances go with each of some.
func (all *instances) trees(roots []*instance) (trees []provider.PrunableTree) {
	var size func(i *instance) int64
	size = func(i *instance) int64 {
		n := int64(1)
		for _, child := range all.children[i.row.Key] {
			if !slices.Contains(roots, child) {
				n += size(child)
			}
		}
		return n
	}
	for _, i := range roots {
		trees = append(trees, provider.PrunableTree{Key: i.row.Key, Instances: size(i)})
	}
	return trees
}

// byEnd compares a row with a position in the order of ends.
func byEnd(row *provider.Instance, at provider.Time, key provider.UUID) int {
	return cmp.Or(cmp.Compare(row.EndedAt, at), slices.Compare(row.Key[:], key[:]))
}

func pruneCursor(s string) (at provider.Time, key provider.UUID, err error) {
	if s == "" {
		return 0, key, nil
	}
	if at, key, err = readCursor(s); err != nil {
		err = fmt.Errorf("prune: Cursor: %w: use PruneResult.Cursor of the previous call", provider.ErrInvalid)
	}
	return at, key, err
}

// chosen reports whether the request names the orchestration and the status of an instance.
func chosen(req *provider.PruneRequest, row *provider.Instance) bool {
	return (len(req.Names) == 0 || slices.Contains(req.Names, row.Name)) && !slices.Contains(req.ExceptNames, row.Name) &&
		(len(req.Statuses) == 0 || slices.Contains(req.Statuses, row.Status))
}

// DeadLetters implements provider.Redriver.
func (cl *cleaner) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	err = cl.do(ctx, req, func(now provider.Time) error {
		if req.Action == provider.DeadLettersList {
			for _, l := range cl.deadLetters.list {
				if l.ID > req.Cursor && (req.Key.IsZero() || l.Key == req.Key) && len(res.Letters) < cmp.Or(req.Max, provider.MaxPage) {
					dead := l.DeadLetter
					dead.Payload = slices.Clone(dead.Payload)
					res.Letters = append(res.Letters, dead)
				}
			}
			return nil
		}
		for _, id := range req.IDs {
			n := slices.IndexFunc(cl.deadLetters.list, func(l *deadLetter) bool { return l.ID == id })
			if n >= 0 && (req.Action == provider.DeadLettersDiscard || cl.redrive(cl.deadLetters.list[n], now)) {
				cl.deadLetters.list = slices.Delete(cl.deadLetters.list, n, n+1)
				res.Done++
				cl.write()
			}
		}
		return nil
	})
	return res, err
}

// redrive puts the item back and reports whether it could. The receiver, and the execution of a task, must still run.
func (cl *cleaner) redrive(l *deadLetter, now provider.Time) bool {
	i := cl.instances.live[l.Key]
	if i == nil {
		return false
	}
	if !l.Task {
		cl.inboxes.insert(i, provider.Message{
			ID: cl.next(), Kind: l.Kind, Execution: l.Execution, EventID: l.EventID, VisibleAt: now,
			Timer: l.timer && l.Execution == i.row.Execution, Payload: slices.Clone(l.Payload),
		}, now)
		return true
	}
	ref := provider.TaskRef{Key: l.Key, Execution: l.Execution, EventID: l.EventID}
	if i.row.Execution != l.Execution || cl.tasks.byRef[ref] != nil {
		return false
	}
	cl.tasks.add(i, &l.task, now)
	return true
}
