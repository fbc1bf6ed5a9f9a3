package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// callAtOnce runs many instances through their lives concurrently. None disturbs another.
func callAtOnce(t *trial) {
	t.parallel(8, func(n int) {
		name := func(r *provider.FetchTurnsRequest) { r.Capabilities[0].Name = fmt.Sprint("orc-", n) }
		i := t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) { r.Name = fmt.Sprint("orc-", n) })
		req := commitOf(t.fetchOne(name), "one")
		task := newTask(1)
		task.Queue = fmt.Sprint("q-", n)
		req.Tasks = []provider.NewTask{task}
		t.commit(req)
		taken := t.fetchTask(func(r *provider.FetchTasksRequest) { r.Queues[0].Queue = task.Queue })
		t.ok(t.renew(renewal(taken)).Err)
		t.ok(t.report(taken, provider.TaskComplete).Err)
		t.record(put(fmt.Sprint("k", n), "v", 0))
		u := t.fetchOne(name)
		t.checkf(u.payloads() == "result", "the inbox of %s has %q, want \"result\"", i.ID, u.payloads())
		t.commit(commitOf(u, "two"))
		t.historyIs(i.Key, 1, "1:one 2:two")
		t.steer(i.Key, provider.SteerTerminate)
		is(t, "instances removed with "+i.ID, t.remove(i.Key, false), 1)
	})
}
