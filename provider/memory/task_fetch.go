package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// FetchTasks implements provider.Provider.
func (ts *tasks) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (res provider.FetchTasksResult, err error) {
	type kind struct{ queue, name string }
	able := map[kind]bool{}
	for _, f := range req.Queues {
		for _, name := range f.Names {
			able[kind{f.Queue, name}] = true
		}
	}
	g := fetchLimits{tasks: ts, req: &req}
	err = ts.wait(ctx, req, req.Wait, func(now provider.Time) (bool, provider.Time, error) {
		g.open(now)
		var ready []*task
		var again provider.Time
		for _, t := range ts.byRef {
			if ts.instances.byKey[t.Key].row.Status == provider.StatusSuspended {
				continue
			}
			switch at := t.fetchableAt(able[kind{t.queue, t.name}], req.Expired, now); {
			case at == 0:
			case at <= now:
				ready = append(ready, t)
			default:
				again = sooner(again, at)
			}
		}
		slices.SortFunc(ready, byRank(now))
		res = provider.FetchTasksResult{Now: now}
		for _, t := range ready {
			if len(res.Tasks) == req.Max || !g.admits(t) {
				continue
			}
			rank := t.place(now)
			t.take(provider.TaskToken(req.Token, t.TaskRef), req.Owner, now, req.Lease)
			res.Tasks = append(res.Tasks, t.leased(ts.state(t.TaskRef), rank, now))
			ts.write()
		}
		res.Sessions = g.held()
		return len(res.Tasks) > 0, sooner(again, g.again), nil
	})
	return res, err
}
