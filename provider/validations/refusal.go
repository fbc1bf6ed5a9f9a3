package validations

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// refusals makes an invalid call of each method and returns the errors.
func refusals(t *trial) map[string]error {
	all := map[string]error{}
	ref := provider.TaskRef{Key: unique(), Execution: 1, EventID: 1}
	_, all["create"] = t.Create(t.ctx, createRequest("used"))
	_, all["get"] = t.Get(t.ctx, provider.GetRequest{ID: "nobody"})
	_, all["steer"] = t.Steer(t.ctx, provider.SteerRequest{ID: "nobody", Action: provider.SteerSuspend, Commit: unique()})
	_, all["fetch turns"] = t.FetchTurns(t.ctx, provider.FetchTurnsRequest{})
	_, all["commit turn"] = t.CommitTurn(t.ctx, next(provider.Instance{ID: "nobody", Key: unique(), Execution: 1, Version: unique()}))
	_, all["release turns"] = t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Key: ref.Key}}})
	_, all["fetch tasks"] = t.FetchTasks(t.ctx, provider.FetchTasksRequest{})
	_, all["report tasks"] = t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{{TaskRef: ref}}})
	_, all["renew tasks"] = t.RenewTasks(t.ctx, provider.RenewTasksRequest{})
	_, all["send"] = t.Send(t.ctx, provider.SendRequest{ID: "no receiver"})
	_, all["ask"] = t.Ask(t.ctx, provider.AskRequest{ID: "nobody", AskID: provider.NewKey("nobody"), Wait: long})
	_, all["fetch asks"] = t.FetchAsks(t.ctx, provider.FetchAsksRequest{})
	all["answer"] = t.Answer(t.ctx, provider.AnswerRequest{AskID: unique()})
	_, all["read history"] = t.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: unique(), From: 1})
	_, all["list"] = t.List(t.ctx, provider.ListRequest{Cursor: "no cursor"})
	_, all["count"] = t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{IDPrefix: "\xff"}})
	_, all["delete"] = t.Delete(t.ctx, provider.DeleteRequest{ID: "used"})
	_, all["prune"] = t.Prune(t.ctx, provider.PruneRequest{Age: -1})
	_, all["dead letters"] = t.DeadLetters(t.ctx, provider.DeadLettersRequest{Action: 7})
	_, all["lease"] = t.Lease(t.ctx, provider.LeaseRequest{Action: provider.LeaseRelease, Name: "nobody's", Token: unique()})
	_, all["record"] = t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: "n", Key: "nothing"})
	return all
}

// limitErrors checks that the error of each refusal says that nothing happened, after Close too.
func limitErrors(t *trial) {
	i := t.create("used")
	check := func(when string) {
		for call, err := range refusals(t) {
			t.checkf(err != nil, "%s %s: got no error, want one", when, call)
			t.checkf(provider.OutcomeOf(err) == provider.OutcomeNothing,
				"%s %s: error %v has outcome %s, want nothing happened", when, call, err, provider.OutcomeOf(err))
		}
	}
	t.unchanged(i.Key, func() { check("open") })
	t.ok(t.Close())
	check("closed")
}

func limitLease(t *trial) {
	i := t.beginTasks(newTask(1))
	t.create("j")
	const over = provider.MaxLease + 1
	_, err := t.FetchTurns(t.ctx, with(fetchRequest(), func(r *provider.FetchTurnsRequest) { r.Lease = over }))
	t.want(err, provider.ErrTooLarge)
	_, err = t.FetchTasks(t.ctx, with(fetchTasksRequest(), func(r *provider.FetchTasksRequest) { r.Lease = over }))
	t.want(err, provider.ErrTooLarge)
	_, err = t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: over})
	t.want(err, provider.ErrTooLarge)
	_, err = t.Lease(t.ctx, with(acquire("a"), func(r *provider.LeaseRequest) { r.Duration = over }))
	t.want(err, provider.ErrTooLarge)
	task, _ := handedOff()
	task.EventID, task.Lease.Duration = 2, over
	req := next(i)
	req.Tasks = []provider.NewTask{task}
	t.refused(req, provider.ErrTooLarge)
	u := t.fetchOne(func(r *provider.FetchTurnsRequest) { r.Lease = provider.MaxLease })
	t.checkf(u.Instance.ID == "j", "got a turn of %s, want j", u.Instance.ID)
}

func limitBatch(t *trial) {
	const over = provider.MaxBatch + 1
	_, err := t.FetchTurns(t.ctx, with(fetchRequest(), func(r *provider.FetchTurnsRequest) { r.Max = over }))
	t.want(err, provider.ErrTooLarge)
	_, err = t.FetchTasks(t.ctx, with(fetchTasksRequest(), func(r *provider.FetchTasksRequest) { r.Max = over }))
	t.want(err, provider.ErrTooLarge)
	ref := provider.TaskRef{Key: unique(), Execution: 1, EventID: 1}
	turns := slices.Repeat([]provider.TurnRelease{{Key: ref.Key, Token: unique()}}, over)
	_, err = t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: turns})
	t.want(err, provider.ErrTooLarge)
	task := provider.TaskReport{TaskRef: ref, Token: unique(), Attempt: 1, Outcome: provider.TaskRelease}
	_, err = t.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: slices.Repeat([]provider.TaskReport{task}, over)})
	t.want(err, provider.ErrTooLarge)
	lease := provider.TaskRenewal{TaskRef: ref, Token: unique()}
	_, err = t.RenewTasks(t.ctx, provider.RenewTasksRequest{Items: slices.Repeat([]provider.TaskRenewal{lease}, over), Lease: long})
	t.want(err, provider.ErrTooLarge)
	for n := range 3 {
		t.create(fmt.Sprint("i", n))
	}
	list := t.fetch(func(r *provider.FetchTurnsRequest) { r.Max = provider.MaxBatch - 1 })
	t.checkf(len(list) == 3, "got %d turns, want 3", len(list))
}

func limitPage(t *trial) {
	const over = provider.MaxPage + 1
	_, err := t.List(t.ctx, provider.ListRequest{Max: over})
	t.want(err, provider.ErrTooLarge)
	_, err = t.DeadLetters(t.ctx, provider.DeadLettersRequest{Max: over})
	t.want(err, provider.ErrTooLarge)
	_, err = t.Record(t.ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n", Max: over})
	t.want(err, provider.ErrTooLarge)
	t.create("i")
	res, err := t.List(t.ctx, provider.ListRequest{Max: provider.MaxPage})
	t.ok(err)
	t.checkf(len(res.Instances) == 1, "got %s, want one instance", idsOf(res.Instances))
}
