package validations

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func brokenWait() []brokenRule {
	return []brokenRule{
		{name: "a fetch does not block for a short wait", caught: "wait/passes", breaks: fetches(waitsWithPatience)},
		{name: "a message does not wake a fetch", caught: "wait/message-wakes", breaks: whileFetching(sleepsThroughMessages)},
		{name: "a new instance does not wake a fetch", caught: "wait/create-wakes", breaks: whileFetching(sleepsThroughCreates)},
		{name: "a message that becomes visible does not wake a fetch", caught: "wait/due-message-wakes", breaks: whileFetching(sleepsThroughDelays)},
		{name: "a release does not wake a fetch", caught: "wait/release-wakes", breaks: whileFetching(sleepsThroughReleases)},
		{name: "a resume is lost while a fetch waits", caught: "wait/resume-wakes", breaks: whileFetching(losesResumes)},
		{name: "a new task does not wake a fetch", caught: "wait/task-wakes", breaks: sleepsThroughTasks},
		{name: "a task is retried later than asked for", caught: "wait/released-task-wakes", breaks: retriesTooLate},
		{name: "a wait for the end returns the state before the wait", caught: "wait/ended-wakes-get", breaks: answersAsBefore(provider.StatusCompleted)},
		{name: "a wait for the end that passes is an error", caught: "wait/get-passes", breaks: failsInVain},
		{name: "a blocked instance does not end a wait", caught: "wait/blocked-wakes-get", breaks: waitsThroughBlocks},
		{name: "a wait for the end misses a termination", caught: "wait/terminate-wakes-get", breaks: answersAsBefore(provider.StatusTerminated)},
		{name: "a finished context does not keep a commit from being stored", caught: "wait/finished-context", breaks: commitsAllTheSame},
		{name: "a fetch that is cancelled is no error", caught: "wait/cancelled-while-blocked", breaks: hidesCancel},
		{name: "a wait that a close ends is no error", caught: "wait/close-ends-waits", breaks: hidesClose},
		{name: "closing twice is an error", caught: "wait/closed", breaks: closesOnce},
	}
}

func waitsWithPatience(req *provider.FetchTurnsRequest) {
	if req.Wait < patience {
		req.Wait = 0
	}
}

// whileFetching runs a break while a fetch with a Wait of patience waits.
func whileFetching(breaks func(m *mutant, waits func() bool)) func(*mutant) {
	return func(m *mutant) {
		var waiting atomic.Int64
		m.turns.around(func(ctx context.Context, req provider.FetchTurnsRequest, turns turnsMethod) (provider.FetchTurnsResult, error) {
			if req.Wait >= patience {
				waiting.Add(1)
				defer waiting.Add(-1)
			}
			return turns(ctx, req)
		})
		breaks(m, func() bool { return waiting.Load() > 0 })
	}
}

func sleepsThroughMessages(m *mutant, waits func() bool) {
	m.send.before(func(req *provider.SendRequest) {
		if waits() {
			req.Message.Delay += 2 * long
		}
	})
}

func sleepsThroughCreates(m *mutant, waits func() bool) {
	m.create.before(func(req *provider.CreateRequest) {
		if waits() {
			req.Message.Delay += 2 * long
		}
	})
}

func sleepsThroughDelays(m *mutant, waits func() bool) {
	m.send.before(func(req *provider.SendRequest) {
		if req.Message.Delay > 0 && waits() {
			req.Message.Delay += 2 * long
		}
	})
}

func sleepsThroughReleases(m *mutant, waits func() bool) {
	releases(func(item *provider.TurnRelease) {
		if waits() {
			item.Delay += 2 * long
		}
	})(m)
}

func losesResumes(m *mutant, waits func() bool) {
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		if req.Action == provider.SteerResume && waits() {
			return provider.SteerResult{Instance: m.stored(ctx, req.Key)}, nil
		}
		return steer(ctx, req)
	})
}

func sleepsThroughTasks(m *mutant) {
	var waiting atomic.Int64
	m.tasks.around(func(ctx context.Context, req provider.FetchTasksRequest, tasks tasksMethod) (provider.FetchTasksResult, error) {
		if req.Wait >= patience {
			waiting.Add(1)
			defer waiting.Add(-1)
		}
		return tasks(ctx, req)
	})
	commits(func(req *provider.CommitTurnRequest) {
		for n := range req.Tasks {
			if waiting.Load() > 0 {
				req.Tasks[n].NotBefore += 2 * long
			}
		}
	})(m)
}

func retriesTooLate(m *mutant) {
	m.report.before(func(req *provider.ReportTasksRequest) {
		for n, item := range req.Items {
			if item.Outcome == provider.TaskRetry && item.Delay == short {
				req.Items[n].Delay += 2 * long
			}
		}
	})
}

// answersAsBefore returns the status from before the wait.
func answersAsBefore(status provider.Status) func(*mutant) {
	return func(m *mutant) {
		m.get.around(func(ctx context.Context, req provider.GetRequest, get getMethod) (provider.GetResult, error) {
			before := m.stored(ctx, req.Key)
			res, err := get(ctx, req)
			if req.WaitEnded && res.Instance.Status == status {
				res.Instance = before
			}
			return res, err
		})
	}
}

func failsInVain(m *mutant) {
	m.get.after(func(req provider.GetRequest, res *provider.GetResult, err *error) {
		if *err == nil && req.WaitEnded && !req.WaitBlocked && !res.Instance.Status.Ended() {
			*err = provider.ErrNoAnswer
		}
	})
}

func waitsThroughBlocks(m *mutant) {
	m.get.before(func(req *provider.GetRequest) { req.WaitBlocked = false })
}

func commitsAllTheSame(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		return commit(context.WithoutCancel(ctx), req)
	})
}

func hidesCancel(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, _ *provider.FetchTurnsResult, err *error) {
		if errors.Is(*err, context.Canceled) {
			*err = nil
		}
	})
}

func hidesClose(m *mutant) {
	m.get.after(func(req provider.GetRequest, _ *provider.GetResult, err *error) {
		if req.WaitEnded && errors.Is(*err, provider.ErrClosed) {
			*err = nil
		}
	})
}

func closesOnce(m *mutant) {
	inner, closed := m.close, false
	m.close = func() error {
		if closed {
			return provider.ErrClosed
		}
		closed = true
		return inner()
	}
}
