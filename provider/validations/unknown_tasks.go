package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// beginTask makes an instance with one task and fetches the task.
func beginTask(t *trial, id string) (provider.Instance, leasedTask) {
	i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	return i, t.fetchTask()
}

// firstTask returns the error of a report on one task.
func firstTask(res provider.ReportTasksResult, err error) error {
	if err != nil {
		return err
	}
	return res.Items[0].Err
}

func unknownFetchTasks(t *trial) {
	cutOff(t, func() cut {
		i := t.begin(fresh(), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		req := fetchTasksRequest()
		req.Wait = long
		var res provider.FetchTasksResult
		return cut{
			call: func(ctx context.Context) (err error) {
				res, err = t.FetchTasks(ctx, req)
				return err
			},
			after: func() {
				item := provider.TaskReport{Token: req.Token, Outcome: provider.TaskReleaseAll}
				_, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
				t.ok(err)
				req.Token = unique()
			},
			done: func() {
				t.mustf(len(res.Tasks) == 1, "got %d tasks, want 1", len(res.Tasks))
				task := leasedTask{res.Tasks[0], provider.TaskToken(req.Token, res.Tasks[0].TaskRef)}
				t.checkf(task.TaskRef == ref(i, 1) && task.Deliveries == 1 && task.Attempt == 1, "got %+v, want task 1 on its first attempt and delivery", task)
				t.ok(t.report(task, provider.TaskComplete).Err)
			},
		}
	})
}

func unknownReport(t *trial) {
	cutOff(t, func() cut {
		i, task := beginTask(t, fresh())
		req := provider.ReportTasksRequest{Items: []provider.TaskReport{reportOf(task, provider.TaskComplete)}}
		return cut{
			call:  func(ctx context.Context) error { return firstTask(t.ReportTasks(ctx, req)) },
			looks: func() string { return t.picture(i.Key).text() },
			again: provider.ErrLeaseLost,
			done: func() {
				t.tasksAre(i.Key, "")
				u := t.fetchOne(named(i.ID))
				t.checkf(u.payloads() == "result", "the inbox has %q, want \"result\"", u.payloads())
			},
		}
	})
}

func unknownRenew(t *trial) {
	cutOff(t, func() cut {
		i, task := beginTask(t, fresh())
		item := renewal(task)
		item.Details = []byte("half")
		return cut{
			call: func(ctx context.Context) error {
				res, err := t.RenewTasks(ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{item}, Lease: 2 * long})
				if err != nil {
					return err
				}
				return res.Items[0].Err
			},
			done: func() {
				res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true})
				t.ok(err)
				t.checkf(len(res.Tasks) == 1 && res.Tasks[0].LeaseUntil > task.LeaseUntil && string(res.Tasks[0].Details) == "half",
					"tasks %+v, want a later LeaseUntil and the details", res.Tasks)
			},
		}
	})
}
