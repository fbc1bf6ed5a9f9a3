package turn

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

const (
	// maxPanicked is of how many updates of an instance a node remembers that their handlers panicked. One turn may decide about as
	// many: those that waited for the code, and those of its fetch.
	maxPanicked = 2 * provider.MaxFetchMessages
	// maxPanickedText bounds what it remembers of each, in bytes.
	maxPanickedText = 1 << 10
)

// readOutcomes reads the outcomes of the actor's instance if the turn has an update and they are not known. It does so before the execution
// takes any of the messages: after a failed read, the messages can come again.
func (f *fetched) readOutcomes(working context.Context, x *replay.Execution) error {
	if f.a.outcomesOf == x || !slices.ContainsFunc(f.got.messages, isUpdate) {
		return nil
	}
	var stored provider.GetResult
	if info := x.Info(); info.Execution > 1 || x.Stored() > 0 {
		ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
		defer cancel()
		var err error
		if stored, err = f.ts.Store.Get(ctx, provider.GetRequest{Key: info.Key, WithValues: true}); err != nil {
			return &core.StorageError{Err: fmt.Errorf("reading the outcomes of updates: %w", err)}
		}
	}
	all, err := engine.ReadOutcomes(stored.Values)
	if err == nil {
		f.a.outcomes, f.a.outcomesOf = all, x
	}
	return err
}

func isUpdate(m provider.Message) bool { return history.Kind(m.Kind) == history.KindUpdateReceived }

// repeats reports whether an update of the turn repeats one whose outcome is stored. It may have left no event.
func (f *fetched) repeats(b *history.UpdateReceived) bool {
	return f.a.outcomes.Has(b.ID)
}

// behindEnd decides about the messages that came behind the end of the execution. Those that nothing else can use count as
// handled. Unread events are left to the dead letters, and to the next execution what is not a reply to this one. A kind that is
// not named here stays.
func (f *fetched) behindEnd(x *replay.Execution) {
	end, d := x.End(), &f.got
	if end == nil {
		return
	}
	before := len(d.handled)
	for i := d.seen; i < len(d.messages); i++ {
		m := &d.messages[i]
		if end.Next != nil && m.Execution != f.fetch.Instance.Execution {
			continue
		}
		switch history.Kind(m.Kind) { //nolint:exhaustive // see above
		case history.KindExecutionStarted, history.KindExecutionOpened, history.KindActivityCompleted, history.KindActivityFailed,
			history.KindTimerFired, history.KindChildCompleted, history.KindChildFailed, history.KindCancelRequested,
			history.KindActivityCancelRequested, history.KindReplyReceived:
			d.handled = append(d.handled, m.ID)
		case history.KindUpdateReceived:
			if f.refuseBehind(x, m) {
				d.handled = append(d.handled, m.ID)
			}
		}
	}
	f.ts.Count.MessagesDropped.Add(int64(len(d.handled) - before))
	f.dropped[droppedEnded] += int64(len(d.handled) - before)
}

// refuseBehind refuses an update that came behind the end, and reports whether it counts as handled. A repeat keeps the outcome that it
// has: its caller was told that one.
func (f *fetched) refuseBehind(x *replay.Execution, m *provider.Message) (done bool) {
	e, err := history.Decode(0, m.Payload)
	update, ok := e.Body.(*history.UpdateReceived)
	if err != nil || !ok {
		return false // a newer release wrote it: it stays
	}
	if x.End().Next == nil && f.repeats(update) {
		return true
	}
	return x.RefuseUpdate(update, int64(max(f.ts.Clock.Now(), m.VisibleAt)))
}

// panicked remembers that the handler of an update panicked, so that the next turn rejects the update. It returns false if there are
// too many.
func (as *actors) panicked(key provider.UUID, p *replay.UpdatePanicError) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	c := as.closings[key]
	if len(c.panicked) >= maxPanicked {
		return false
	}
	all := make(map[string]string, len(c.panicked)+1)
	maps.Copy(all, c.panicked)
	all[p.ID] = core.Plain(p.Value, maxPanickedText)
	c.panicked = all
	as.keep(key, c)
	return true
}
