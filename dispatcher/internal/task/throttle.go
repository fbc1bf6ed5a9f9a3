package task

import (
	"context"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// takeThrottled returns the tasks of unthrottled queues. It begins each of the others when its moment has come.
func (f *taskFetcher) takeThrottled(
	fetching, working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor,
) []provider.LeasedTask {
	if !f.worker.pools.Throttles() {
		return tasks
	}
	free := tasks[:0]
	held := map[*flow.Throttle][]provider.LeasedTask{}
	for i := range tasks {
		t := f.worker.pools.Throttle(tasks[i].Queue)
		if t == nil || tasks[i].State.Kind != provider.ExecutionRunning {
			free = append(free, tasks[i])
			continue
		}
		held[t] = append(held[t], tasks[i])
	}
	for t, list := range held {
		f.worker.pools.Hold(t, list)
		f.Manage.Expect(list)
		f.Work.Add()
		go func() {
			defer f.Work.Done()
			f.beginAtRate(fetching, working, t, list, token, read)
		}()
	}
	return free
}

// beginAtRate reserves moments for tasks and begins each at its own. It releases tasks whose moment is too far away, with that delay.
func (f *taskFetcher) beginAtRate(fetching, working context.Context, t *flow.Throttle, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	first, reserved, err := f.worker.pools.Reserve(fetching, f.Store, t, len(tasks), f.Config.Lease/4)
	if err != nil && fetching.Err() == nil {
		f.Store.Failed("reserve a rate", 1, err)
	}
	for i := range tasks {
		wait := time.Until(first.Add(time.Duration(i) * t.Interval()))
		if err == nil && i < reserved {
			storage.Pause(fetching, wait) // ends at once on shutdown
		}
		if f.Manage.Arrived(&tasks[i]) {
			f.Manage.LookAt(working, &tasks[i], token)
		}
		switch {
		case err != nil:
			f.releaseLater(working, &tasks[i], token, storage.Backoff(1))
		case i >= reserved:
			f.releaseLater(working, &tasks[i], token, max(wait, 0))
		default:
			f.begin(working, tasks[i:i+1], token, read)
		}
		f.worker.pools.Drop(&tasks[i])
	}
}

func (f *taskFetcher) releaseLater(working context.Context, task *provider.LeasedTask, token provider.UUID, delay time.Duration) {
	f.worker.refuse(working, provider.TaskReport{
		TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Attempt: task.Attempt, Outcome: provider.TaskRelease, Delay: delay,
	})
}
