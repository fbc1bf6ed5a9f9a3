package dispatcher_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// rewriter hands out the tasks of one activity with other bytes, a few times: a policy that
// retries every microsecond is legal.
type rewriter struct {
	*provider.Full

	activity string
	payload  []byte
	times    int // only the task loop of one node counts
}

// FetchTasks implements provider.Provider.
func (r *rewriter) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := r.Provider.FetchTasks(ctx, req)
	for i := range res.Tasks {
		if res.Tasks[i].Name == r.activity && r.times > 0 {
			r.times--
			res.Tasks[i].Payload = r.payload
		}
	}
	return res, err
}

// FuzzStored gives a node any bytes as a message or as a task. Whatever becomes of the
// instance concerned, the node lives: another instance completes.
func FuzzStored(f *testing.F) {
	for _, body := range []history.Body{
		&history.ActivityCompleted{Scheduled: 2, Output: []byte("7")}, &history.ActivityCompleted{Scheduled: 3},
		&history.ActivityFailed{Scheduled: 2}, &history.TimerFired{Timer: 3}, &history.ChildCompleted{Started: 4, Output: []byte("{")},
		&history.ChildFailed{Started: 4}, &history.EventReceived{Name: "box", Payload: []byte("1")}, &history.CancelRequested{Reason: "fuzz"},
		&history.ExecutionStarted{Name: "victim"}, &history.ExecutionOpened{}, &history.ExecutionTerminated{}, &history.ContinuedAsNew{},
		&history.ActivityScheduled{Name: "work", Queue: "default", Input: []byte("1")}, &history.ActivityScheduled{Name: "gone", Queue: "none"},
		&history.ActivityScheduled{Name: "work", Queue: "default", StartToClose: 1 << 62, Retry: &history.RetryPolicy{Coefficient: -1 << 62}},
	} {
		f.Add(history.Encode(nil, history.Event{Body: body}), uint8(body.Kind()))
	}
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			e.Unchecked("nobody sends such messages")
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "idle", func(_ *octx, n int) (int, error) { return n, nil })
			enginetest.Orchestration(e.T, reg, "victim", victim)
			// The activity is another node's, which has to fetch the task.
			worker := runtime.NewRegistry()
			enginetest.Activity(e.T, worker, "work", func(_ context.Context, n int) (int, error) { return n, nil })
			e.StartOn(&rewriter{e.Store, "work", data, 3}, worker, runtime.Options{})
			key := e.Create("victim", "victim", 1)
			e.Start(reg)
			e.Until("the victim waits", func() bool { i := e.Get(key); return i.HistoryLength > 1 || i.Blocked != nil })
			_, err := e.Store.Send(e.T.Context(), provider.SendRequest{
				Key: key, Message: provider.NewMessage{Kind: provider.MessageKind(max(kind, 1)), Payload: data},
			})
			if err != nil {
				e.T.Fatal(err)
			}
			if got := enginetest.Output[int](e, e.Create("other", "Chain", 2)); got == 0 {
				e.T.Error("no result")
			}
		})
	})
}

// victim waits for one thing of each kind.
func victim(ctx *octx, n int) (int, error) {
	work := orchestration.StartActivityNamed[int](ctx, "work", n, orchestration.WithRetry(orchestration.RetryPolicy{}))
	timer := orchestration.StartTimer(ctx, 1000_000_000)
	child := orchestration.StartOrchestrationNamed[int](ctx, "idle", n)
	box := orchestration.Events[int](ctx, "box")
	for {
		if _, err := box.Receive(ctx); err != nil {
			return 0, err
		}
		for _, get := range []func(*octx) error{
			func(ctx *octx) error { _, err := work.Get(ctx); return err },
			func(ctx *octx) error { _, err := timer.Get(ctx); return err },
			func(ctx *octx) error { _, err := child.Get(ctx); return err },
		} {
			if err := get(ctx); err != nil {
				return 0, err
			}
		}
	}
}
