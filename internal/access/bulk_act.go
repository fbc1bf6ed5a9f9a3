package access

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/provider"
)

// ErrNoEffect is the error of a BulkAct that had nothing to do on an instance.
var ErrNoEffect = errors.New("the act has no effect on the instance")

// A BulkAct does an act on the instances of a bulk job, one at a time. Done on one instance twice under the same request ID, it happens once.
type BulkAct struct {
	Check   func(args *bulk.Args) error // nil: it takes a reason only
	Do      func(ctx context.Context, a *Act, i *provider.Instance, args *bulk.Args) error
	WasDone func(ctx context.Context, r *DoneRequest) (bool, error)
	Due     func(ctx context.Context, key provider.UUID) (bool, error) // sets bulk.Planned.Due; nil: WasDone does not need it
	Named   bool                                                       // WasDone needs bulk.Planned.ID only: the instance may be gone
	// Point finds where the act opens the history of an instance, of an act with bulk.Args.To; nil: it opens none. The error is a client.ErrNoPoint if
	// the history has no such point.
	Point func(ctx context.Context, key provider.UUID, args *bulk.Args) (bulk.PlannedPoint, error)
	// Tasks is for an act on tasks instead of Do; nil: it is on instances.
	Tasks *BulkTasks
}

// BulkTasks do an act on pending tasks of instances that have one which is tried again. The plan of a step has the tasks and their attempts.
type BulkTasks struct {
	// Wants reports whether the act is about a task, as it is at a time of the storage.
	Wants func(t *provider.TaskInfo, now provider.Time) bool
	// Do acts on one task, unless another attempt is pending or runs: then the error is ErrNoEffect.
	Do func(ctx context.Context, a *Act, t bulk.PlannedTask, args *bulk.Args) error
}

// A DoneRequest asks whether a lost attempt of a step has acted on an instance.
type DoneRequest struct {
	Act     *Act
	Planned bulk.Planned
	Now     *provider.Instance // nil: it is gone
	Args    *bulk.Args
}
