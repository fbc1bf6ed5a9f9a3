package orchestrationtest

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// eachTurn is how long a history may be that is replayed after each turn. A longer one is replayed when it has grown by a quarter.
const eachTurn = 256

// repeats replays what was stored.
type repeats struct {
	stored *stored
	codes  func() []code // of all releases, the newest first

	mu   sync.Mutex
	last map[executionKey]int64 // events of the last replay
}

type executionKey struct {
	key       provider.UUID
	execution int64
}

// due reports whether an execution with that many events is to be replayed, and notes that it is.
func (r *repeats) due(of executionKey, length int64, over bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[of]
	if length > eachTurn && length < last+last/4 && !over {
		return false
	}
	if over {
		delete(r.last, of)
		return true
	}
	if r.last == nil {
		r.last = make(map[executionKey]int64)
	}
	r.last[of] = length
	return true
}

// repeat replays an execution up to the turn that was stored last, if it is due.
func (r *repeats) repeat(ctx context.Context, by code, of executionKey, length int64, over bool) error {
	if !r.due(of, length, over) {
		return nil
	}
	f, err := r.stored.history(ctx, of.key, of.execution)
	if err != nil || reserved.Name(f.Orchestration) {
		return err
	}
	f.Events = f.Events[:min(length, int64(len(f.Events)))] // another node may have stored a turn since, with other code
	return runtime.Replay(bubble.With(ctx, by.settings), by.registry, f)
}

// view is what an execution shows of its code.
type view struct {
	stacks  string
	waiting []string       // names of events
	unread  map[string]int // events by name
}

// look replays the current execution of an instance and looks at it, with the newest code that replays.
func (r *repeats) look(ctx context.Context, key provider.UUID) (v view, err error) {
	f, err := r.stored.history(ctx, key, 0)
	if err != nil {
		return v, err
	}
	for _, c := range r.codes() {
		settings := *c.settings
		settings.Replayed = func(x *replay.Execution) {
			v = view{stacks: x.View().Stacks(), waiting: x.View().Waiting(), unread: x.View().Unread()}
		}
		if err = runtime.Replay(bubble.With(ctx, &settings), c.registry, f); err == nil {
			break
		}
	}
	return v, err
}
