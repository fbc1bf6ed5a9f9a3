package validations

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenRows lists stores that read a row before the transaction that writes it.
func brokenRows() []brokenRule {
	list := []brokenRule{
		{name: "a send drops what came since it looked", caught: "classes/race-at-one-instance", breaks: sendsOver},
		{name: "a delete looks in a transaction of its own", caught: "classes/race-of-deletes-and-resets", breaks: looksThenDeletes},
		{name: "a report looks at its task before the transaction", caught: "classes/race-at-one-task", breaks: looksThenReports},
		{name: "a steered task is looked up before the transaction", caught: "classes/race-of-task-steering", breaks: looksThenCompletes},
		{name: "a fetch of turns looks again a second later", caught: "classes/awaited-turns-behind", breaks: looksForTurnsLate},
		{name: "a fetch of tasks looks again a second later", caught: "classes/awaited-tasks-behind", breaks: looksForTasksLate},
		{name: "a renewal looks at its execution first", caught: "classes/race-of-renewals-and-closes", breaks: looksThenRenews},
	}
	for i := range list {
		list[i].racing, list[i].wide = true, true
	}
	return list
}

// sendsOver drops the last message of an inbox that has grown since the send looked at it.
func sendsOver(m *mutant) {
	m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
		seen := m.stored(ctx, req.Key)
		window()
		if inbox := m.inbox(ctx, req.Key); !seen.Key.IsZero() && int64(len(inbox)) > seen.InboxMessages {
			_, _ = m.Provider.Steer(ctx, provider.SteerRequest{
				Key: req.Key, Action: provider.SteerDrop, Commit: unique(), MessageID: inbox[len(inbox)-1].ID, Reason: "lost",
			})
		}
		return send(ctx, req)
	})
}

func looksThenDeletes(m *mutant) {
	m.remove.around(func(
		ctx context.Context, req provider.DeleteRequest, remove method[provider.DeleteRequest, provider.DeleteResult],
	) (provider.DeleteResult, error) {
		if seen := m.stored(ctx, req.Key); seen.Status.Ended() {
			window()
			if now := m.stored(ctx, req.Key); now.Execution > seen.Execution {
				req.Force = true
			}
		}
		return remove(ctx, req)
	})
}

// looksThenReports stores each of several reports that meet.
func looksThenReports(m *mutant) {
	var reporting crowd[provider.TaskRef]
	m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
		if len(req.Items) != 1 {
			return report(ctx, req)
		}
		defer reporting.enter(req.Items[0].TaskRef)()
		window()
		met := reporting.size(req.Items[0].TaskRef) > 1
		window()
		res, err := report(ctx, req)
		if err == nil && met {
			res.Items[0].Err = nil
		}
		return res, err
	})
}

func looksThenCompletes(m *mutant) {
	m.acts.around(func(ctx context.Context, req provider.SteerTaskRequest, act actMethod) (provider.SteerTaskResult, error) {
		got, _ := m.Provider.Get(ctx, provider.GetRequest{Key: req.Key, WithTasks: true})
		window()
		res, err := act(ctx, req)
		if len(got.Tasks) > 0 && req.Action == provider.SteerTaskComplete && errors.Is(err, provider.ErrNotFound) {
			_, err = m.Provider.Send(ctx, provider.SendRequest{Key: req.Key, Message: req.Message})
		}
		return res, err
	})
}

func looksThenRenews(m *mutant) {
	m.renew.around(func(ctx context.Context, req provider.RenewTasksRequest, renew renewMethod) (provider.RenewTasksResult, error) {
		ended := make([]bool, len(req.Items))
		for n, item := range req.Items {
			ended[n] = m.stored(ctx, item.Key).Status != provider.StatusRunning
		}
		window()
		res, err := renew(ctx, req)
		for n := range res.Items {
			if state := &res.Items[n].State; state.Kind == provider.ExecutionTerminal && !ended[n] {
				*state = provider.ExecutionState{Kind: provider.ExecutionRunning}
			}
		}
		return res, err
	})
}

// looksLate misses what comes after its first look. It looks again a second later.
func looksLate[Req, Res any](m *method[Req, Res], wait func(*Req) *time.Duration, found func(Res) bool) {
	m.around(func(ctx context.Context, req Req, call method[Req, Res]) (Res, error) {
		look := req
		whole := *wait(&look)
		if whole < patience {
			return call(ctx, req)
		}
		*wait(&look) = 0
		if res, err := call(ctx, look); err != nil || found(res) {
			return res, err
		}
		time.Sleep(time.Second) //nolint:forbidigo // of a bubble's clock
		return call(ctx, req)
	})
}

func looksForTurnsLate(m *mutant) {
	looksLate(&m.turns, func(r *provider.FetchTurnsRequest) *time.Duration { return &r.Wait },
		func(res provider.FetchTurnsResult) bool { return len(res.Turns) > 0 })
}

func looksForTasksLate(m *mutant) {
	looksLate(&m.tasks, func(r *provider.FetchTasksRequest) *time.Duration { return &r.Wait },
		func(res provider.FetchTasksResult) bool { return len(res.Tasks) > 0 })
}
