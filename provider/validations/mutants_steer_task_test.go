package validations

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenTaskSteering() []brokenRule {
	return []brokenRule{
		{name: "an act completes with an empty message", caught: "steer-task/complete", breaks: acts(emptiesMessage)},
		{name: "an act completes a task that its holder completes, too", caught: "steer-task/complete-once", breaks: completesTwice},
		{name: "a retry leaves the delay", caught: "steer-task/retry-waiting", breaks: acts(leavesDelay)},
		{name: "a hold ends with a suspension", caught: "steer-task/hold", breaks: holdEndsWithResume},
		{name: "a held task has no deadline", caught: "steer-task/hold-past-its-time", breaks: hides(func(task provider.LeasedTask) bool { return task.PastDeadline })},
		{name: "a held task of a lane is fetched", caught: "steer-task/hold-in-a-lane", breaks: acts(holdsNoLane)},
		{name: "a cancelled task is held", caught: "steer-task/hold-cancelled", breaks: hides(func(task provider.LeasedTask) bool { return task.CancelRequested })},
		{name: "a release ends the delay of a retry", caught: "steer-task/release-not-held", breaks: acts(releasesAll)},
		{name: "an act returns the attempt that it gave up", caught: "steer-task/new-attempt", breaks: keepsAttempt},
		{name: "an act ignores the attempt", caught: "steer-task/other-attempt", breaks: ignoresAttempt},
		{name: "an act ignores the state", caught: "steer-task/other-state", breaks: acts(ignoresState)},
		{name: "an act on a missing task succeeds", caught: "steer-task/not-pending", breaks: actsOnNothing},
		{name: "an act changes the version", caught: "steer-task/changes-nothing-else", breaks: actsTouch},
	}
}

// acts changes the requests of SteerTask.
func acts(change func(*provider.SteerTaskRequest)) func(*mutant) {
	return func(m *mutant) { m.acts.before(change) }
}

func emptiesMessage(req *provider.SteerTaskRequest) { req.Message.Payload = nil }

// completesTwice sends the message and leaves the task.
func completesTwice(m *mutant) {
	m.acts.around(func(ctx context.Context, req provider.SteerTaskRequest, act actMethod) (provider.SteerTaskResult, error) {
		if req.Action != provider.SteerTaskComplete {
			return act(ctx, req)
		}
		res, err := m.Provider.Send(ctx, provider.SendRequest{Key: req.Key, Message: req.Message})
		return provider.SteerTaskResult{Now: res.Now}, err
	})
}

func leavesDelay(req *provider.SteerTaskRequest) {
	if req.Action == provider.SteerTaskRetry && req.Attempt == 2 {
		req.Action = provider.SteerTaskRelease
	}
}

func releasesAll(req *provider.SteerTaskRequest) {
	if req.Action == provider.SteerTaskRelease && req.Attempt == 2 {
		req.Action = provider.SteerTaskRetry
	}
}

// unhold ends the holds of an instance.
func (m *mutant) unhold(ctx context.Context, key provider.UUID) {
	res, _ := m.Provider.Get(ctx, provider.GetRequest{Key: key, WithTasks: true})
	for _, task := range res.Tasks {
		_, _ = m.steerer().SteerTask(ctx, provider.SteerTaskRequest{TaskRef: task.TaskRef, Attempt: task.Attempt, Action: provider.SteerTaskRelease})
	}
}

// steerer is the correct store.
func (m *mutant) steerer() provider.TaskSteerer {
	steerer, _ := provider.As[provider.TaskSteerer](m.Provider)
	return steerer
}

func holdEndsWithResume(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, _ *provider.SteerResult, _ *error) {
		if req.Action == provider.SteerResume {
			m.unhold(context.Background(), req.Key)
		}
	})
}

// hides keeps the tasks that were held from the fetches that match chooses.
func hides(match func(provider.LeasedTask) bool) func(*mutant) {
	return func(m *mutant) {
		var held sync.Map
		m.acts.before(func(req *provider.SteerTaskRequest) {
			if req.Action == provider.SteerTaskHold {
				held.Store(req.TaskRef, true)
			}
		})
		m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
			res.Tasks = slices.DeleteFunc(res.Tasks, func(task provider.LeasedTask) bool {
				_, hidden := held.Load(task.TaskRef)
				return hidden && match(task)
			})
		})
	}
}

func holdsNoLane(req *provider.SteerTaskRequest) {
	if req.Action == provider.SteerTaskHold {
		req.Action = provider.SteerTaskRelease
	}
}

func keepsAttempt(m *mutant) {
	m.acts.after(func(req provider.SteerTaskRequest, res *provider.SteerTaskResult, _ *error) {
		if res.Attempt > 0 {
			res.Attempt = req.Attempt
		}
	})
}

func ignoresAttempt(m *mutant) {
	m.acts.before(func(req *provider.SteerTaskRequest) {
		res, _ := m.Provider.Get(context.Background(), provider.GetRequest{Key: req.Key, WithTasks: true})
		for _, task := range res.Tasks {
			if task.TaskRef == req.TaskRef {
				req.Attempt = task.Attempt
			}
		}
	})
}

func ignoresState(req *provider.SteerTaskRequest) { req.State = 0 }

func actsOnNothing(m *mutant) {
	m.acts.after(func(_ provider.SteerTaskRequest, _ *provider.SteerTaskResult, err *error) {
		if errors.Is(*err, provider.ErrNotFound) {
			*err = nil
		}
	})
}

func actsTouch(m *mutant) {
	m.acts.after(func(req provider.SteerTaskRequest, _ *provider.SteerTaskResult, _ *error) {
		m.touch(context.Background(), req.Key)
	})
}
