package dispatcher

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// QueueLimit bounds the activities of a queue on all nodes together.
type QueueLimit struct {
	PerSecond     float64 // begun in a second; 0: no limit
	MaxConcurrent int     // leased at the same time; 0: no limit
}

// throttle keeps what all nodes begin of a queue to a rate. They share one record: the moment at which the next activity may
// begin. A node first fetches a few, then reserves as many moments with one write, and begins each at its own. So an idle
// queue costs nothing, and what a node fetches in vain it gives back with the delay that the record tells.
// It is guarded by the mutex of pools.
type throttle struct {
	queue    string
	pace     pace // next: when this node may fetch again
	reserves bool // it is being asked for moments
}

// Where the records of rates are.
const rateSpace = "perdure.rate"

// lookAhead is how much earlier than an activity may begin it is fetched.
const lookAhead = burst

// maxPatience is the longest that an activity is held until its moment. It holds a slot that others may need, on every node.
const maxPatience = 2 * lookAhead

// furthest is how far ahead of now the record of the next moment can be; twice that, to be sure. One that is further ahead is of a clock that was set
// back since, or of a lower rate, and says nothing.
func (t *throttle) furthest() time.Duration { return 2 * (maxPatience + max(burst, t.pace.interval)) }

// room is how many activities may be fetched now; if none, again is when to look, zero if that will be told.
func (t *throttle) room(limit int, now time.Time) (room int, again time.Time) {
	switch {
	case t.reserves:
		return 0, time.Time{}
	case now.Before(t.pace.next):
		return 0, t.pace.next
	}
	return min(limit, t.pace.within(burst)), time.Time{}
}

// takeThrottled takes the tasks of throttled queues out of those fetched, and begins each when its moment has come.
func (d *Dispatcher) takeThrottled(fetching, working context.Context, tasks []provider.LeasedTask, token provider.UUID, read anchor) []provider.LeasedTask {
	if len(d.pools.throttles) == 0 {
		return tasks
	}
	free := tasks[:0]
	held := map[*throttle][]provider.LeasedTask{}
	for i := range tasks {
		t := d.pools.throttles[tasks[i].Queue]
		if t == nil || tasks[i].State.Kind != provider.ExecutionRunning {
			free = append(free, tasks[i])
			continue
		}
		held[t] = append(held[t], tasks[i])
	}
	for t, list := range held {
		d.pools.hold(t, list)
		d.manage.expect(list)
		d.work.Add()
		go func() {
			defer d.work.Done()
			d.beginAtRate(fetching, working, t, list, token, read)
		}()
	}
	return free
}

// beginAtRate reserves moments for tasks and begins each at its own. Those whose moment is too far away are given back until then.
func (d *Dispatcher) beginAtRate(fetching, working context.Context, t *throttle, tasks []provider.LeasedTask, token provider.UUID, read anchor) {
	first, reserved, err := d.reserve(fetching, t, len(tasks))
	if err != nil && fetching.Err() == nil {
		d.store.Failed("reserve a rate", 1, err)
	}
	for i := range tasks {
		wait := time.Until(first.Add(time.Duration(i) * t.pace.interval))
		if err == nil && i < reserved {
			storage.Pause(fetching, wait) // on shutdown it is given back at once
		}
		if d.manage.arrived(&tasks[i]) {
			d.lookAt(working, &tasks[i], token)
		}
		switch {
		case err != nil:
			d.giveTaskBack(working, &tasks[i], token, storage.Backoff(1))
		case i >= reserved:
			d.giveTaskBack(working, &tasks[i], token, max(wait, 0))
		default:
			d.beginTasks(working, tasks[i:i+1], token, read)
		}
		d.pools.drop(&tasks[i])
	}
}

func (d *Dispatcher) giveTaskBack(working context.Context, task *provider.LeasedTask, token provider.UUID, delay time.Duration) {
	d.refuseTask(working, provider.TaskReport{
		TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef), Attempt: task.Attempt, Outcome: provider.TaskRelease, Delay: delay,
	})
}

// reserve takes up to n moments of the queue, those that are near, and answers the first by this node's clock.
func (d *Dispatcher) reserve(fetching context.Context, t *throttle, n int) (first time.Time, reserved int, err error) {
	ctx, cancel := context.WithTimeout(fetching, storage.CallTimeout)
	defer cancel()
	next := time.Now().Add(storage.Backoff(1)) // should the storage not answer
	defer func() { d.pools.reserved(t, next) }()
	patience := min(maxPatience, d.cfg.Lease/4)
	for {
		get := provider.RecordRequest{Action: provider.RecordGet, Namespace: rateSpace, Key: t.queue}
		res, err := d.store.Record(ctx, get)
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return first, 0, fmt.Errorf("rate of queue %q: %w", t.queue, err)
		}
		answered, at, put := time.Now(), res.Now, get
		if len(res.Records) > 0 {
			put.Expect = res.Records[0].Version
			if next := stored(res.Records[0].Value); next <= res.Now.Add(t.furthest()) {
				at = max(at, next)
			}
		}
		first, next = answered.Add(at.Sub(res.Now)), answered.Add(at.Sub(res.Now)-lookAhead)
		near := patience - at.Sub(res.Now)
		if near < 0 {
			return first, 0, nil
		}
		reserved = min(n, int(near/t.pace.interval)+1)
		after := at.Add(time.Duration(reserved) * t.pace.interval)
		put.Action, put.Value = provider.RecordPut, binary.BigEndian.AppendUint64(nil, uint64(after))
		switch _, err := d.store.Record(ctx, put); {
		case err == nil:
			next = answered.Add(after.Sub(res.Now) - lookAhead)
			return first, reserved, nil
		case !errors.Is(err, provider.ErrConflict): // it may be stored all the same: some moments pass unused
			return first, 0, fmt.Errorf("rate of queue %q: %w", t.queue, err)
		}
	}
}

// stored reads a record of a rate.
func stored(value []byte) provider.Time {
	if len(value) != 8 {
		return 0
	}
	return provider.Time(binary.BigEndian.Uint64(value))
}

// expect has the manager listen for tasks that wait for their moment: nobody else would hear before that they are cancelled.
func (m *manager) expect(tasks []provider.LeasedTask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range tasks {
		m.coming[tasks[i].TaskRef] = nil
	}
}

// arrived ends that, and notes at a task what was heard of it. It reports whether the storage has to be asked.
func (m *manager) arrived(task *provider.LeasedTask) (doubtful bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch cause := m.coming[task.TaskRef]; {
	case errors.Is(cause, errCancelled):
		task.CancelRequested = true
	case errors.Is(cause, errOrchestrationEnded):
		task.State.Kind = provider.ExecutionTerminal
	}
	doubtful = errors.Is(m.coming[task.TaskRef], errDoubt)
	delete(m.coming, task.TaskRef)
	return doubtful
}
