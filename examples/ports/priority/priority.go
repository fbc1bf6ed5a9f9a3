// Package priority lets urgent work overtake, and keeps one customer from blocking the others. orchestration.WithPriority and
// orchestration.WithFairnessKey order the activities that wait in a queue. They do not interrupt those that run.
package priority

import (
	"context"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Job is a job of a customer.
type Job struct {
	Customer string
	Name     string
	Urgent   bool
}

// Render renders one job.
func Render(ctx *orchestration.Context, job Job) (orchestration.None, error) {
	priority := orchestration.PriorityDefault
	if job.Urgent {
		priority = orchestration.PriorityHighest
	}
	return orchestration.CallActivity(ctx, Draw, job,
		orchestration.WithQueue("render"), orchestration.WithPriority(priority), orchestration.WithFairnessKey(job.Customer))
}

// Limits lets one job run at a time, on all nodes together.
func Limits() map[string]runtime.QueueLimit {
	return map[string]runtime.QueueLimit{"render": {MaxConcurrent: 1}}
}

// Draw stands for the work.
func Draw(ctx context.Context, job Job) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "draw", "customer", job.Customer, "name", job.Name)
	return activity.None{}, nil
}
