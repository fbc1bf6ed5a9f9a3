package cancellation

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// queued is an instance that waits for an activity, which the test itself takes as a worker would.
type queued struct {
	*rig

	key   provider.UUID
	token provider.UUID
}

// newQueued starts an orchestration that calls an activity and then does what it is told.
func newQueued(r *rig) *queued {
	r.T.Helper()
	key := r.main(func(ctx *octx, _ none) (string, error) {
		begin(ctx, "taken by the test", "")
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
	q := &queued{rig: r, key: key, token: enginetest.NewID()}
	r.Until("the task is queued", func() bool { return len(r.Tasks(key)) == 1 })
	return q
}

// fetch takes what there is to take.
func (q *queued) fetch() []provider.LeasedTask {
	q.T.Helper()
	res, err := q.Store.FetchTasks(q.T.Context(), provider.FetchTasksRequest{
		Owner: "test", Token: q.token, Lease: q.lease(), Max: 10,
		Queues: []provider.QueueFilter{{Queue: orchestration.DefaultQueue, Names: []string{"taken by the test"}}},
	})
	if err != nil {
		q.T.Fatal(err)
	}
	return res.Tasks
}

// renew renews the lease of the task, which the execution of the given number scheduled.
func (q *queued) renew(execution int64) provider.TaskRenewalResult {
	q.T.Helper()
	ref := provider.TaskRef{Key: q.key, Execution: execution, EventID: 2}
	res, err := q.Store.RenewTasks(q.T.Context(), provider.RenewTasksRequest{Lease: q.lease(), Items: []provider.TaskRenewal{
		{TaskRef: ref, Token: provider.TaskToken(q.token, ref)},
	}})
	if err != nil {
		q.T.Fatal(err)
	}
	return res.Items[0]
}

func (q *queued) told(what string) {
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

// fetched takes the only task and wants it to be for work.
func (q *queued) fetched() provider.LeasedTask {
	q.T.Helper()
	tasks := q.fetch()
	if len(tasks) != 1 || tasks[0].State.Kind != provider.ExecutionRunning || tasks[0].CancelRequested {
		q.T.Fatalf("fetched %+v, want one task of a running execution", tasks)
	}
	return tasks[0]
}

// fetchesNothing: the document lets a task of an ended execution be fetched with the state that forbids to run it. Here
// the commit that ends the execution removes it, so that no worker ever sees it.
func (q *queued) fetchesNothing() {
	q.T.Helper()
	for _, task := range q.fetch() {
		if task.Execution == 1 {
			q.T.Errorf("fetched %+v", task)
		}
	}
}

// wants compares a renewal with what the document asks for.
func (q *queued) wants(got provider.TaskRenewalResult, kind provider.ExecutionStateKind, status provider.Status) {
	q.T.Helper()
	if got.Err != nil || got.State.Kind != kind || got.State.Status != status {
		q.T.Errorf("renewal answers %+v, want state %v of status %v", got, kind, status)
	}
	if extended := got.LeaseUntil > 0; extended != (kind == provider.ExecutionRunning) {
		q.T.Errorf("the lease is extended: %v, in state %v", extended, kind)
	}
}

// clear lets the instance end if it still runs: the test would leave a lease behind.
func (q *queued) clear() {
	q.T.Helper()
	res, err := q.Store.Get(q.T.Context(), provider.GetRequest{Key: q.key})
	if err == nil && !res.Instance.Status.Ended() {
		q.told("complete")
	}
}

// stores opens the three stores.
func stores() map[string]func(t *testing.T) *engine {
	return map[string]func(t *testing.T) *engine{
		"memory": func(t *testing.T) *engine { t.Helper(); return enginetest.Memory(t, runtime.Options{}) },
		"sqlite": func(t *testing.T) *engine { t.Helper(); return enginetest.SQLite(t, runtime.Options{}) },
		"postgres": func(t *testing.T) *engine {
			t.Helper()
			e, _ := onPostgres(t, runtime.Options{})
			return e
		},
	}
}

// What fetching and renewing tell of the execution that wants the result.
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
	fetchAfter := func(do func(q *queued)) func(q *queued) {
		return func(q *queued) { do(q); q.fetchesNothing() }
	}
	for name, test := range map[string]func(q *queued){
		"fetch_returns_running_state_for_active_orchestration":      running,
		"fetch_returns_terminal_state_when_orchestration_completed": fetchAfter(func(q *queued) { q.told("complete") }),
		"fetch_returns_terminal_state_when_orchestration_failed":    fetchAfter(func(q *queued) { q.told("fail") }),
		"fetch_returns_missing_state_when_instance_deleted":         fetchAfter((*queued).deleted),
		// Executions are not deleted alone; what comes nearest is one that was replaced.
		"fetch_returns_missing_state_when_execution_deleted": fetchAfter(func(q *queued) { q.told("continue") }),
		"renew_returns_running_when_orchestration_active":    renewsWhenRunning,
		"renew_succeeds_when_orchestration_running":          renewsWhenRunning,
		"renew_returns_terminal_when_orchestration_completed": func(q *queued) {
			q.fetched()
			q.told("complete")
			q.wants(q.renew(1), provider.ExecutionTerminal, provider.StatusCompleted)
		},
		"renew_returns_terminal_when_orchestration_failed": func(q *queued) {
			q.fetched()
			q.told("fail")
			q.wants(q.renew(1), provider.ExecutionTerminal, provider.StatusFailed)
		},
		"renew_returns_missing_when_instance_deleted": func(q *queued) {
			q.fetched()
			q.deleted()
			q.wants(q.renew(1), provider.ExecutionMissing, 0)
		},
		"renew_returns_missing_when_execution_deleted": func(q *queued) {
			q.fetched()
			q.wants(q.renew(7), provider.ExecutionMissing, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for store, open := range stores() {
				t.Run(store, func(t *testing.T) {
					t.Parallel()
					e := open(t)
					q := newQueued(newRig(e, same, e.Store))
					test(q)
					q.clear()
				})
			}
		})
	}
}
