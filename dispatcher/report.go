package dispatcher

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// report tells the storage what became of attempts, and tries until it answers: a
// storage that is away must not cost a finished result. The token decides whether a report counts, and
// makes its repetition harmless.
func (d *Dispatcher) report(working context.Context, items ...provider.TaskReport) {
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(working, callTimeout)
		res, err := d.store.ReportTasks(ctx, provider.ReportTasksRequest{Items: items})
		cancel()
		switch {
		case err == nil:
			d.clock.Set(res.Now)
			for i := range items {
				d.reported(&items[i], res.Items[i].Err) // the contract has one answer for each
			}
			return
		case provider.OutcomeOf(err) == provider.OutcomeNothing && !provider.Retryable(err):
			for i := range items {
				d.reported(&items[i], err)
			}
			return
		}
		d.storageFailed("report task", failures, err)
		if !pause(working, backoff(failures)) {
			return
		}
	}
}

// reported notes what the storage answered to one report.
func (d *Dispatcher) reported(item *provider.TaskReport, err error) {
	switch {
	case err == nil:
	case errors.Is(err, provider.ErrLeaseLost):
		d.count.leasesLost.Add(1)
	default:
		d.cfg.Logger.Error("report of an activity refused", "task", item.EventID, "key", item.Key, "err", err)
	}
}

// failTask makes a report that ends the call with a failure. past are the attempts that have ended.
func failTask(report *provider.TaskReport, f history.Failure, past ...history.Attempt) {
	report.Outcome = provider.TaskComplete
	report.Message = message(&history.ActivityFailed{
		Scheduled: report.EventID, Attempt: report.Attempt, Failure: f, Attempts: past,
	}, report.Execution, report.EventID)
}

// workerLost is how a call ends that must not run again although its outcome is not known.
func (d *Dispatcher) workerLost(activity, why string) history.Failure {
	return d.cfg.Env.Errors.Encode(failure.New(failure.ErrWorkerLost, "activity %s runs at most once: %s", activity, why))
}

// poisonTask makes a report that ends the call with ErrPoisoned and keeps the task in the
// dead letters.
func (d *Dispatcher) poisonTask(report *provider.TaskReport, reason string, past ...history.Attempt) {
	d.count.attemptsPoisoned.Add(1)
	d.cfg.Logger.Error("activity is poisoned: moved to the dead letters", "key", report.Key, "event", report.EventID, "reason", reason)
	failTask(report, d.cfg.Env.Errors.Encode(failure.NonRetryable(failure.New(failure.ErrPoisoned, "%s", reason))), past...)
	report.Outcome, report.Reason = provider.TaskPoison, plain(reason, provider.MaxName)
}
