package orchestrationtest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/runtime"
)

// ReplayOption is an option of [Replay].
type ReplayOption interface {
	applyReplay(o *replayOptions) error
}

type replayOptions struct {
	prefixes bool
}

type replayFunc func(o *replayOptions) error

func (f replayFunc) applyReplay(o *replayOptions) error { return f(o) }

// EveryPrefix replays each history also up to each message in it, such as a result, an event or the end of a timer, and lets the code go on with
// that. That is what new code does with an instance that was there when it was deployed. It finds code that panics then, although it replays
// what the old code did next. Functions of orchestration.SideEffect run. The time that it takes grows with the square of the length of a history.
//
// Of the history that a reset or fork has opened it takes only messages after that: no node delivers the copied ones.
func EveryPrefix() ReplayOption {
	return replayFunc(func(o *replayOptions) error {
		o.prefixes = true
		return nil
	})
}

// Replay replays histories of instances with the code of a registry, as [runtime.Replay] does, and fails the test for each history that differs.
// All regular files in the file system and its folders must be history files, as the command history with its flag export and
// [client.WriteHistory] write them:
//
//	orchestrationtest.Replay(t, os.DirFS("testdata/histories"), reg)
//
// It is an ordinary test, in real time: call it outside of [Run]. It fails, too, if there is no history, a file cannot be read, or the registry
// has refused something. After a failure it goes on with the next file.
func Replay(t *testing.T, files fs.FS, reg *runtime.Registry, opts ...ReplayOption) {
	t.Helper()
	r := replays{t: t, registry: reg}
	if err := bind.Apply(opts, func(o ReplayOption) error { return o.applyReplay(&r.options) }); err != nil {
		t.Fatalf("replaying histories: %v", err)
	}
	unreadable := false
	_ = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error { // it returns only what the function does
		if err == nil && !entry.IsDir() {
			err = r.file(files, path)
		}
		if err != nil {
			unreadable = true
			t.Errorf("replaying histories: %v", err)
		}
		return nil
	})
	if r.count == 0 && !unreadable {
		t.Error("replaying histories: there are none")
	}
}

// replays is one call of Replay.
type replays struct {
	t        *testing.T
	registry *runtime.Registry
	options  replayOptions
	count    int // of histories
}

// file replays the histories of a file. It returns an error for a file that is none.
func (r *replays) file(files fs.FS, path string) (err error) {
	r.t.Helper()
	f, err := files.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for h, err := range client.ReadHistories(f) {
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.count++
		if err := r.history(&h); err != nil {
			r.t.Errorf("%s: %v", path, err)
		}
	}
	return nil
}

// history replays one history, and what the options want of it. It returns the first difference.
func (r *replays) history(h *client.HistoryFile) error {
	if err := runtime.Replay(r.t.Context(), r.registry, *h); err != nil || !r.options.prefixes {
		return err
	}
	events := make([]history.Event, len(h.Events))
	for i, data := range h.Events {
		e, err := history.Decode(int64(i)+1, data)
		if err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
		events[i] = e
	}
	for n := deliverable(events); n < len(events); n++ {
		if !events[n].Body.Kind().IsMessage() || events[n-1].More {
			continue
		}
		if err := r.goOn(h, events, n); err != nil {
			return fmt.Errorf("instance %q, execution %d of %s: new code that goes on at event %d fails: %w",
				h.InstanceID, h.Execution, check.Quote(h.Orchestration), n+1, err)
		}
	}
	return nil
}

// deliverable returns how many events a history has before the first one that a node can deliver to code: the start, or all up to the last
// ForkPoint. The execution was opened with these, and the ForkPoint says which identity the code has seen.
func deliverable(events []history.Event) int {
	for n := len(events); n > 1; n-- {
		if events[n-1].Body.Kind() == history.KindForkPoint {
			return n
		}
	}
	return 1
}

// goOn replays the first n events, and gives the code what came then, as a node does.
func (r *replays) goOn(h *client.HistoryFile, events []history.Event, n int) error {
	prefix := *h
	prefix.Events = h.Events[:n]
	err := errors.New("the code called runtime.Goexit")
	test := &bubble.Settings{Replayed: func(x *replay.Execution) { err = deliver(x, events[n:]) }}
	return cmp.Or(runtime.Replay(bubble.With(r.t.Context(), test), r.registry, prefix), err) //nolint:wrapcheck // history says what it is
}

// deliver delivers the first messages of events, as far as the code was given them together. A termination is not delivered: it ends the execution
// without the code.
func deliver(x *replay.Execution, events []history.Event) error {
	for _, e := range events {
		if e.Body.Kind() == history.KindExecutionTerminated {
			return x.Continue(e.At)
		}
		if _, err := x.Absorb(e); err != nil {
			return err
		}
		if !e.More {
			return x.Continue(e.At)
		}
	}
	return nil
}
