package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// A cancelled call that waits for its activity's end needs a result, even if the commit removes the task because no attempt runs. The
// storage does not return whether it did. So the commit sends the execution a reminder. The next turn sends a result for each task that is
// gone; the attempts of the others send their own.

// endUnlessBegun is that reminder, which becomes no event.
func endUnlessBegun(info *replay.Info, b *history.ActivityCancelRequested, data []byte) provider.OutMessage {
	return provider.OutMessage{Key: info.Key, Message: provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), Execution: info.Execution, EventID: b.Scheduled, Payload: data,
	}}
}

// endUnbegun ends the calls of the turn's reminders whose tasks are gone. If the activity did return a result, that is already in the inbox
// and comes first. It runs before the turn's commit consumes the reminders, so at least once.
func (co *courier) endUnbegun(working context.Context, x *replay.Execution, inst *provider.Instance, unbegun []int64) error {
	unbegun = slices.DeleteFunc(unbegun, func(event int64) bool { return !x.Awaits(event) })
	if len(unbegun) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	found, err := co.Store.Get(ctx, provider.GetRequest{Key: inst.Key, WithTasks: true})
	if err != nil {
		return &core.StorageError{Err: fmt.Errorf("looking for cancelled tasks: %w", err)}
	}
	there := make(map[int64]bool, len(found.Tasks))
	for i := range found.Tasks {
		if found.Tasks[i].Execution == inst.Execution {
			there[found.Tasks[i].EventID] = true
		}
	}
	for _, event := range unbegun {
		if there[event] {
			continue
		}
		gone := &history.ActivityFailed{Scheduled: event, Failure: co.Config.Env.Errors.Encode(
			failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled before it began")))}
		_, err := co.Store.Send(ctx, provider.SendRequest{Key: inst.Key, Message: core.Message(gone, inst.Execution, event)})
		if err != nil && !errors.Is(err, provider.ErrEnded) {
			return &core.StorageError{Err: fmt.Errorf("ending a cancelled call: %w", err)}
		}
	}
	return nil
}
