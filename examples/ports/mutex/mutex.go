// Package mutex gives the machines of a pool to jobs. Several handlers change the table of machines, and each waits for an activity between
// reading and writing it. With an orchestration.Mutex they take turns, first come first served.
package mutex

import (
	"context"
	"errors"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Use is a machine and the job that has it.
type Use struct{ Machine, Job string }

// ErrFull says that all machines have a job.
var ErrFull = errors.New("no machine is free")

// Pool serves updates until the event "close" comes. It returns who has which machine then.
func Pool(ctx *orchestration.Context, machines []string) ([]Use, error) {
	var mu orchestration.Mutex
	uses := make([]Use, len(machines))
	for i, machine := range machines {
		uses[i].Machine = machine
	}
	change := func(ctx *orchestration.Context, from, to string) (string, error) {
		if err := mu.Lock(ctx); err != nil {
			return "", err
		}
		defer mu.Unlock()
		for i, use := range uses {
			if use.Job != from {
				continue
			}
			use.Job = to
			if _, err := orchestration.CallActivity(ctx, Prepare, use); err != nil {
				return "", err
			}
			uses[i] = use // without the mutex another handler may have given it away meanwhile
			return use.Machine, nil
		}
		return "", ErrFull
	}
	orchestration.HandleUpdate(ctx, "assign", func(ctx *orchestration.Context, job string) (string, error) { return change(ctx, "", job) })
	orchestration.HandleUpdate(ctx, "release", func(ctx *orchestration.Context, job string) (string, error) { return change(ctx, job, "") })
	if _, err := orchestration.Events[orchestration.None](ctx, "close").Receive(ctx); err != nil {
		return nil, err
	}
	return uses, ctx.AwaitHandlers()
}

// Prepare sets a machine up for a job, or cleans it if there is none.
func Prepare(ctx context.Context, u Use) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "prepare", "machine", u.Machine, "job", u.Job)
	return activity.None{}, nil
}
