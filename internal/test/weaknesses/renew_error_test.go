package weaknesses

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

const renewLease = 45 * time.Second

// worker is an activity that counts its work, which takes three minutes unless it is cancelled.
type worker struct {
	began  chan struct{}
	runs   atomic.Int64
	causes enginetest.Notes[error]
	obey   func(cause error) (int, error) // its result after a cancellation
}

func (w *worker) work(ctx context.Context, n int) (int, error) {
	w.runs.Add(1)
	w.began <- struct{}{}
	select {
	case <-time.After(3 * time.Minute):
		return n, nil
	case <-ctx.Done():
		w.causes.Add(context.Cause(ctx))
		return w.obey(context.Cause(ctx))
	}
}

// startWorker starts an orchestration that calls the activity once, on a node with faults. It waits until the activity
// runs.
func startWorker(e *engine, w *worker) (plan *faulty.Plan, key provider.UUID) {
	e.T.Helper()
	plan, node := faultyNode(e)
	return plan, startWorkerOn(e, w, node)
}

func startWorkerOn(e *engine, w *worker, node provider.Provider) (key provider.UUID) {
	e.T.Helper()
	w.began = make(chan struct{}, 100)
	if w.obey == nil {
		w.obey = func(cause error) (int, error) { return 0, cause }
	}
	reg := registry(e)
	enginetest.Activity(e.T, reg, "work", w.work)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n)
	})
	opts := e.Options
	opts.Lease = renewLease
	e.StartOn(node, reg, opts)
	key = e.Create("main", "main", 7)
	<-w.began
	return key
}

// tokens is a store that records the token of the last leased task.
type tokens struct {
	*provider.Full

	last atomic.Pointer[provider.TaskReport]
}

func (s *tokens) Unwrap() provider.Provider { return s.Provider }

func (s *tokens) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	for _, task := range req.Tasks {
		if task.Lease != nil {
			ref := provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: task.EventID}
			s.last.Store(&provider.TaskReport{TaskRef: ref, Token: task.Lease.Token, Attempt: 1, Outcome: provider.TaskRelease})
		}
	}
	return s.Provider.CommitTurn(ctx, req)
}

func (s *tokens) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := s.Provider.FetchTasks(ctx, req)
	for i := range res.Tasks {
		ref := res.Tasks[i].TaskRef
		s.last.Store(&provider.TaskReport{TaskRef: ref, Token: provider.TaskToken(req.Token, ref), Attempt: 1, Outcome: provider.TaskRelease})
	}
	return res, err
}

// failures returns the classes of errors that a storage may return from a renewal.
func failures() map[string]faulty.Rule {
	return map[string]faulty.Rule{
		"retryable":      {Kind: faulty.Before},
		"after it wrote": {Kind: faulty.After},
		"permanent": {Kind: faulty.Before, Err: &provider.Error{
			Op: "any", Outcome: provider.OutcomeNothing, Err: errors.New("too many connections"),
		}},
		"unknown to the contract": {Kind: faulty.Before, Err: errors.New("connection reset by peer")},
		"timeout":                 {Kind: faulty.Before, Err: context.DeadlineExceeded},
	}
}

// A failed renewal is no cancellation: it is retried while the lease lasts. A result is never dropped, not even after a
// cancellation of its attempt or a failed report.
func TestWeakness01_RenewErrorCancelsNothing(t *testing.T) {
	t.Parallel()
	all := claims{}
	for class, rule := range failures() {
		renewals, results := rule, rule
		renewals.Ops = []faulty.Op{faulty.RenewTasks}
		results.Ops = []faulty.Op{faulty.ReportTasks, faulty.CommitTurn}
		all["renewals fail for less than a lease: "+class] = func(e *engine) {
			w := &worker{}
			plan, key := startWorker(e, w)
			for range 4 { // each time at another point of the renewal period
				pass(e, 19*time.Second)
				plan.Add(renewals)
				pass(e, renewLease*2/5) // with a third before it, less than the four fifths that a node relies on
				plan.Clear()
			}
			want(e, key, 7)
			if causes := w.causes.All(); len(causes) > 0 || w.runs.Load() != 1 {
				e.T.Errorf("%d runs, cancelled: %v", w.runs.Load(), causes)
			}
			if plan.Injected(faulty.RenewTasks) == 0 {
				e.T.Error("no renewal failed")
			}
		}
		all["the result cannot be stored for a while: "+class] = func(e *engine) {
			w := &worker{}
			plan, key := startWorker(e, w)
			plan.Add(results)
			pass(e, 3*time.Minute+renewLease/2)
			plan.Clear()
			want(e, key, 7)
			if n := w.runs.Load(); n != 1 && class != "permanent" {
				e.T.Errorf("the result was dropped: %d runs", n)
			}
			if plan.Injected(faulty.ReportTasks)+plan.Injected(faulty.CommitTurn) == 0 {
				e.T.Error("no report failed")
			}
		}
	}
	all["the storage ends a lease early and gives the task to the same node"] = func(e *engine) {
		w, node := &worker{}, &tokens{Full: e.Store}
		key := startWorkerOn(e, w, node)
		if _, err := e.Store.ReportTasks(e.T.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{*node.last.Load()}}); err != nil {
			e.T.Fatal(err)
		}
		<-w.began
		pass(e, time.Second)
		if causes := w.causes.All(); len(causes) != 1 || !errors.Is(causes[0], activity.ErrLeaseLost) {
			e.T.Errorf("cancelled: %v", causes)
		}
		want(e, key, 7)
	}
	for name, obey := range map[string]func(error) (int, error){
		"a result": func(error) (int, error) { return 7, nil },
		"an error": func(cause error) (int, error) { return 0, cause },
	} {
		all["the lease is over, the attempt returns at once with "+name] = func(e *engine) {
			w := &worker{obey: obey}
			plan, key := startWorker(e, w)
			plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Before})
			pass(e, 2*time.Minute)
			plan.Clear()
			want(e, key, 7)
			// The attempt whose task was leased again meanwhile is cancelled, too.
			causes := w.causes.All()
			if len(causes) == 0 || int64(len(causes)) < w.runs.Load()-1 {
				e.T.Errorf("of %d attempts these were cancelled: %v", w.runs.Load(), causes)
			}
			for _, cause := range causes {
				if !errors.Is(cause, activity.ErrLeaseLost) {
					e.T.Errorf("cancelled with %v", cause)
				}
			}
		}
	}
	inEveryMode(t, all)
}
