package pending

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/tasktoken"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// approvers is the number of approvals that each orchestration of the tests below requests at once.
const approvers = 3

// origins are the ways in which a task reaches the node that makes its completion token.
var origins = map[string]struct {
	options []orchestration.ActivityOption
	take    func(e *enginetest.Engine, keys []provider.UUID) // runs before the node runs activities
}{
	"handed off":  {},
	"fetched":     {options: []orchestration.ActivityOption{orchestration.WithPriority(2)}},
	"redelivered": {take: loseTasks},
}

// loseTasks starts a node without activities, and leases the tasks of its turns to a lost node.
func loseTasks(e *enginetest.Engine, keys []provider.UUID) {
	reg := runtime.NewRegistry()
	askAll(e.T, reg)
	rt := e.Start(reg)
	defer e.Stop(rt)
	for _, key := range keys {
		e.Until("the tasks are stored", func() bool { return len(e.Tasks(key)) == approvers })
	}
	res, err := e.Store.FetchTasks(e.T.Context(), provider.FetchTasksRequest{
		Owner: "lost", Token: enginetest.NewID(), Lease: 10 * time.Millisecond, Max: 100,
		Queues: []provider.QueueFilter{{Queue: "default", Names: []string{"approve"}}},
	})
	if err != nil || len(res.Tasks) != approvers*len(keys) {
		e.T.Errorf("the lost node leased %d tasks: %v", len(res.Tasks), err)
	}
}

// askAll adds the orchestration "all", which waits for several approvals at once.
func askAll(t testing.TB, reg *runtime.Registry, opts ...orchestration.ActivityOption) {
	t.Helper()
	enginetest.Orchestration(t, reg, "all", func(ctx *orchestration.Context, n int) (int, error) {
		var list []orchestration.Future[string]
		for range approvers {
			list = append(list, orchestration.StartActivityNamed[string](ctx, "approve", n, opts...))
		}
		for _, f := range list {
			if _, err := f.Get(ctx); err != nil {
				return 0, err
			}
		}
		return approvers, nil
	})
}

// The token of one approver gives no right to other tasks, whether of the same instance or of another one. A token with
// any changed field ends nothing.
func TestTokenGivesNoRightToOtherTasks(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, origin := range origins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, runtime.Options{}, func(e *enginetest.Engine, mode error) {
				keys := []provider.UUID{e.Create("one", "all", 1), e.Create("two", "all", 1)}
				if origin.take != nil {
					origin.take(e, keys)
				}
				a := newApproval(mode)
				reg := registry(e.T, a.work)
				askAll(e.T, reg, origin.options...)
				e.Start(reg)
				tokens := make([]tasktoken.Token, approvers*len(keys))
				for i := range tokens {
					var err error
					if tokens[i], err = tasktoken.Decode(<-a.tokens); err != nil {
						e.T.Fatal(err)
					}
				}
				for _, key := range keys {
					e.Until("all are parked that are to be", func() bool {
						return errors.Is(mode, activity.ErrPending) || !slices.ContainsFunc(e.Tasks(key), func(t provider.TaskInfo) bool {
							return t.State != provider.TaskParked
						})
					})
				}
				c := caller(e, reg)
				forge(e, c, tokens)
				for _, token := range tokens {
					if err := client.CompleteActivity(e.T.Context(), c, tasktoken.Encode(token), "approved"); err != nil {
						e.T.Error(err)
					}
				}
				for _, key := range keys {
					if got := enginetest.Output[int](e, key); got != approvers {
						e.T.Errorf("got %d", got)
					}
				}
			})
		})
	}
}

// forge tries every change of every token.
func forge(e *enginetest.Engine, c *client.Client, tokens []tasktoken.Token) {
	e.T.Helper()
	holders := map[provider.UUID]int{}
	for i, own := range tokens {
		holders[own.Holder]++
		attempt, execution, event := own, own, own
		attempt.Attempt++
		execution.Task.Execution++
		event.Task.EventID += 1000
		forged := []tasktoken.Token{attempt, execution, event}
		for i := 0; i < len(own.Holder); i += 5 {
			holder := own
			holder.Holder[i] ^= 1
			forged = append(forged, holder)
		}
		for j, other := range tokens {
			if i != j {
				task, key, all := own, own, other
				task.Task.EventID, key.Task.Key, all.Holder = other.Task.EventID, other.Task.Key, own.Holder
				forged = append(forged, task, key, all)
			}
		}
		for _, f := range forged {
			if f == own {
				continue
			}
			for what, err := range tryToken(e.T.Context(), c, tasktoken.Encode(f)) {
				if f == attempt && (err == nil || errors.Is(err, activity.ErrNotCancelled)) {
					continue // a heartbeat for the approver's own task
				}
				if !errors.Is(err, activity.ErrLeaseLost) && !errors.Is(err, activity.ErrAlreadyCompleted) && !errors.Is(err, client.ErrNotFound) {
					e.T.Errorf("%s with %+v, made from %+v: %v", what, f, own, err)
				}
			}
		}
	}
	for holder, n := range holders {
		if n > 1 {
			e.T.Errorf("%d tasks have the secret %s", n, holder)
		}
	}
}

// tryToken tries every call that takes a token.
func tryToken(ctx context.Context, c *client.Client, text string) map[string]error {
	return map[string]error{
		"completing": client.CompleteActivity(ctx, c, text, "forged"),
		"failing":    client.FailActivity(ctx, c, text, errors.New("forged")),
		"beating":    client.HeartbeatActivity(ctx, c, text, "forged"),
		"cancelling": client.ReportCancelled(ctx, c, text),
	}
}

// sharing is a store that leases all tasks of a commit under one token, as releases before per-task tokens did for a
// fetch.
type sharing struct {
	*provider.Full

	token provider.UUID
}

func (s *sharing) Unwrap() provider.Provider { return s.Provider }

func (s *sharing) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	for i := range req.Tasks {
		req.Tasks[i].Lease = &provider.TaskLease{Token: s.token, Owner: "older", Duration: time.Hour}
	}
	return s.Provider.CommitTurn(ctx, req)
}

// Links that an earlier release has sent out complete the activities that they were made for.
func TestTokensOfEarlierReleasesComplete(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *enginetest.Engine) {
		older := &sharing{Full: e.Store, token: enginetest.NewID()}
		reg := runtime.NewRegistry()
		askAll(e.T, reg)
		rt := e.StartOn(older, reg, e.Options)
		key := e.Create("parked", "all", 1)
		e.Until("the tasks are stored", func() bool { return len(e.Tasks(key)) == approvers })
		var parks []provider.TaskReport
		var links []string
		for _, task := range e.Tasks(key) {
			parks = append(parks, provider.TaskReport{TaskRef: task.TaskRef, Token: older.token, Attempt: 1, Outcome: provider.TaskPark})
			links = append(links, tasktoken.Encode(tasktoken.Token{Task: task.TaskRef, Attempt: 1, Holder: older.token, Lease: time.Minute}))
		}
		if res, err := e.Store.ReportTasks(e.T.Context(), provider.ReportTasksRequest{Items: parks}); err != nil || res.Items[0].Err != nil {
			e.T.Fatal(res, err)
		}
		e.Stop(rt)
		reg = registry(e.T, newApproval(nil).work)
		askAll(e.T, reg)
		e.Start(reg)
		c := caller(e, reg)
		for _, link := range links {
			if err := client.CompleteActivity(e.T.Context(), c, link, "approved"); err != nil {
				e.T.Error(err)
			}
		}
		if got := enginetest.Output[int](e, key); got != approvers {
			e.T.Errorf("got %d", got)
		}
	})
}
