package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/internal/replay"
)

// grace has the watchdog wait for the code of a cancelled attempt, or waits for the completer of a pending one. After the
// grace period the attempt is given up: its slot is freed and its task dealt with as if it had ended.
func (w *worker) grace(working context.Context, a *attempt, cause error) {
	if a.life.pending() {
		w.gracePending(working, a, cause)
		return
	}
	what := attemptEntry(a, cause)
	what.Leave = func() {
		// It talks to the storage, for which the watchdog must not wait.
		go w.abandon(working, a, cause, fmt.Errorf("did not end within the grace period of %v: %w", w.cfg.GracePeriod, cause))
	}
	w.watchdog.Enter(&a.watched, what)
}

// gracePending waits for whoever works on a pending attempt to end it. It has no code here that could leak.
func (w *worker) gracePending(working context.Context, a *attempt, cause error) {
	period := w.cfg.GracePeriod
	if !patient(cause) {
		period = 0
	}
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.abandon(working, a, cause, fmt.Errorf("did not end within the grace period of %v: %w", period, cause))
	case <-a.done:
	case <-working.Done():
	}
}

// abandon ends an attempt in place of its code or its completer, unless those were faster.
func (w *worker) abandon(working context.Context, a *attempt, cause, err error) {
	given, code, ok := a.life.end(whyOver(cause, false))
	if !ok {
		return
	}
	if code {
		w.count.attemptsLeaked.Add(1)
		w.watchdog.Enter(&a.watched, attemptEntry(a, cause)) // unless it is on the list
	} else {
		w.count.attemptsPending.Add(-1)
	}
	if given == nil {
		given = &outcome{err: err}
	}
	w.executions.deliver(working, w.settle(working, a, cause, given.output, given.err))
}

func attemptEntry(a *attempt, cause error) leak.Entry {
	return leak.Entry{Key: a.Ref.Key, Interrupt: a.user.Interrupt, Work: leak.Work{
		Kind: leak.Activity, Name: a.call.Name, InstanceID: a.instanceID, Execution: a.Ref.Execution,
		Attempt: int(a.number), Cause: cause.Error(),
	}}
}

func completionEntry(a *attempt) leak.Entry {
	what := attemptEntry(a, fmt.Errorf("its transaction could wait for %v", functionTimeout))
	what.Kind, what.Interrupt = leak.Completion, nil
	return what
}

// watchCode has the watchdog wait for orchestration code that was left behind.
func (ev *evictor) watchCode(code *leak.Code, kind string, x *replay.Execution, info replay.Info, cause string) {
	code.RunsOn(x.Goroutine())
	ev.watchdog.Enter(code, leak.Entry{Key: info.Key, Work: leak.Work{
		Kind: kind, Name: info.Name, InstanceID: info.ID, Execution: info.Execution, Cause: cause,
	}})
}
