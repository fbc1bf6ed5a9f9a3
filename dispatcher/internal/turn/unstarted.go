package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// endUnstarted ends the calls of the turn's reminders whose tasks are gone. If the activity did return a result, that is already in the inbox
// and comes first. It runs before the turn's commit consumes the reminders, so at least once.
func (rr *resultRouter) endUnstarted(working context.Context, x replay.View, inst *provider.Instance, unstarted []int64) error {
	unstarted = slices.DeleteFunc(unstarted, func(event int64) bool { return !x.Awaits(event) })
	if len(unstarted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	found, err := rr.Store.Get(ctx, provider.GetRequest{Key: inst.Key, WithTasks: true})
	if err != nil {
		return &core.StorageError{Err: fmt.Errorf("looking for cancelled tasks: %w", err)}
	}
	there := make(map[int64]bool, len(found.Tasks))
	for i := range found.Tasks {
		if found.Tasks[i].Execution == inst.Execution {
			there[found.Tasks[i].EventID] = true
		}
	}
	for _, event := range unstarted {
		if there[event] {
			continue
		}
		gone := &history.ActivityFailed{Scheduled: event, Failure: rr.Config.Env.Errors.Encode(
			failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled before it began")))}
		_, err := rr.Store.Send(ctx, provider.SendRequest{Key: inst.Key, Message: engine.Message(gone, inst.Execution, event)})
		if err != nil && !errors.Is(err, provider.ErrEnded) {
			return &core.StorageError{Err: fmt.Errorf("ending a cancelled call: %w", err)}
		}
	}
	return nil
}
