package turn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// An instance keeps the outcomes of its last maxOutcomes updates, as long as they have maxOutcomeBytes together, but at
// least those of minOutcomes.
const (
	maxOutcomes     = 1_000
	minOutcomes     = 10
	maxOutcomeBytes = 16 << 20
)

const (
	// maxPanicked is of how many updates of an instance a node remembers that their handlers panicked. One turn may decide about as
	// many: those that waited for the code, and those of its fetch.
	maxPanicked = 2 * provider.MaxFetchMessages
	// maxPanickedText bounds what it remembers of each, in bytes.
	maxPanickedText = 1 << 10
)

// outcomes are the stored outcomes of an instance's updates. They are read when the first update comes to an execution in
// memory: outcomes of updates that left no event are in no history.
type outcomes struct {
	of    *replay.Execution // whose turns have kept them up to date
	sizes map[string]int    // in bytes, by key
	order []string          // keys, oldest first
	bytes int
}

// readOutcomes reads the outcomes of the actor's instance if the turn has an update and they are not known. It does so before the execution
// takes any of the messages: after a failed read, the messages can come again.
func (f *fetched) readOutcomes(working context.Context, x *replay.Execution) error {
	if f.a.outcomes != nil && f.a.outcomes.of == x || !slices.ContainsFunc(f.got.messages, isUpdate) {
		return nil
	}
	all := &outcomes{of: x, sizes: make(map[string]int)}
	if info := x.Info(); info.Execution > 1 || x.Stored() > 0 {
		if err := f.ts.storedOutcomes(working, info.Key, all); err != nil {
			return err
		}
	}
	f.a.outcomes = all
	return nil
}

func isUpdate(m provider.Message) bool { return history.Kind(m.Kind) == history.KindUpdateReceived }

func (ts *Turns) storedOutcomes(working context.Context, key provider.UUID, all *outcomes) error {
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	res, err := ts.Store.Get(ctx, provider.GetRequest{Key: key, WithValues: true})
	if err != nil {
		return &core.StorageError{Err: fmt.Errorf("reading the outcomes of updates: %w", err)}
	}
	ended := make(map[string]int64)
	for _, v := range res.Values {
		if !strings.HasPrefix(v.Key, history.UpdateKeys) {
			continue
		}
		s, err := history.DecodeUpdateState(v.Value)
		if err != nil {
			return fmt.Errorf("reading the outcome of an update: %w", err)
		}
		if s.Over() {
			all.add(v.Key, len(v.Value))
			ended[v.Key] = s.Ended
		}
	}
	slices.SortStableFunc(all.order, func(a, b string) int { return cmp.Compare(ended[a], ended[b]) })
	return nil
}

func (o *outcomes) has(key string) bool {
	_, ok := o.sizes[key]
	return ok
}

func (o *outcomes) add(key string, size int) {
	if _, ok := o.sizes[key]; !ok {
		o.order = append(o.order, key)
	}
	o.bytes += size - o.sizes[key]
	o.sizes[key] = size
}

// trim forgets the oldest outcomes that are too many, and returns their keys. Those added last stay.
func (o *outcomes) trim(added int) (gone []string) {
	least := max(minOutcomes, added)
	for len(o.order) > least && (len(o.order) > max(maxOutcomes, added) || o.bytes > maxOutcomeBytes) {
		key := o.order[0]
		o.order = o.order[1:]
		o.bytes -= o.sizes[key]
		delete(o.sizes, key)
		gone = append(gone, key)
	}
	return gone
}

// updates adds the stages and outcomes of updates to the commit, and removes outcomes that are too many.
func (tr *translator) updates(t *translation, a *actor, x *replay.Execution, turn replay.Turn) {
	known := a.outcomes
	if known != nil && known.of != x {
		known = nil
	}
	added := 0
	put := func(s *history.UpdateState) {
		key, data := history.UpdateKey(s.ID), history.EncodeUpdateState(*s)
		t.req.Values = append(t.req.Values, provider.KeyValue{Key: key, Value: data})
		if known != nil && s.Over() {
			known.add(key, len(data))
			added++
		}
	}
	for i := range turn.Updates {
		put(&turn.Updates[i])
	}
	if known == nil {
		return
	}
	for i := range turn.Repeats {
		if s := &turn.Repeats[i]; !known.has(history.UpdateKey(s.ID)) {
			put(s)
		}
	}
	for _, key := range known.trim(added) {
		t.req.Values = append(t.req.Values, provider.KeyValue{Key: key})
	}
}

// repeats reports whether an update of the turn repeats one whose outcome is stored. It may have left no event.
func (f *fetched) repeats(b *history.UpdateReceived) bool {
	return f.a.outcomes.has(history.UpdateKey(b.ID))
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

// rejectNext ends a turn in which the handler of an update panicked before anything of it was stored.
func (f *fetched) rejectNext(working context.Context, p *replay.UpdatePanicError) bool {
	if !f.ts.actors.panicked(f.a.key, p) {
		return false
	}
	f.ts.Config.Logger.Warn("an update panicked and is rejected", "instance", f.info.ID, "orchestration", f.info.Name,
		"update", p.Name, "id", p.ID, "panic", p.Value, "stack", p.Stack)
	f.release(working, provider.TurnRelease{})
	return true
}
