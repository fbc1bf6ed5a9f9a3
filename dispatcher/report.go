package dispatcher

import (
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// judge decides what the end of an attempt means: a retry, a result or a dead letter.
type judge struct{ *node }

// failTask makes a report that ends the call with a failure. past are the attempts that have ended.
func failTask(report *provider.TaskReport, f history.Failure, past ...history.Attempt) {
	report.Outcome = provider.TaskComplete
	report.Message = message(&history.ActivityFailed{
		Scheduled: report.EventID, Attempt: report.Attempt, Failure: f, Attempts: past,
	}, report.Execution, report.EventID)
}

// workerLost is how a call ends that must not run again although its outcome is not known.
func (j *judge) workerLost(activity, why string) history.Failure {
	return j.cfg.Env.Errors.Encode(failure.New(failure.ErrWorkerLost, "activity %s runs at most once: %s", activity, why))
}

// poisonTask makes a report that ends the call with ErrPoisoned and keeps the task in the
// dead letters.
func (j *judge) poisonTask(report *provider.TaskReport, reason string, past ...history.Attempt) {
	j.count.attemptsPoisoned.Add(1)
	j.cfg.Logger.Error("activity is poisoned: moved to the dead letters", "key", report.Key, "event", report.EventID, "reason", reason)
	failTask(report, j.cfg.Env.Errors.Encode(failure.NonRetryable(failure.New(failure.ErrPoisoned, "%s", reason))), past...)
	report.Outcome, report.Reason = provider.TaskPoison, plain(reason, provider.MaxName)
}
