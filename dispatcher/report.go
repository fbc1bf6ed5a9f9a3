package dispatcher

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// report tells the storage what became of an attempt, and tries until it answers: a
// storage that is away must not cost a finished result. The token decides whether the report counts.
func (d *Dispatcher) report(working context.Context, item provider.TaskReport) {
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(working, callTimeout)
		res, err := d.store.ReportTasks(ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{item}})
		cancel()
		if err == nil && len(res.Items) == 1 {
			err = res.Items[0].Err
		}
		switch {
		case err == nil:
			d.clock.set(res.Now)
			return
		case errors.Is(err, provider.ErrLeaseLost):
			d.count.leasesLost.Add(1)
			return
		case provider.OutcomeOf(err) == provider.OutcomeNothing && !provider.Retryable(err):
			d.cfg.Logger.Error("report of an activity refused", "task", item.EventID, "key", item.Key, "err", err)
			return
		}
		d.storageFailed("report task", failures, err)
		if !pause(working, backoff(failures)) {
			return
		}
	}
}

// poisonTask makes a report that ends the call with ErrPoisoned and keeps the task in the
// dead letters.
func (d *Dispatcher) poisonTask(report *provider.TaskReport, reason string) {
	d.count.attemptsPoisoned.Add(1)
	d.cfg.Logger.Error("activity is poisoned: moved to the dead letters", "key", report.Key, "event", report.EventID, "reason", reason)
	report.Outcome, report.Reason = provider.TaskPoison, plain(reason, provider.MaxName)
	report.Message = message(&history.ActivityFailed{
		Scheduled: report.EventID, Attempt: report.Attempt,
		Failure: d.cfg.Env.Errors.Encode(failure.NonRetryable(failure.New(failure.ErrPoisoned, "%s", reason))),
	}, report.Execution, report.EventID)
}
