package heartbeats

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// An older release cannot read a list of attempts, so a call that it scheduled gets none in its history. The last
// failure that it stored is read.
func TestOlderCallsListNoAttempts(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		key := e.Create("main", "main", 1)
		schedule(e, key, &history.ActivityScheduled{
			Name: "work", Queue: "default", Input: []byte("1"), Retry: &history.RetryPolicy{MaxAttempts: 3, InitialInterval: 1000, MaxInterval: 1000, Coefficient: 1000},
		})
		failOnce(e, history.EncodeFailure(history.Failure{Message: "of an older release"}))
		reg := registry(e, func(ctx context.Context, _ int) (int, error) {
			return activity.GetInfo(ctx).Attempt, errDeclined
		}, nil)
		if a := pending(e, caller(e, reg), "main"); a.Attempt != 2 || a.Failure.Message != "of an older release" {
			e.T.Errorf("seen as %+v", a)
		}
		e.Start(reg)
		if _, err := enginetest.Result[int](e, key, reg.Errors()); !errors.Is(err, errDeclined) {
			e.T.Errorf("ended with %v", err)
		}
		if end := ends(e, caller(e, reg)); end.Attempt != 3 || len(end.Attempts) != 0 {
			e.T.Errorf("listed %+v", end)
		}
	})
}

// schedule makes the first turn of an instance in place of a node.
func schedule(e *engine, key provider.UUID, call *history.ActivityScheduled) {
	e.T.Helper()
	res, err := e.Store.FetchTurns(e.T.Context(), provider.FetchTurnsRequest{
		Owner: "old", Token: enginetest.NewID(), Lease: provider.MaxLease, Capabilities: []provider.Capability{{Name: "main"}}, EngineLevel: 100, Max: 1,
	})
	if err != nil || len(res.Turns) != 1 {
		e.T.Fatalf("%+v, %v", res, err)
	}
	turn := res.Turns[0]
	started, err := history.Decode(0, turn.Messages[0].Payload)
	if err != nil {
		e.T.Fatal(err)
	}
	started.At = int64(res.Now)
	data := history.Encode(nil, history.Event{Body: call})
	_, err = e.Store.CommitTurn(e.T.Context(), provider.CommitTurnRequest{
		Key: key, Execution: 1, Expected: turn.Instance.Version, Commit: enginetest.NewID(), Status: provider.StatusRunning,
		Consumed: []int64{turn.Messages[0].ID}, Events: [][]byte{history.Encode(nil, started), data},
		Tasks: []provider.NewTask{{EventID: 2, Queue: call.Queue, Name: call.Name, Payload: data}},
	})
	if err != nil {
		e.T.Fatal(err)
	}
}

// failOnce fails the first attempt of the only task.
func failOnce(e *engine, failure []byte) {
	e.T.Helper()
	token := enginetest.NewID()
	res, err := e.Store.FetchTasks(e.T.Context(), provider.FetchTasksRequest{
		Owner: "old", Token: token, Lease: provider.MaxLease, Max: 1, Queues: []provider.QueueFilter{{Queue: "default", Names: []string{"work"}}},
	})
	if err != nil || len(res.Tasks) != 1 {
		e.T.Fatalf("%+v, %v", res, err)
	}
	_, err = e.Store.ReportTasks(e.T.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{
		{TaskRef: res.Tasks[0].TaskRef, Token: provider.TaskToken(token, res.Tasks[0].TaskRef), Attempt: 1, Outcome: provider.TaskRetry, Failure: failure},
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}
