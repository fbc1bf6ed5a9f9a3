package cancellation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// queued is an instance that waits for an activity. The test takes its task itself through the worker's store.
type queued struct {
	*rig

	id    string
	key   provider.UUID
	token provider.UUID // of the last fetch
}

const queuedName = "taken by the test"

// runsQueued starts the nodes with an orchestration that calls an activity and then follows its events.
func (r *rig) runsQueued() {
	r.T.Helper()
	r.listen("another activity", nil) // a node does not start without an activity
	enginetest.Orchestration(r.T, r.orchestrations, "main", func(ctx *octx, _ none) (string, error) {
		begin(ctx, queuedName, "")
		for {
			what, err := orchestration.Events[string](ctx, "do").Receive(ctx)
			switch {
			case err != nil:
				return "", err
			case what == "complete":
				return "done", nil
			case what == "fail":
				return "", errors.New("as told")
			case what == "continue":
				return "", orchestration.ContinueAsNew(ctx, none{})
			}
		}
	})
	r.start()
}

// newQueued starts an instance and waits for its task.
func newQueued(r *rig, id string) *queued {
	r.T.Helper()
	q := &queued{rig: r, id: id}
	q.key = q.again()
	return q
}

// fetch fetches tasks until it has the task of the given instance. A store on another node may learn late of a kind of
// tasks.
func (q *queued) fetch(key provider.UUID) (tasks []provider.LeasedTask) {
	q.T.Helper()
	q.Until("the task is fetched", func() bool {
		tasks = append(tasks, q.fetchOnce()...)
		return slices.ContainsFunc(tasks, func(task provider.LeasedTask) bool { return task.Key == key })
	})
	return tasks
}

func (q *queued) fetchOnce() []provider.LeasedTask {
	q.T.Helper()
	q.token = enginetest.NewID()
	res, err := q.near.FetchTasks(q.T.Context(), provider.FetchTasksRequest{
		Owner: "test", Token: q.token, Lease: q.lease(), Max: 10,
		Queues: []provider.QueueFilter{{Queue: orchestration.DefaultQueue, Names: []string{queuedName}}},
	})
	if err != nil {
		q.T.Fatal(err)
	}
	return res.Tasks
}

// renew renews the lease of the task that the given execution scheduled.
func (q *queued) renew(execution int64) provider.TaskRenewalResult {
	q.T.Helper()
	ref := provider.TaskRef{Key: q.key, Execution: execution, EventID: 2}
	res, err := q.near.RenewTasks(q.T.Context(), provider.RenewTasksRequest{Lease: q.lease(), Items: []provider.TaskRenewal{
		{TaskRef: ref, Token: provider.TaskToken(q.token, ref)},
	}})
	if err != nil {
		q.T.Fatal(err)
	}
	return res.Items[0]
}

func (q *queued) command(what string) {
	q.T.Helper()
	q.Raise(q.key, "do", what)
	if what == "continue" {
		q.Until("the next execution runs", func() bool { i := q.Get(q.key); return i.Execution == 2 && i.HistoryLength > 1 })
		return
	}
	q.WaitEnded(q.key)
}

func (q *queued) deleted() {
	q.T.Helper()
	if _, err := q.Store.Delete(q.T.Context(), provider.DeleteRequest{Key: q.key, Force: true}); err != nil {
		q.T.Fatal(err)
	}
}

// fetched returns the only task and fails if it is not to be run.
func (q *queued) fetched() provider.LeasedTask {
	q.T.Helper()
	tasks := q.fetch(q.key)
	if len(tasks) != 1 || tasks[0].State.Kind != provider.ExecutionRunning || tasks[0].CancelRequested {
		q.T.Fatalf("fetched %+v, want one task of a running execution", tasks)
	}
	return tasks[0]
}

// again starts an instance, from the second time on under the ID of the deleted one.
func (q *queued) again() provider.UUID {
	q.T.Helper()
	key := q.Create(q.id, "main", none{})
	q.Until("the task is queued", func() bool { return len(q.Tasks(key)) == 1 })
	return key
}

// gone wants the task of the first execution to be withheld from workers, and its state to be the given one. The design
// lets a worker fetch this task together with a state that forbids to run it. Here the commit that ends the execution
// removes the task, so that no worker sees it. A second task, queued later under the same name, proves that the fetch
// works.
func (q *queued) gone(kind provider.ExecutionStateKind, status provider.Status) {
	q.T.Helper()
	other := q.Create("other than "+q.id, "main", none{})
	q.Until("the task of the other instance is queued", func() bool { return len(q.Tasks(other)) == 1 })
	for _, task := range q.fetch(other) {
		switch {
		case task.Key == q.key && task.Execution == 1:
			q.T.Errorf("fetched %+v", task)
		case task.State.Kind != provider.ExecutionRunning || task.CancelRequested:
			q.T.Errorf("fetched %+v, want the task of a running execution", task)
		}
	}
	q.wants(q.renew(1), kind, status)
	q.Raise(other, "do", "complete")
	q.WaitEnded(other)
}

// wants compares a renewal with the one that the design demands.
func (q *queued) wants(got provider.TaskRenewalResult, kind provider.ExecutionStateKind, status provider.Status) {
	q.T.Helper()
	if got.Err != nil || got.State.Kind != kind || got.State.Status != status {
		q.T.Errorf("the renewal returned %+v, want state %v of status %v", got, kind, status)
	}
	if extended := got.LeaseUntil > 0; extended != (kind == provider.ExecutionRunning) {
		q.T.Errorf("the lease is extended: %v, in state %v", extended, kind)
	}
}

// clear lets the instance end if it still runs. Otherwise the test would leave a lease behind.
func (q *queued) clear() {
	q.T.Helper()
	res, err := q.Store.Get(q.T.Context(), provider.GetRequest{Key: q.key})
	if err == nil && !res.Instance.Status.Ended() {
		q.command("complete")
	}
}

// stores opens the three stores, each with the provider that the worker uses.
func stores() map[string]func(t *testing.T) (*engine, provider.Provider) {
	alone := func(open func(testing.TB, runtime.Options) *engine) func(t *testing.T) (*engine, provider.Provider) {
		return func(t *testing.T) (*engine, provider.Provider) {
			t.Helper()
			e := open(t, runtime.Options{})
			return e, e.Store
		}
	}
	return map[string]func(t *testing.T) (*engine, provider.Provider){
		"memory": alone(enginetest.Memory), "sqlite": alone(enginetest.SQLite),
		"postgres": func(t *testing.T) (*engine, provider.Provider) { t.Helper(); return onPostgres(t, runtime.Options{}) },
	}
}

// Fetches and renewals report the state of the execution that waits for the result.
func TestActivity_StateOfTheExecution(t *testing.T) {
	t.Parallel()
	running := func(q *queued) { q.fetched() }
	renewsWhenRunning := func(q *queued) {
		task := q.fetched()
		q.pause(10 * time.Millisecond)
		got := q.renew(1)
		q.wants(got, provider.ExecutionRunning, 0)
		if got.LeaseUntil <= task.LeaseUntil {
			q.T.Errorf("leased until %v, then until %v", task.LeaseUntil, got.LeaseUntil)
		}
	}
	terminal := func(status provider.Status) func(q *queued) {
		return func(q *queued) { q.wants(q.renew(1), provider.ExecutionTerminal, status) }
	}
	missing := func(q *queued) { q.wants(q.renew(1), provider.ExecutionMissing, 0) }
	tests := map[string]func(q *queued){
		"fetch_returns_running_state_for_active_orchestration": running,
		"fetch_returns_terminal_state_when_orchestration_completed": func(q *queued) {
			q.command("complete")
			q.gone(provider.ExecutionTerminal, provider.StatusCompleted)
		},
		"fetch_returns_terminal_state_when_orchestration_failed": func(q *queued) {
			q.command("fail")
			q.gone(provider.ExecutionTerminal, provider.StatusFailed)
		},
		"fetch_returns_missing_state_when_instance_deleted": func(q *queued) {
			q.deleted()
			q.gone(provider.ExecutionMissing, 0)
		},
		// No call deletes an execution and keeps its instance. The nearest case is an instance that was started again
		// under the ID of a deleted one. The instance exists, but the execution of the task does not.
		"fetch_returns_missing_state_when_execution_deleted": func(q *queued) {
			q.deleted()
			key := q.again()
			q.gone(provider.ExecutionMissing, 0)
			q.key = key
		},
		"fetch_withholds_the_task_of_a_replaced_execution": func(q *queued) {
			q.command("continue")
			q.gone(provider.ExecutionTerminal, provider.StatusContinuedAsNew)
		},
		"renew_returns_running_when_orchestration_active": renewsWhenRunning,
		"renew_succeeds_when_orchestration_running":       renewsWhenRunning,
		"renew_returns_terminal_when_orchestration_completed": func(q *queued) {
			q.fetched()
			q.command("complete")
			terminal(provider.StatusCompleted)(q)
		},
		"renew_returns_terminal_when_orchestration_failed": func(q *queued) {
			q.fetched()
			q.command("fail")
			terminal(provider.StatusFailed)(q)
		},
		"renew_returns_terminal_when_execution_replaced": func(q *queued) {
			q.fetched()
			q.command("continue")
			terminal(provider.StatusContinuedAsNew)(q)
		},
		"renew_returns_missing_when_instance_deleted": func(q *queued) {
			q.fetched()
			q.deleted()
			missing(q)
		},
		"renew_returns_missing_when_execution_deleted": func(q *queued) {
			q.fetched()
			q.deleted()
			key := q.again()
			missing(q)
			q.key = key
		},
	}
	for name, w := range map[string]way{"same node": same, "another node": notice, "renewal alone": deaf} {
		for store, open := range stores() {
			t.Run(store+"/"+name, func(t *testing.T) {
				t.Parallel()
				e, near := open(t)
				r := newRig(e, w, near)
				r.runsQueued()
				for name, test := range tests {
					t.Run(name, func(t *testing.T) {
						all := e.T
						e.T = t
						defer func() { e.T = all }()
						q := newQueued(r, name)
						test(q)
						q.clear()
					})
				}
			})
		}
	}
}
