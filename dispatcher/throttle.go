package dispatcher

import (
	"context"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// takeThrottled takes the tasks of throttled queues out of those fetched, and begins each when its moment has come.
func (d *Dispatcher) takeThrottled(
	fetching, working context.Context, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor,
) []provider.LeasedTask {
	if !d.pools.Throttles() {
		return tasks
	}
	free := tasks[:0]
	held := map[*flow.Throttle][]provider.LeasedTask{}
	for i := range tasks {
		t := d.pools.Throttle(tasks[i].Queue)
		if t == nil || tasks[i].State.Kind != provider.ExecutionRunning {
			free = append(free, tasks[i])
			continue
		}
		held[t] = append(held[t], tasks[i])
	}
	for t, list := range held {
		d.pools.Hold(t, list)
		d.manage.Expect(list)
		d.work.Add()
		go func() {
			defer d.work.Done()
			d.beginAtRate(fetching, working, t, list, token, read)
		}()
	}
	return free
}

// beginAtRate reserves moments for tasks and begins each at its own. Those whose moment is too far away are given back until then.
func (d *Dispatcher) beginAtRate(fetching, working context.Context, t *flow.Throttle, tasks []provider.LeasedTask, token provider.UUID, read manage.Anchor) {
	first, reserved, err := d.pools.Reserve(fetching, d.store, t, len(tasks), d.cfg.Lease/4)
	if err != nil && fetching.Err() == nil {
		d.store.Failed("reserve a rate", 1, err)
	}
	for i := range tasks {
		wait := time.Until(first.Add(time.Duration(i) * t.Interval()))
		if err == nil && i < reserved {
			storage.Pause(fetching, wait) // on shutdown it is given back at once
		}
		if d.manage.Arrived(&tasks[i]) {
			d.manage.LookAt(working, &tasks[i], token)
		}
		switch {
		case err != nil:
			d.giveTaskBack(working, &tasks[i], token, storage.Backoff(1))
		case i >= reserved:
			d.giveTaskBack(working, &tasks[i], token, max(wait, 0))
		default:
			d.beginTasks(working, tasks[i:i+1], token, read)
		}
		d.pools.Drop(&tasks[i])
	}
}

func (d *Dispatcher) giveTaskBack(working context.Context, task *provider.LeasedTask, token provider.UUID, delay time.Duration) {
	d.refuseTask(working, provider.TaskReport{
		TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Attempt: task.Attempt, Outcome: provider.TaskRelease, Delay: delay,
	})
}
