package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Counters implements provider.Counter.
func (s *store) Counters() provider.Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Stats implements provider.Meter. It counts instances as List does, without the replaced ones.
func (rd *reader) Stats(ctx context.Context, req provider.StatsRequest) (res provider.StatsResult, err error) {
	err = rd.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		res.Instances = map[provider.Status]int64{}
		res.DeadLetters = int64(len(rd.deadLetters.list))
		running := map[provider.RunningInstances]*provider.RunningInstances{}
		turns := map[provider.WaitingTurns]*provider.WaitingTurns{}
		for _, i := range rd.instances.matching(&provider.Filter{}) {
			res.Instances[i.row.Status]++
			if !i.row.Status.Ended() {
				r := entry(running, provider.RunningInstances{Capability: provider.Capability{Name: i.row.Name, CodeVersion: i.row.CodeVersion}})
				r.Count, r.Oldest = r.Count+1, sooner(r.Oldest, i.row.CreatedAt)
			}
			if i.row.Blocked != nil {
				res.Blocked++
			}
			if i.leaseUntil > now {
				res.TurnLeases++
			} else if at := i.fetchableAt(i.owner, now); at != 0 && at <= now {
				kind := provider.WaitingTurns{EngineLevel: i.row.EngineLevel}
				kind.Name, kind.CodeVersion = i.row.Name, i.row.CodeVersion
				w := entry(turns, kind)
				w.Count, w.Oldest = w.Count+1, sooner(w.Oldest, i.readyAt())
			}
		}
		tasks := map[provider.WaitingTasks]*provider.WaitingTasks{}
		for _, t := range rd.tasks.byRef {
			if t.leaseUntil > now {
				res.TaskLeases++
			} else if t.fetchableAt(true, false, now) != 0 && t.notBefore <= now && rd.instances.byKey[t.Key].row.Status == provider.StatusRunning {
				w := entry(tasks, provider.WaitingTasks{Queue: t.queue, Name: t.name})
				w.Count, w.Oldest = w.Count+1, sooner(w.Oldest, t.notBefore)
				if t.session != "" {
					w.InSession++
				}
			}
		}
		res.Turns = sorted(turns, func(a, b provider.WaitingTurns) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.CodeVersion, b.CodeVersion), cmp.Compare(a.EngineLevel, b.EngineLevel))
		})
		res.Running = sorted(running, func(a, b provider.RunningInstances) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.CodeVersion, b.CodeVersion))
		})
		for n := range res.Running {
			res.Running[n].Limit(req.Most)
		}
		res.Tasks = sorted(tasks, func(a, b provider.WaitingTasks) int {
			return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name))
		})
		return nil
	})
	return res, err
}

// entry returns the figures of a kind of work and creates them if necessary.
func entry[T comparable](all map[T]*T, kind T) *T {
	if all[kind] == nil {
		figures := kind
		all[kind] = &figures
	}
	return all[kind]
}

func sorted[T comparable](all map[T]*T, compare func(a, b T) int) []T {
	list := make([]T, 0, len(all))
	for _, t := range all {
		list = append(list, *t)
	}
	slices.SortFunc(list, compare)
	return list
}
